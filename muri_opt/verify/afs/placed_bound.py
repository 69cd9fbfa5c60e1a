"""Bounds on the value of shares where jobs may not be anywhere: from prices of nodes, by counting, by enumeration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import gcd

from muri_opt.rounds import LinearDuals, Round
from muri_opt.verify.afs.dual_bound import MOST_STEPS
from muri_opt.verify.afs.places import SharePlaces, Tables
from muri_opt.verify.amounts import Need, empty_rooms, need_of
from muri_opt.verify.counting import counted_best, quota_pools
from muri_opt.verify.dual_bound import PriceTable, Supply
from muri_opt.verify.option_search import best_options


def placed_bound(places: SharePlaces, values: Tables, duals: LinearDuals) -> int:
    """Return the largest whole value that prices of what nodes have and of quotas allow any shares.

    A job pays for each of its GPUs what they cost on the cheapest node of the part of the cluster that it is in; one
    that keeps its share pays where it is.
    """
    round_, rooms = places.round_, empty_rooms(places.round_)
    supply: Supply = {
        "gpus": [room.gpus for room in rooms],
        "cpus": [room.milli for room in rooms],
        "memory": [room.mebibytes for room in rooms],
        "quota": [tenant.quota_gpus for tenant in round_.cluster.tenants],
    }
    prices = PriceTable.read(duals, supply)
    nodes = list(zip(prices.of["gpus"], prices.of["cpus"], prices.of["memory"], strict=True))
    quota = prices.of_tenants(round_)
    cheapest: dict[tuple[int, int, int], int | None] = {}
    profits, changed = [], places.elastic.worth(round_).changed
    for job, asked, table, less in zip(round_.jobs, places.asked, values, changed, strict=True):
        need, owes = need_of(job), quota.get(job.tenant or "", 0)
        like = id(asked.parts), need.milli, need.mebibytes
        if like not in cheapest:
            usable = [node for part in asked.parts for node in part if rooms[node].holds(need)]
            cheapest[like] = min((_paid(nodes[node], need) for node in usable), default=None)
        least, home = cheapest[like], asked.home or {}
        best = 0
        for gpus, value in table.items():
            if least is not None:
                best = max(best, less[gpus] * prices.denominator - gpus * least - gpus * owes)
            if sum(home.values()) == gpus:
                there = sum(_paid(nodes[node], need) * count for node, count in home.items())
                best = max(best, value * prices.denominator - there - gpus * owes)
        profits.append(best)
    return prices.bound(profits)


def _paid(price: tuple[int, int, int], need: Need) -> int:
    """Return what a GPU of a job costs on a node, with its CPUs and memory."""
    gpu, milli, mebibyte = price
    return gpu + need.milli * milli + need.mebibytes * mebibyte


def counted_apart(places: SharePlaces, values: Tables) -> int | None:
    """Return the best value within GPUs and quotas alone; ``None`` where that is too long.

    Parts of the cluster that no job may choose between are counted apart. Where jobs of several priorities make numbers
    that are too long for that, each class is counted as if it had the cluster to itself.
    """
    groups, nodes = places.apart(), places.round_.cluster.nodes
    counts = [sum([nodes[node].gpus for node in mine]) for _, mine in groups]
    together = _counted(places.round_, counts, [jobs for jobs, _ in groups], dict(enumerate(values)))
    group_of = {place: number for number, (jobs, _) in enumerate(groups) for place in jobs}
    classes: dict[int, list[int]] = {}
    for place, job in enumerate(places.round_.jobs):
        classes.setdefault(job.priority, []).append(place)
    if together is not None or len(classes) < 2:
        return together
    total = 0
    for members in classes.values():
        unit = gcd(*(value for place in members for value in values[place].values())) or 1
        mine = {place: {gpus: value // unit for gpus, value in values[place].items()} for place in members}
        apart = dict[int, list[int]]()
        for place in members:
            apart.setdefault(group_of[place], []).append(place)
        best = _counted(places.round_, [counts[group] for group in apart], apart.values(), mine)
        if best is None:
            return None
        total += best * unit
    return total


def _counted(
    round_: Round, counts: Iterable[int], groups: Iterable[Sequence[int]], values: Mapping[int, Mapping[int, int]]
) -> int | None:
    """Return the best value of groups of jobs that each have so many GPUs."""
    total = 0
    for gpus, jobs in zip(counts, groups, strict=True):
        pools = quota_pools(round_, ((round_.jobs[place], values[place]) for place in jobs if values[place]))
        best = counted_best(gpus, pools, steps=MOST_STEPS)
        if best is None:
            return None
        total += best
    return total


def enumerated_shares(places: SharePlaces, values: Tables, *, steps: int) -> int | None:
    """Return the largest value of any feasible shares, or ``None`` if it takes more than ``steps`` steps."""
    order = sorted(range(len(values)), key=lambda place: -max([0, *values[place].values()]))
    options = [places.options(place, values[place]) for place in order]
    jobs = [places.round_.jobs[place] for place in order]
    return best_options(places.round_, jobs, options, [None] * len(jobs), steps=steps)
