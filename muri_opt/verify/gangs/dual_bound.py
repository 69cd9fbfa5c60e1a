"""Bounds that hold whatever a solver's tolerances were: weak duality in exact integers."""

from __future__ import annotations

from collections import Counter

from muri_opt.errors import InputError
from muri_opt.rounds import LinearDuals, Round
from muri_opt.verify.amounts import Need, Room, empty_rooms, need_of, smallest_node_count

_LABELS = ("gpus", "cpus", "memory")


def dual_bound(round_: Round, values: dict[str, int], duals: LinearDuals) -> int:
    """Return the largest whole value that multipliers of GPUs, CPUs, memory and quotas allow any decision.

    Let every GPU, milli-CPU, MiB and quota GPU have its price. A running gang is worth at most its value, less what it
    pays at the cheapest node, plus that payment; all payments together are at most the price of everything there is.
    So the price of everything plus, for each job that could run alone, what its value exceeds its cheapest payment by,
    bounds the value. This holds for any prices of at least 0.
    """
    rooms = empty_rooms(round_)
    quotas = {t.id: t.quota_gpus for t in round_.cluster.tenants}
    prices = _node_prices(duals, len(rooms))
    quota_prices = dict(zip(quotas, _prices(duals, "quota", len(quotas)), strict=True))
    scale = duals.denominator
    total = sum(paid * amount for paid, amount in _whole_supply(prices, rooms))
    for tenant, price in quota_prices.items():
        if price and quotas[tenant] is None:
            raise InputError(f"multipliers.quota ({tenant!r})", str(price), "0 for a tenant without a quota")
        total += price * (quotas[tenant] or 0)
    shelves = sorted(set(zip(prices, rooms, strict=True)), key=lambda shelf: shelf[0])
    kinds = Counter(rooms)
    cheapest: dict[tuple[int, int], int | None] = {}
    for job in round_.jobs:
        need = need_of(job)
        shape = (need.milli, need.mebibytes)
        if shape not in cheapest:
            cheapest[shape] = _cheapest(shelves, need)
        per_gpu = cheapest[shape]
        quota = quotas.get(job.tenant or "")
        alone = smallest_node_count(kinds, need) is not None and (quota is None or need.gpus <= quota)
        if per_gpu is not None and alone:
            per_gpu += quota_prices.get(job.tenant or "", 0)
            total += max(0, values[job.id] * scale - need.gpus * per_gpu)
    return total // scale


def _node_prices(duals: LinearDuals, count: int) -> list[tuple[int, int, int]]:
    gpus, cpus, memory = (_prices(duals, label, count) for label in _LABELS)
    return list(zip(gpus, cpus, memory, strict=True))


def _prices(duals: LinearDuals, label: str, count: int) -> tuple[int, ...]:
    prices = duals.multipliers.get(label, (0,) * count)
    if len(prices) != count or min(prices, default=0) < 0 or duals.denominator < 1:
        raise InputError(f"multipliers.{label}", f"{len(prices)} numbers", f"{count} whole numbers of at least 0")
    return prices


def _whole_supply(prices: list[tuple[int, int, int]], rooms: list[Room]) -> list[tuple[int, int]]:
    supply = []
    for triple, room in zip(prices, rooms, strict=True):
        for label, price, amount in zip(_LABELS, triple, (room.gpus, room.milli, room.mebibytes), strict=True):
            if price and amount is None:
                raise InputError(f"multipliers.{label}", str(price), "0 where the node has no limit")
            supply.append((price, amount or 0))
    return supply


def _cheapest(shelves: list[tuple[tuple[int, int, int], Room]], need: Need) -> int | None:
    """Return the least price of one GPU of a gang over the nodes that can hold one."""
    return min(
        (
            gpu + need.milli * cpu + need.mebibytes * memory
            for (gpu, cpu, memory), room in shelves
            if room.holds(need) > 0
        ),
        default=None,
    )
