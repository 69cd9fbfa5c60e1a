"""A bound on the value of any set of gangs, from prices of what the nodes have and of quotas."""

from __future__ import annotations

from muri_opt.rounds import LinearDuals, Round
from muri_opt.verify.amounts import Room, empty_rooms, need_of
from muri_opt.verify.dual_bound import PriceTable, Supply
from muri_opt.verify.gangs.counting import AllAsked, able_jobs

Places = frozenset[int] | None
"""Positions of the nodes where jobs may be; ``None``: anywhere."""


def dual_bound(round_: Round, values: dict[str, int], duals: LinearDuals, asked: AllAsked = None) -> int:
    """Return the largest whole value that multipliers of GPUs, CPUs, memory and quotas allow any decision.

    Every GPU, milli-CPU and MiB of a node and every GPU of a quota has its price. The profit of a job that could run
    alone is what its value exceeds its payment by if all its GPUs are on the cheapest node of those it ``asked`` for.
    """
    rooms = empty_rooms(round_)
    supply: Supply = {
        "gpus": [room.gpus for room in rooms],
        "cpus": [room.milli for room in rooms],
        "memory": [room.mebibytes for room in rooms],
        "quota": [tenant.quota_gpus for tenant in round_.cluster.tenants],
    }
    prices = PriceTable.read(duals, supply)
    nodes = list(zip(prices.of["gpus"], prices.of["cpus"], prices.of["memory"], rooms, strict=True))
    unlike: dict[Places, set[tuple[int, int, int, Room]]] = {None: set(nodes)}
    quota = prices.of_tenants(round_)
    cheapest: dict[tuple[int, int, Places], int] = {}
    profits = []
    for job in able_jobs(round_, asked):
        need, places = need_of(job), None if asked is None else asked[job.id].reach
        shape = (need.milli, need.mebibytes, places)
        if shape not in cheapest:
            if places is not None and places not in unlike:
                unlike[places] = {nodes[place] for place in places}
            holding = [node for node in unlike[places] if node[3].holds(need) > 0]
            cheapest[shape] = min((g + c * need.milli + m * need.mebibytes for g, c, m, _ in holding), default=0)
        payment = job.gpus * (cheapest[shape] + quota.get(job.tenant or "", 0))
        profits.append(max(0, values[job.id] * prices.denominator - payment))
    return prices.bound(profits)
