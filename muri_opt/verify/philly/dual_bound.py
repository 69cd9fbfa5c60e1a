"""A bound on the value of any decision of a multi-tenant round, from prices of jobs and quotas, in exact integers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from muri_opt.errors import InputError
from muri_opt.rounds import LinearDuals, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.amounts import Room
from muri_opt.verify.philly.job_status import Reading, Stand
from muri_opt.verify.philly.possible_spreads import Ways
from muri_opt.verify.plans.knapsack import MOST_CELLS, Item, Sizes, Spot, most_profits
from muri_opt.verify.plans.plan_parts import NO_LIMIT

MOST_ADDED = 20_000_000
"""Cells looked at to add the jobs that are on single nodes; finer grids that would take more are made coarser."""
_BITS = 62
"""Sums of profits stay below two to this power: they must fit machine words."""


@recalled
def placed_bound(round_: Round, reading: Reading, duals: LinearDuals) -> int:
    """Return the largest whole value that prices of jobs and weights of quotas allow any decision.

    With a weight of kappa, from 0 to K, of its GPUs, a tenant's part of the value is at most kappa for each GPU it uses
    and K - kappa for each of its quota. A job that does something with its GPUs pays its price, and what is left of its
    value, against that of being stopped or of waiting, is profit, shared evenly by its GPUs. All prices together are at
    most those of all jobs, and the profit on a node is at most that of the best parts that fit beside the jobs nobody
    can touch. Racks, budgets and who may be beside whom are left aside: that makes the bound larger, never wrong.
    """
    prices = _Prices.of(round_, reading, duals)
    scale = duals.denominator
    gpus = sum(node.gpus for node in round_.cluster.nodes)  # a quota above them is never used up
    quotas = {tenant: min(quota, gpus) for tenant, quota in reading.quotas.items()}
    total = sum((reading.premium * scale - prices.weights[tenant]) * quota for tenant, quota in quotas.items())
    rooms = list(reading.rooms)
    common: list[Item] = []
    home: dict[int, list[Item]] = {}
    for stand in reading.stands:
        if is_fixed(stand):
            total += reading.worth(stand, stand.held) * scale + prices.weight(stand) * stand.need.gpus
            for node, gpus in stand.held.items():
                rooms[node] = rooms[node].without(stand.need, gpus)
    ways = Ways(reading, rooms)
    for job, stand in enumerate(reading.stands):
        if is_fixed(stand) or not (stand.running or stand.candidate):
            continue
        absent = -reading.loss(stand) if stand.running else 0
        pays = absent * scale + prices.once[job] - prices.weight(stand) * stand.need.gpus
        total += absent * scale + prices.once[job]
        for node, gpus in stand.held.items():
            profit = reading.worth(stand, stand.held) * scale - pays
            home.setdefault(node, []).append(_part(job, stand, gpus, profit))
        if stand.candidate or stand.movable:
            common += _elsewhere(job, stand, reading, scale, pays, ways)
    return (total + _profits(rooms, common, home, 2 * len(reading.stands))) // scale


def is_fixed(stand: Stand) -> bool:
    """Return whether a running job stays where it is, whatever is decided."""
    return stand.running and not stand.movable and not stand.evictable


def best_elsewhere(reading: Reading, stand: Stand, *, whole: bool) -> int | None:
    """Return the most a job is worth whole on one new node, or on several; ``None`` where it may not sit so."""
    single = stand.reach.fewest == 1
    if not (single if whole else not single or stand.level >= 1):
        return None
    spread = 1 if single and not whole else 0
    return reading.elsewhere(stand, spread)


def _elsewhere(job: int, stand: Stand, reading: Reading, scale: int, pays: int, ways: Ways) -> Iterator[Item]:
    """Yield the parts a job may have on a node where it was not."""
    found = ways.of(stand)
    further = min((spread for spread in found.spreads if spread > 0), default=None)
    for part in range(1, min(found.most, stand.need.gpus) + 1):
        together = 0 in found.spreads and part >= found.least
        spread = 0 if together else further if part < stand.need.gpus else None
        if spread is not None:
            yield _part(job, stand, part, reading.elsewhere(stand, spread) * scale - pays)


def _part(job: int, stand: Stand, gpus: int, profit: int) -> Item:
    """Return so many GPUs of a job with their share, rounded up, of its profit."""
    need = stand.need
    return Item(job, (gpus, gpus * need.milli, gpus * need.mebibytes), -(-profit * gpus // need.gpus))


def _profits(rooms: list[Room], common: list[Item], home: dict[int, list[Item]], parts: int) -> int:
    """Return the most profit of all nodes together; ``parts`` are more than any node is ever given."""
    largest = max((item.profit for items in (common, *home.values()) for item in items), default=0)
    shift = max(0, (largest * parts).bit_length() - _BITS)
    spots: Counter[Spot] = Counter()
    for node, room in enumerate(rooms):
        sizes = _sizes(room)
        spots[Spot(sizes, tuple(_worthwhile(home.get(node, ()), sizes, shift)))] += 1
    if not spots:
        return 0
    cells = min(MOST_CELLS, MOST_ADDED // max(1, sum(len(spot.extras) for spot in spots)))
    most = most_profits(list(spots), list(_worthwhile(common, _extent(spots), shift)), share=2, cells=cells)
    return sum(count * profit for count, profit in zip(spots.values(), most, strict=True)) << shift


def _worthwhile(items: Iterable[Item], room: Sizes, shift: int) -> Iterator[Item]:
    """Yield the items that have a profit and fit a room, rounded up to multiples of two to the power of ``shift``."""
    for item in items:
        gpus, milli, mebibytes = item.sizes
        if item.profit > 0 and gpus <= room[0] and milli <= room[1] and mebibytes <= room[2]:
            yield item._replace(profit=-(-item.profit >> shift))


def _sizes(room: Room) -> Sizes:
    milli = NO_LIMIT if room.milli is None else room.milli
    return room.gpus, milli, NO_LIMIT if room.mebibytes is None else room.mebibytes


def _extent(spots: Counter[Spot]) -> Sizes:
    gpus, milli, mebibytes = (max(spot.room[axis] for spot in spots) for axis in range(3))
    return gpus, milli, mebibytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prices:
    """The price of each job and the weight of each tenant's GPUs, over one denominator; ``full`` where no quota is."""

    once: tuple[int, ...]
    weights: dict[str, int]
    full: int

    @classmethod
    def of(cls, round_: Round, reading: Reading, duals: LinearDuals) -> _Prices:
        """Return what the multipliers say, or refuse them by their label. Left out, jobs are free and weights full."""
        if duals.denominator < 1:
            raise InputError("denominator", str(duals.denominator), "a whole number of at least 1")
        full, tenants = reading.premium * duals.denominator, round_.cluster.tenants
        counts = {"once": len(round_.jobs), "quota": len(tenants)}
        for label in duals.multipliers:
            if label not in counts:
                raise InputError(f"multipliers.{label}", "prices", "prices of " + " and ".join(counts))
        once = duals.multipliers.get("once", (0,) * counts["once"])
        quota = duals.multipliers.get("quota", (full,) * counts["quota"])
        for label, prices in (("once", once), ("quota", quota)):
            if len(prices) != counts[label] or min(prices, default=0) < 0:
                allowed = f"{counts[label]} whole numbers of at least 0"
                raise InputError(f"multipliers.{label}", f"{len(prices)} numbers", allowed)
        weights = {
            tenant.id: price for tenant, price in zip(tenants, quota, strict=True) if tenant.id in reading.quotas
        }
        for tenant, weight in weights.items():
            if weight > full:
                raise InputError(f"multipliers.quota ({tenant!r})", str(weight), f"at most {full}, a GPU in full")
        return cls(once=once, weights=weights, full=full)

    def weight(self, stand: Stand) -> int:
        """Return what a GPU of a job weighs."""
        return self.weights.get(stand.tenant, self.full)
