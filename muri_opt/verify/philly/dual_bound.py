"""A bound on the value of any decision of a multi-tenant round, from prices of jobs and quotas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from muri_opt.errors import InputError
from muri_opt.rounds import LinearDuals, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.amounts import Room
from muri_opt.verify.counted_parts import CountedParts
from muri_opt.verify.dual_bound import PriceTable
from muri_opt.verify.node_filling import profit_of_nodes
from muri_opt.verify.node_items import Item
from muri_opt.verify.philly.job_status import Reading, Stand, counted_rooms
from muri_opt.verify.philly.reach import Layout, Reach

MOST_ADDED = 20_000_000
"""Cells looked at to add the jobs that are on single nodes; finer grids that would take more are made coarser."""


@recalled
def placed_bound(round_: Round, reading: Reading, duals: LinearDuals) -> int:
    """Return the largest whole value that prices of jobs and weights of quotas allow any decision.

    With a weight of kappa, from 0 to K, of its GPUs, a tenant's part of the value is at most kappa for each GPU it uses
    and K - kappa for each of its quota. A job that does something with its GPUs pays its price, and what is left of its
    value, against that of being stopped or of waiting, is profit, shared evenly by its GPUs. The profit on a node is at
    most that of the best parts that fit beside the jobs nobody can touch. Racks, budgets and who may be beside whom are
    left aside: that makes the bound larger, never wrong.
    """
    doing = [not is_fixed(stand) and (stand.running or stand.candidate) for stand in reading.stands]
    prices = PriceTable.read(duals, {"once": list(map(int, doing)), "quota": (0,) * len(round_.cluster.tenants)})
    scale, full = duals.denominator, reading.premium * duals.denominator
    weights = _weights(round_, reading, duals)
    gpus = round_.cluster.total_gpus  # a quota above them is never used up
    profits = [(full - weights[tenant]) * min(quota, gpus) for tenant, quota in reading.quotas.limits.items()]
    counts = _Counts(reading, weights, duals.denominator)
    rooms = list(reading.rooms)
    for stand in filter(is_fixed, reading.stands):
        profits.append(reading.worth(stand, stand.held) * scale + counts.of(stand) * stand.need.gpus)
        for node, taken in stand.held.items():
            rooms[node] = rooms[node].without(stand.need, taken)
    spreads = _Spreads(reading, rooms)
    common: dict[str | None, list[Item]] = {look: [] for look in map(str, reading.looks)}
    home: dict[int, list[Item]] = {}
    for job, stand in enumerate(reading.stands):
        if not doing[job]:
            continue
        absent = -reading.loss(stand) * scale if stand.running else 0
        pays = absent + prices.of["once"][job] - counts.of(stand) * stand.need.gpus
        profits.append(absent)
        for node, taken in stand.held.items():
            profit = reading.worth(stand, stand.held) * scale - pays
            home.setdefault(node, []).append(_part(job, stand, taken, profit))
        if stand.candidate or stand.movable:
            parts = [
                _part(job, stand, part, reading.elsewhere(stand, spread) * scale - pays)
                for part, spread in spreads.of(stand)
            ]
            for look in spreads.looks(stand):
                common[look] += parts
    nodes = [(str(look), room.sizes) for look, room in zip(reading.looks, rooms, strict=True)]
    most = 2 * len(reading.stands)  # more than a node is ever given
    every = {look: [items] for look, items in common.items()}
    profits.append(profit_of_nodes(nodes, every, home, parts=most, share=2, added=MOST_ADDED))
    return prices.bound(profits)


def is_fixed(stand: Stand) -> bool:
    """Return whether a running job stays where it is, whatever is decided."""
    return stand.running and not stand.movable and not stand.evictable


def most_worth(reading: Reading, stand: Stand) -> int:
    """Return the most a job is worth if it runs; 0 if it cannot."""
    values = [reading.worth(stand, stand.held)] if stand.running else []
    if stand.candidate or stand.movable:
        values.append(reading.elsewhere(stand, 0))
    return max(values, default=0)


def _weights(round_: Round, reading: Reading, duals: LinearDuals) -> dict[str, int]:
    """Return what a GPU of each tenant with a quota weighs, in full where nothing is said; refuse more than that."""
    full, tenants = reading.premium * duals.denominator, round_.cluster.tenants
    said = duals.multipliers.get("quota", (full,) * len(tenants))
    weights = {}
    for position, (tenant, weight) in enumerate(zip(tenants, said, strict=True)):
        if tenant.id in reading.quotas.limits:
            weights[tenant.id] = weight
            if weight > full:
                allowed = f"at most {full}, a GPU in full"
                raise InputError(f"multipliers.quota[{position}]", str(weight), allowed)
    return weights


def _part(job: int, stand: Stand, gpus: int, profit: int) -> Item:
    """Return so many GPUs of a job with their share, rounded up, of its profit."""
    need = stand.need
    return Item(job, (gpus, gpus * need.milli, gpus * need.mebibytes), -(-profit * gpus // need.gpus))


class _Counts:
    """What a GPU of a job counts for within quotas, where those have prices; equal jobs are looked at once.

    A GPU within a quota adds K of its priority; what the quotas of its line cost is taken off, of each step from one
    priority to the next no more than the step.
    """

    def __init__(self, reading: Reading, weights: dict[str, int], denominator: int) -> None:
        steps = [0, *(scale.premium * denominator for scale in reading.scales)]
        self._steps = list(pairwise(steps))
        self._lines, self._full, self._weights = reading.quotas, steps[-1], weights
        self._known: dict[tuple[str, int], int] = {}

    def of(self, stand: Stand) -> int:
        """Return what a GPU of the job counts for."""
        key = stand.tenant, stand.rank
        if key not in self._known:
            costs = [self._full - self._weights[one] for one in self._lines.line(stand.tenant)]
            total = 0
            for before, after in self._steps[: stand.rank + 1]:
                paid = sum(min(after, max(before, cost)) - before for cost in costs)
                total += max(0, after - before - paid)
            self._known[key] = total
        return self._known[key]


class _Spreads:
    """How gangs could sit if all jobs were gone that anybody may touch; equal needs are looked at once."""

    def __init__(self, reading: Reading, rooms: Sequence[Room]) -> None:
        self._reading, self._counted = reading, CountedParts(rooms)
        self._layout = Layout.of(counted_rooms(reading.racks, rooms).values())
        self._looks = [str(look) for look in dict.fromkeys(reading.looks)]
        self._known: dict[object, tuple[Reach, int]] = {}

    def of(self, stand: Stand) -> Iterator[tuple[int, int]]:
        """Yield the GPUs a job may have on a node where it was not, each with the closest it could sit then."""
        need, reach, key = stand.need, stand.reach, stand.demand
        if key not in self._known:
            self._known[key] = self._closest(stand)
        now, most = self._known[key]
        together = now.fits and now.in_rack == reach.in_rack and now.fewest <= reach.fewest
        # A gang on at most so many nodes has on each of them what the others, however full, cannot hold.
        least = max(1, need.gpus - (reach.fewest - 1) * most)
        apart = 1 if now.in_rack else 2
        for part in range(1, min(most, need.gpus) + 1):
            if together and part >= least:
                yield part, 0
            elif now.fits and part < need.gpus and apart <= stand.level:
                yield part, apart

    def looks(self, stand: Stand) -> list[str]:
        """Return the looks of nodes on which a job may be put."""
        if stand.asked is None:
            return self._looks
        looks = self._reading.looks
        return [str(look) for look in dict.fromkeys(looks[node] for part in stand.asked.parts for node in part)]

    def _closest(self, stand: Stand) -> tuple[Reach, int]:
        """Return how close a job could be, and the most of its GPUs that a node could hold."""
        need, asked = stand.need, stand.asked
        if asked is None:
            return Reach.of(self._layout, need), max((room.holds(need) for room in self._layout.nodes), default=0)
        reach = Reach.asked(asked, need, self._counted, self._reading.rack_parts)
        holds = (gpus for each in self._counted.holding(asked, need) for gpus in each)
        return reach, min(need.gpus, max(holds, default=0))
