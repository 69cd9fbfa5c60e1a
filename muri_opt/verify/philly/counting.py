"""What no decision of a multi-tenant round is worth more than, by the GPUs of the cluster and the quotas alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.memoise import recalled
from muri_opt.verify.philly.dual_bound import best_elsewhere
from muri_opt.verify.philly.job_status import Reading, Stand

Ints = NDArray[np.int64]
_MOST_STEPS = 50_000_000
_LARGEST = 1 << 62
_NOT_SO = -(1 << 62)


@recalled
def counted_places(reading: Reading) -> int | None:
    """Return the most that jobs within the GPUs of the cluster are worth, each tenant within its quota or above.

    By dynamic programming: for each tenant the best for each number of GPUs, then all tenants together. Jobs that
    cannot be preempted have their GPUs. Nodes, CPUs, memory, budgets and loads are left aside. ``None`` where counting
    would take too long, or numbers are too large for it.
    """
    free = sum(room.gpus for room in reading.rooms)
    members: dict[str, list[tuple[Stand, int]]] = {}
    held: dict[str, int] = {}
    total = 0
    scope = 0
    for stand in reading.stands:
        gpus, best = stand.need.gpus, _best(reading, stand)
        scope += reading.premium * gpus + abs(best) + reading.loss(stand)
        if stand.evictable or stand.candidate:
            members.setdefault(stand.tenant, []).append((stand, best))
        elif stand.running:
            free -= gpus
            held[stand.tenant] = held.get(stand.tenant, 0) + gpus
            total += best
    sizes = {tenant: min(free, sum(s.need.gpus for s, _ in mine)) for tenant, mine in members.items()}
    work = sum(sizes[tenant] * (len(mine) + free) for tenant, mine in members.items())
    if work > _MOST_STEPS or scope >= _LARGEST // 2:
        return None
    together = np.zeros(free + 1, dtype=np.int64)
    for tenant, mine in members.items():
        table = _of_tenant(reading, mine, sizes[tenant])
        table += reading.premium * _counted(reading, tenant, held.get(tenant, 0), len(table))
        together = _together(together, table)
    for tenant, gpus in held.items():
        if tenant not in members:
            total += reading.premium * min(gpus, reading.quotas.get(tenant, gpus))
    return total + int(together.max())


def _best(reading: Reading, stand: Stand) -> int:
    """Return the most a job is worth if it runs."""
    found = [best_elsewhere(reading, stand, whole=whole) for whole in (True, False)]
    values = [value for value in found if value is not None and (stand.candidate or stand.movable)]
    return max([*values, *([reading.worth(stand, stand.held)] if stand.running else [])], default=0)


def _of_tenant(reading: Reading, members: list[tuple[Stand, int]], size: int) -> Ints:
    """Return the best worth of a tenant's jobs, less the loss of preempted ones, for each number of GPUs."""
    table = np.full(size + 1, _NOT_SO, dtype=np.int64)
    table[0] = 0
    for stand, best in members:
        gpus = stand.need.gpus
        after = table - (reading.loss(stand) if stand.evictable else 0)
        if gpus <= size:
            np.maximum(after[gpus:], table[: size + 1 - gpus] + best, out=after[gpus:])
        table = np.maximum(after, _NOT_SO)
    return table


def _counted(reading: Reading, tenant: str, held: int, count: int) -> Ints:
    """Return the GPUs within the quota of a tenant that holds so many, for each number that come on top."""
    used = held + np.arange(count, dtype=np.int64)
    return np.minimum(used, reading.quotas[tenant]) if tenant in reading.quotas else used


def _together(first: Ints, second: Ints) -> Ints:
    """Return the best of two tables for each number of GPUs shared between them."""
    result = np.full_like(first, _NOT_SO)
    for gpus, worth in enumerate(second.tolist()):
        if worth > _NOT_SO // 2:
            np.maximum(result[gpus:], first[: len(first) - gpus] + worth, out=result[gpus:])
    return result
