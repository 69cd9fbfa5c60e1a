"""Bounds by counting GPUs and quotas: no set of jobs that fits by count is worth more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

from muri_opt.rounds import Decision, Job, Round
from muri_opt.verify.amounts import CountedRooms, empty_rooms, need_of
from muri_opt.verify.counted_parts import empty_parts
from muri_opt.verify.counting import counted_best, quota_pools
from muri_opt.verify.demands import Asked
from muri_opt.verify.tenant_lines import spare_quotas

AllAsked = Mapping[str, Asked] | None
"""What jobs ask of nodes, by their ids; ``None``: nothing."""


def knapsack_bound(round_: Round, values: dict[str, int], *, able: Sequence[Job], steps: int = 500_000) -> int | None:
    """Return the best value of any set of jobs within the cluster's GPUs and the quotas, nodes disregarded.

    ``able`` are the jobs that could run alone. ``None`` where it takes more than ``steps`` additions.
    """
    if len(able) * min([round_.cluster.total_gpus, *_quotas(round_)]) > steps:
        return None  # each job is tried with every number of GPUs of its pool
    line = sorted(able, key=lambda job: -values[job.id])
    if _outweighs_all_after([values[job.id] for job in line]):
        return _first_come(round_, values, line)
    pools = quota_pools(round_, ((job, {job.gpus: values[job.id]}) for job in able))
    return counted_best(round_.cluster.total_gpus, pools, steps=steps)


def _outweighs_all_after(values: Sequence[int]) -> bool:
    """Return whether each value is at least the sum of those after it."""
    after = 0
    for value in reversed(values):
        if value < after:
            return False
        after += value
    return True


def _first_come(round_: Round, values: Mapping[str, int], line: Sequence[Job]) -> int:
    """Return the best value where each job outweighs all after it in the line: whoever fits by count is taken.

    Any other set lacks a job that fits beside what it has of those before it, or is worth as much.
    """
    left = round_.cluster.total_gpus
    quotas = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants if tenant.quota_gpus is not None}
    best = 0
    for job in line:
        spare = quotas.get(job.tenant or "", left)
        if job.gpus <= min(left, spare):
            best += values[job.id]
            left -= job.gpus
            if job.tenant in quotas:
                quotas[job.tenant] -= job.gpus
    return best


def _quotas(round_: Round) -> list[int]:
    return [tenant.quota_gpus for tenant in round_.cluster.tenants if tenant.quota_gpus is not None]


def prefix_bound(round_: Round, values: dict[str, int], decision: Decision, *, able: Sequence[Job]) -> int:
    """Return a bound on a lexicographic value from the decision itself, in one pass.

    Going down the ranks, a waiting job that cannot join the running jobs before it, because together they ask for more
    GPUs than there are or than their tenant may hold, is proved to wait. At the first that might join, the bound
    grants it and everything after it. Of very many jobs the last ones count one each: as many of them are granted as
    the GPUs that are left could hold if they were the smallest. ``able`` are the jobs that could run alone.
    """
    quotas = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants}
    may_run = {job.id for job in able}
    last = [job for job in round_.jobs if values[job.id] == 1]
    counted = {job.id for job in last} if len(last) > 1 else set[str]()
    used, used_by = 0, Counter[str]()
    bound = 0
    for job in sorted(round_.jobs, key=lambda job: -values[job.id]):
        if job.id in counted:
            return bound + _most_jobs([job for job in last if job.id in may_run], round_.cluster.total_gpus - used)
        tenant = job.tenant or ""
        quota = quotas.get(tenant)
        over = used + job.gpus > round_.cluster.total_gpus or (quota is not None and used_by[tenant] + job.gpus > quota)
        if job.id in decision.running:
            bound += values[job.id]
            used += job.gpus
            used_by[tenant] += job.gpus
        elif not over and job.id in may_run:
            return bound + 2 * values[job.id] - 1
    return bound


def _most_jobs(jobs: list[Job], gpus: int) -> int:
    """Return how many of the jobs ask for no more than these GPUs together, the smallest first."""
    sizes = sorted(job.gpus for job in jobs)
    return sum(together <= gpus for together in accumulate(sizes))


def able_jobs(round_: Round, asked: AllAsked) -> list[Job]:
    """Return the jobs that could run alone, where they ``asked`` to be."""
    quotas = spare_quotas(round_, Counter())
    able = _fits_somewhere(CountedRooms(empty_rooms(round_))) if asked is None else _finder(round_, asked)
    return [
        job
        for job in round_.jobs
        if able(job) and (quotas.get(job.tenant or "") is None or job.gpus <= (quotas[job.tenant or ""] or 0))
    ]


def _fits_somewhere(rooms: CountedRooms) -> Callable[[Job], bool]:
    known: dict[tuple[int, float | None, float | None], bool] = {}

    def able(job: Job) -> bool:
        asks = job.gpus, job.cpus, job.memory_gib
        if asks not in known:
            known[asks] = rooms.fewest(need_of(job)) is not None
        return known[asks]

    return able


def _finder(round_: Round, asked: Mapping[str, Asked]) -> Callable[[Job], bool]:
    """Return what says whether a job could start somewhere, or go on where it is, if nothing else ran."""
    rooms, known = empty_rooms(round_), dict[object, bool]()
    counted = empty_parts(round_)

    def able(job: Job) -> bool:
        mine, need = asked[job.id], need_of(job)
        if mine.home is not None and all(rooms[node].holds(need) >= gpus for node, gpus in mine.home.items()):
            return True
        key = mine.alike, need
        if key not in known:
            known[key] = counted.node_count(mine, need) is not None
        return known[key]

    return able
