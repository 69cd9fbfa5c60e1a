"""A bound on the value of any decision among plans, from prices of jobs and quotas."""

from __future__ import annotations

from muri_opt.rounds import LinearDuals, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.amounts import empty_rooms
from muri_opt.verify.dual_bound import PriceTable
from muri_opt.verify.node_filling import Item, profit_of_nodes
from muri_opt.verify.plans.plan_choices import PlanChoices


@recalled
def planned_bound(round_: Round, menu: PlanChoices, duals: LinearDuals) -> int:
    """Return the largest whole value that prices of jobs and of quotas allow any decision.

    A job that runs pays its price, and its GPUs' share of a quota that it uses; the rest of its value is profit, shared
    evenly by its parts. The profit on a node is at most that of the best parts that fit it.
    """
    cluster = round_.cluster
    quotas = [tenant.quota_gpus for tenant in cluster.tenants]
    prices = PriceTable.read(duals, {"once": (1,) * len(round_.jobs), "quota": quotas})
    quota = prices.of_tenants(round_)
    anywhere: dict[str | None, list[Item]] = {}
    home: dict[int, list[Item]] = {}
    for j, (job, once) in enumerate(zip(round_.jobs, prices.of["once"], strict=True)):
        pays = once + (quota.get(job.tenant or "", 0) * job.gpus if job.guarantee is not None else 0)
        pays -= menu.bonus[j] * prices.denominator
        for way in menu.ways[j]:
            kind, parts = way.plan.gpu_type, way.plan.nodes
            away = -((pays - way.away * prices.denominator) // parts)  # rounded up
            if away > 0:
                anywhere.setdefault(kind, []).append(Item(j, way.piece, away))
            at_home = away if way.home is None else -((pays - way.home * prices.denominator) // parts)
            if at_home > max(0, away):
                for node in (cluster.node_index[node] for node in menu.homes[j]):
                    if kind in (None, cluster.nodes[node].gpu_type):
                        home.setdefault(node, []).append(Item(j, way.piece, at_home))
    kinds = [node.gpu_type for node in cluster.nodes]
    nodes = [(kind, room.sizes) for kind, room in zip(kinds, empty_rooms(round_), strict=True)]
    untyped = anywhere.get(None, [])
    common = {kind: [*untyped, *(anywhere.get(kind, ()) if kind is not None else ())] for kind in set(kinds)}
    most = profit_of_nodes(nodes, common, home, parts=2 * len(round_.jobs))  # more parts than a node is ever given
    return prices.bound([most])
