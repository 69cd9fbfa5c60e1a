"""What no decision of a multi-tenant round is worth more than, by the GPUs of the cluster and the quotas alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from muri_opt.rounds.memoise import recalled
from muri_opt.verify.counting import Pool, counted_best
from muri_opt.verify.philly.dual_bound import most_worth
from muri_opt.verify.philly.job_status import Reading
from muri_opt.verify.philly.priced_counting import TenantJobs, priced_best

_MOST_STEPS = 50_000_000


@recalled
def counted_places(reading: Reading) -> int:
    """Return the most that jobs within the GPUs of the cluster are worth, each tenant within its quota or above.

    Jobs that cannot be preempted have their GPUs; any other job that may run gains, beside what it is worth, what it
    would lose if it were preempted. Nodes, CPUs, memory, budgets and loads are left aside. Where counting would take
    too long, a price of a GPU says nearly as much.
    """
    if reading.quotas.nested or len(reading.scales) > 1:
        return _without_quotas(reading)
    free, total = sum(room.gpus for room in reading.rooms), 0
    members: dict[str, list[dict[int, int]]] = {}
    held: dict[str, int] = {}
    for stand in reading.stands:
        gpus, best = stand.need.gpus, most_worth(reading, stand)
        lost = reading.loss(stand) if stand.evictable else 0
        if stand.evictable or stand.candidate:
            members.setdefault(stand.tenant, []).append({gpus: best + lost})
            total -= lost
        elif stand.running:
            held[stand.tenant] = held.get(stand.tenant, 0) + gpus
            free -= gpus
            total += best
    pools = []
    for tenant in {**members, **held}:
        tables = members.get(tenant, [])
        most = min(free, sum(gpus for table in tables for gpus in table))
        pools.append(Pool(tables, most, partial(_premium, reading, tenant, held.get(tenant, 0))))
    counted = counted_best(free, pools, steps=_MOST_STEPS)
    if counted is None:
        counted = sum(_premium(reading, tenant, gpus, 0) for tenant, gpus in held.items())
        tenants = [_tenant_jobs(reading, one, held.get(one, 0), some) for one, some in members.items()]
        counted += priced_best(free, tenants)
    return total + counted


def _tenant_jobs(reading: Reading, tenant: str, held: int, tables: Sequence[Mapping[int, int]]) -> TenantJobs:
    """Return the jobs of a tenant that may run, each with its one number of GPUs, beside what it holds already."""
    limit = reading.quotas.limits.get(tenant)
    left = sum(room.gpus for room in reading.rooms) if limit is None else max(0, limit - held)
    return TenantJobs(*_columns(tables), reading.premium, left)


def _columns(tables: Sequence[Mapping[int, int]]) -> tuple[list[int], list[int]]:
    """Return the GPUs of jobs, and their values: each has one number of GPUs."""
    return [gpus for table in tables for gpus in table], [value for table in tables for value in table.values()]


def _premium(reading: Reading, tenant: str, held: int, more: int) -> int:
    """Return what the GPUs of a tenant are worth within its quota, if it uses some more than it holds."""
    return reading.premium * reading.quotas.within_alone(tenant, held + more)


def _without_quotas(reading: Reading) -> int:
    """Return the most that jobs within the GPUs of the cluster are worth if all of them are within quotas."""
    free, total, tables = sum(room.gpus for room in reading.rooms), 0, list[dict[int, int]]()
    for stand in reading.stands:
        gpus, lost = stand.need.gpus, reading.loss(stand) if stand.evictable else 0
        best = most_worth(reading, stand) + reading.scale(stand).premium * gpus
        if stand.evictable or stand.candidate:
            tables.append({gpus: best + lost})
            total -= lost
        elif stand.running:
            free -= gpus
            total += best
    counted = counted_best(free, [Pool(tables, free)], steps=_MOST_STEPS)
    if counted is None:
        counted = priced_best(free, [TenantJobs(*_columns(tables), 0, 0)])
    return total + counted
