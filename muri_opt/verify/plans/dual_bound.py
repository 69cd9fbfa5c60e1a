"""A bound on the value of any decision among plans, from prices of jobs and quotas, in exact integers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from muri_opt.errors import InputError
from muri_opt.rounds import LinearDuals, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.plans.knapsack import Item, Sizes, Spot, most_profits
from muri_opt.verify.plans.menu import Menu
from muri_opt.verify.plans.plan_parts import Floor

MOST_ROOMS = 8
"""Rooms of nodes with one type of GPUs that each have a table of their own."""
_BITS = 62
"""Sums of profits stay below two to this power: they must fit machine words."""


@recalled
def planned_bound(round_: Round, menu: Menu, duals: LinearDuals) -> int:
    """Return the largest whole value that prices of jobs and of quotas allow any decision.

    A job that runs pays its price, and its GPUs' share of a quota that it uses; the rest of its value is profit, shared
    evenly by its parts. The payments of all jobs are at most the prices of all jobs and quotas, and the profit on a
    node is at most that of the best parts that fit it. This holds for any prices of at least 0.
    """
    once, quota = _prices(round_, duals)
    profits = _Profits.of(round_, menu, duals.denominator, once, quota)
    total = sum(once)
    for tenant in round_.cluster.tenants:
        total += quota[tenant.id] * (tenant.quota_gpus or 0)
    shelves = _shelves(round_, profits)
    for (kind, _), spots in shelves.items():
        largest = [max(spot.room[axis] for spot in spots) for axis in range(3)]
        items = [item for item in profits.of_type(kind) if _within(largest, item)]
        most = most_profits(list(spots), items, share=len(shelves))
        total += sum(count * profit for count, profit in zip(spots.values(), most, strict=True)) << profits.shift
    return total // duals.denominator


def _shelves(round_: Round, profits: _Profits) -> dict[tuple[str | None, Sizes | None], Counter[Spot]]:
    """Return how many nodes of each kind there are, those that share a table together.

    Nodes of one room and one type of GPUs do; where there are many rooms, all nodes of one type do.
    """
    floor = Floor.of(round_)
    spots: dict[str | None, Counter[Spot]] = {}
    for place, (row, kind) in enumerate(zip(floor.free.tolist(), floor.types, strict=True)):
        room = (row[0], row[1], row[2])
        mine = tuple(item for item in profits.home.get(place, ()) if _within(room, item))
        spots.setdefault(kind, Counter())[Spot(room, mine)] += 1
    shelves: dict[tuple[str | None, Sizes | None], Counter[Spot]] = {}
    for kind, counted in spots.items():
        apart = len({spot.room for spot in counted}) <= MOST_ROOMS
        for spot, count in counted.items():
            shelves.setdefault((kind, spot.room if apart else None), Counter())[spot] += count
    return shelves


class _Profits:
    """The parts of all ways with a profit: by the type of GPUs they need, and those without a restart by their node.

    Profits are rounded up to multiples of two to the power of ``shift``, which is 0 unless they are very large.
    """

    def __init__(self) -> None:
        self.anywhere: dict[str | None, list[Item]] = {}
        self.home: dict[int, list[Item]] = {}
        self.shift = 0

    @classmethod
    def of(cls, round_: Round, menu: Menu, scale: int, once: tuple[int, ...], quota: dict[str, int]) -> _Profits:
        found = cls()
        for j, job in enumerate(round_.jobs):
            pays = once[j] + (quota.get(job.tenant or "", 0) * job.gpus if job.guarantee is not None else 0)
            pays -= menu.bonus[j] * scale
            for way in menu.ways[j]:
                parts = way.plan.nodes
                away = -((pays - way.away * scale) // parts)  # rounded up
                if away > 0:
                    found.anywhere.setdefault(way.plan.gpu_type, []).append(Item(j, way.piece, away))
                home = away if way.home is None else -((pays - way.home * scale) // parts)
                if home > max(0, away):
                    for place in (round_.cluster.node_index[node] for node in menu.homes[j]):
                        if way.plan.gpu_type in (None, round_.cluster.nodes[place].gpu_type):
                            found.home.setdefault(place, []).append(Item(j, way.piece, home))
        found._shorten(2 * len(round_.jobs))  # more parts than are ever counted on a node
        return found

    def of_type(self, kind: str | None) -> list[Item]:
        """Return the parts that a node with this type of GPUs may have."""
        return self.anywhere.get(None, []) + (self.anywhere.get(kind, []) if kind is not None else [])

    def _shorten(self, parts: int) -> None:
        """Round profits up so far that the sum of so many can be held in a machine word."""
        tables = [*self.anywhere.values(), *self.home.values()]
        largest = max((item.profit for items in tables for item in items), default=0)
        self.shift = max(0, (largest * parts).bit_length() - _BITS)
        for items in tables if self.shift else ():
            items[:] = [item._replace(profit=-(-item.profit >> self.shift)) for item in items]


def _within(room: Sequence[int], item: Item) -> bool:
    gpus, milli, mebibytes = item.sizes
    return gpus <= room[0] and milli <= room[1] and mebibytes <= room[2]


def _prices(round_: Round, duals: LinearDuals) -> tuple[tuple[int, ...], dict[str, int]]:
    """Return the price of each job and of each tenant's quota, or refuse them by their label."""
    if duals.denominator < 1:
        raise InputError("denominator", str(duals.denominator), "a whole number of at least 1")
    counts = {"once": len(round_.jobs), "quota": len(round_.cluster.tenants)}
    for label in duals.multipliers:
        if label not in counts:
            raise InputError(f"multipliers.{label}", "prices", "prices of " + " and ".join(counts))
    once, quota = (duals.multipliers.get(label, (0,) * count) for label, count in counts.items())
    for label, prices in (("once", once), ("quota", quota)):
        if len(prices) != counts[label] or min(prices, default=0) < 0:
            allowed = f"{counts[label]} whole numbers of at least 0"
            raise InputError(f"multipliers.{label}", f"{len(prices)} numbers", allowed)
    for tenant, price in zip(round_.cluster.tenants, quota, strict=True):
        if price and tenant.quota_gpus is None:
            raise InputError(f"multipliers.quota ({tenant.id!r})", str(price), "0 for a tenant without a quota")
    return once, {tenant.id: price for tenant, price in zip(round_.cluster.tenants, quota, strict=True)}
