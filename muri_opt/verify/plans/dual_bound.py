"""A bound on the value of any decision among plans, from prices of jobs and quotas."""

from __future__ import annotations

from muri_opt.rounds import LinearDuals, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.amounts import empty_rooms
from muri_opt.verify.dual_bound import PriceTable
from muri_opt.verify.node_filling import Item, profit_of_nodes
from muri_opt.verify.plans.places import Spot
from muri_opt.verify.plans.plan_choices import PlanChoices, is_for


@recalled
def planned_bound(round_: Round, menu: PlanChoices, duals: LinearDuals) -> int:
    """Return the largest whole value that prices of jobs and of quotas allow any decision.

    A job that runs pays its price, and its GPUs' share of quotas that it uses; the rest of its value is profit, shared
    evenly by its parts. The profit on a node is at most that of the best parts that fit it, a larger part of a plan of
    two sizes with the room of a smaller one.
    """
    cluster = round_.cluster
    quotas = [tenant.quota_gpus for tenant in cluster.tenants]
    prices = PriceTable.read(duals, {"once": (1,) * len(round_.jobs), "quota": quotas})
    quota = prices.of_tenants(round_)
    among: dict[Spot, list[Item]] = {}
    reaches: dict[tuple[Spot, ...], Spot] = {}
    home: dict[int, list[Item]] = {}
    for j, (job, once) in enumerate(zip(round_.jobs, prices.of["once"], strict=True)):
        pays = once + (quota.get(job.tenant or "", 0) * job.gpus if job.guarantee is not None else 0)
        unit = menu.weights[j] * prices.denominator
        pays -= menu.bonus[j] * unit
        for way in menu.ways[j]:
            parts = way.plan.nodes
            away = -((pays - way.away * unit) // parts)  # rounded up
            if way.spots not in reaches:
                reaches[way.spots] = way.spots[0] if len(way.spots) == 1 else frozenset().union(*way.spots)
            reach = reaches[way.spots]
            if away > 0 and reach:
                among.setdefault(reach, []).append(Item(j, way.piece, away))
            at_home = 0 if way.home is None else -((pays - way.home * unit) // parts)
            for node in (cluster.node_index[node] for node in menu.homes[j]) if at_home > 0 else ():
                if at_home > (away if node in reach else 0) and is_for(way.entry, {cluster.nodes[node].gpu_type}):
                    home.setdefault(node, []).append(Item(j, way.piece, at_home))
    common: dict[str | None, list[Item]] = {}
    nodes = []
    for node, room in enumerate(empty_rooms(round_)):
        here = [place for place, spot in enumerate(among) if node in spot]
        look = f"{cluster.nodes[node].gpu_type} {here}"
        if look not in common:
            items = list(among.values())
            common[look] = [item for place in here for item in items[place]]
        nodes.append((look, room.sizes))
    most = profit_of_nodes(nodes, common, home, parts=2 * len(round_.jobs))  # more parts than a node is ever given
    return prices.bound([most])
