"""A bound on the value of any set of gangs, from prices of what the nodes have and of quotas."""

from __future__ import annotations

from collections.abc import Sequence

from muri_opt.rounds import Job, LinearDuals, Round
from muri_opt.verify.amounts import Room, empty_rooms, need_of
from muri_opt.verify.dual_bound import PriceTable, Supply
from muri_opt.verify.gangs.counting import AllAsked
from muri_opt.verify.gangs.tenant_prices import TenantPrices, TenantSupply

Places = frozenset[int] | None
"""Positions of the nodes where jobs may be; ``None``: anywhere."""


def dual_bound(
    round_: Round,
    values: dict[str, int],
    duals: LinearDuals,
    asked: AllAsked = None,
    tenants: TenantSupply | None = None,
    *,
    able: Sequence[Job],
) -> int:
    """Return the largest whole value that multipliers of GPUs, CPUs, memory and quotas allow any decision.

    Every GPU, milli-CPU and MiB of a node and every GPU of a quota has its price. The profit of a job that could run
    alone is what its value exceeds its payment by if all its GPUs are on the cheapest node of those it ``asked`` for.
    ``tenants`` has what else may have a price; ``able`` are the jobs that could run alone.
    """
    rooms = empty_rooms(round_)
    supply: Supply = {
        "gpus": [room.gpus for room in rooms],
        "cpus": [room.milli for room in rooms],
        "memory": [room.mebibytes for room in rooms],
        "quota": [tenant.quota_gpus for tenant in round_.cluster.tenants],
    }
    prices = PriceTable.read(duals, supply if tenants is None else {**supply, **tenants.supply})
    more = None if tenants is None else TenantPrices(tenants, prices)
    by_type = more is not None and more.by_type
    kinds = [node.gpu_type if by_type else None for node in round_.cluster.nodes]
    nodes = list(zip(prices.of["gpus"], prices.of["cpus"], prices.of["memory"], rooms, kinds, strict=True))
    unlike: dict[Places, set[tuple[int, int, int, Room, str | None]]] = {None: set(nodes)}
    quota = prices.of_tenants(round_)
    cheapest: dict[tuple[int, int, Places, str], int] = {}
    profits = [] if more is None else [more.profit]
    for job in able:
        need, places = need_of(job), None if asked is None else asked[job.id].reach
        owner = job.tenant or ""
        shape = (need.milli, need.mebibytes, places, owner if by_type else "")
        if shape not in cheapest:
            if places is not None and places not in unlike:
                unlike[places] = {nodes[place] for place in places}
            holding = [node for node in unlike[places] if node[3].holds(need) > 0]
            cheapest[shape] = min(
                (
                    g + c * need.milli + m * need.mebibytes + (more.of_type(owner, kind) if more and by_type else 0)
                    for g, c, m, _, kind in holding
                ),
                default=0,
            )
        payment = job.gpus * (cheapest[shape] + quota.get(owner, 0) + (0 if more is None else more.of_gpu(owner)))
        profits.append(max(0, values[job.id] * prices.denominator - payment))
    return prices.bound(profits)
