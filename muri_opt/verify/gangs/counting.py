"""Bounds by counting GPUs and quotas: no set of jobs that fits by count is worth more."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate

from muri_opt.rounds import Decision, Job, Round
from muri_opt.verify.amounts import empty_rooms, need_of, smallest_node_count


def knapsack_bound(round_: Round, values: dict[str, int], *, steps: int = 500_000) -> int | None:
    """Return the best value of any set of jobs within the cluster's GPUs and the quotas, nodes disregarded.

    Every set is considered, by dynamic programming: per tenant the best value for each number of GPUs up to its quota,
    then all tenants together. ``None`` where that takes more than ``steps`` additions.
    """
    total = round_.cluster.total_gpus
    quotas = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants}
    members: dict[str | None, list[Job]] = {}
    for job in able_jobs(round_):
        limited = job.tenant if job.tenant is not None and quotas.get(job.tenant) is not None else None
        members.setdefault(limited, []).append(job)
    sizes = {tenant: min(total, quotas.get(tenant or "") or total) for tenant in members}
    cost = sum(len(jobs) * sizes[tenant] for tenant, jobs in members.items())
    if cost + total * sum(sizes[tenant] for tenant in members if tenant is not None) > steps:
        return None
    best = [0] * (total + 1)
    for tenant, jobs in members.items():
        table = [0] * (sizes[tenant] + 1)
        for job in jobs:
            worth = values[job.id]
            table[job.gpus :] = map(max, table[job.gpus :], [value + worth for value in table[: -job.gpus]])
        best = table if len(members) == 1 else _together(best, table)
    return best[-1]


def prefix_bound(round_: Round, values: dict[str, int], decision: Decision) -> int:
    """Return a bound on a lexicographic value from the decision itself, in one pass.

    Going down the ranks, a waiting job that cannot join the running jobs before it, because together they ask for more
    GPUs than there are or than their tenant may hold, is proved to wait. At the first that might join, the bound
    grants it and everything after it. Of very many jobs the last ones count one each: as many of them are granted as
    the GPUs that are left could hold if they were the smallest.
    """
    quotas = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants}
    able = {job.id for job in able_jobs(round_)}
    last = [job for job in round_.jobs if values[job.id] == 1]
    counted = {job.id for job in last} if len(last) > 1 else set[str]()
    used, used_by = 0, Counter[str]()
    bound = 0
    for job in sorted(round_.jobs, key=lambda job: -values[job.id]):
        if job.id in counted:
            return bound + _most_jobs([job for job in last if job.id in able], round_.cluster.total_gpus - used)
        tenant = job.tenant or ""
        quota = quotas.get(tenant)
        over = used + job.gpus > round_.cluster.total_gpus or (quota is not None and used_by[tenant] + job.gpus > quota)
        if job.id in decision.running:
            bound += values[job.id]
            used += job.gpus
            used_by[tenant] += job.gpus
        elif not over and job.id in able:
            return bound + 2 * values[job.id] - 1
    return bound


def _most_jobs(jobs: list[Job], gpus: int) -> int:
    """Return how many of the jobs ask for no more than these GPUs together, the smallest first."""
    sizes = sorted(job.gpus for job in jobs)
    return sum(together <= gpus for together in accumulate(sizes))


def able_jobs(round_: Round) -> list[Job]:
    """Return the jobs that could run alone."""
    kinds = Counter(empty_rooms(round_))
    quotas = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants}
    return [
        job
        for job in round_.jobs
        if smallest_node_count(kinds, need_of(job)) is not None
        and (quotas.get(job.tenant or "") is None or job.gpus <= (quotas[job.tenant or ""] or 0))
    ]


def _together(first: list[int], second: list[int]) -> list[int]:
    """Return the best value for each number of GPUs shared between two tables; both grow with their GPUs."""
    size = len(first)
    result = list(first)
    for gpus, worth in enumerate(second):
        if gpus and worth > second[gpus - 1]:
            result[gpus:] = map(max, result[gpus:], [value + worth for value in first[: size - gpus]])
    return result
