"""The definitions of order, value and feasibility, tried out one by one: slow, plain, and shared with nothing."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from plain_shares import fair_shares, per_gpu as per_gpu

from muri_opt import Job, Round

Split = tuple[int, ...]
"""GPUs of a gang on each node."""


def ranked(round_: Round, order: str) -> list[Job]:
    """Return the jobs as the order serves them."""
    jobs = list(round_.jobs)
    arrival = {job.id: (Fraction(str(job.submitted)), jobs.index(job)) for job in jobs}
    if order == "max-min":
        return _progressive_filling(jobs, arrival)
    if order == "fair-share":
        return fair_shares(round_, arrival)
    keys = {
        "fifo": lambda job: Fraction(str(job.submitted)),
        "srtf": lambda job: job.remaining_iterations * Fraction(str(job.iteration_seconds)),
        "srsf": lambda job: job.remaining_iterations * Fraction(str(job.iteration_seconds)) * job.gpus,
        "las": lambda job: Fraction(str(job.attained_gpu_seconds)),
    }
    return sorted(jobs, key=lambda job: (keys[order](job), arrival[job.id]))


def _progressive_filling(jobs: list[Job], arrival: dict[str, tuple[Fraction, int]]) -> list[Job]:
    """Serve, step by step, the first job of the tenant that was given the fewest GPUs so far."""
    waiting = sorted(jobs, key=lambda job: arrival[job.id])
    given: dict[str, int] = {}
    served = []
    while waiting:
        heads = {job.tenant or f"alone {job.id}": job for job in reversed(waiting)}
        tenant = min(heads, key=lambda name: (given.get(name, 0), arrival[heads[name].id]))
        served.append(heads[tenant])
        given[tenant] = given.get(tenant, 0) + heads[tenant].gpus
        waiting.remove(heads[tenant])
    return served


def values(round_: Round, order: str, *, lexicographic: bool, preempt: bool = True) -> dict[str, int]:
    """Return what each job is worth when it runs; without ``preempt`` one that runs now is worth nothing."""
    line = [job for job in ranked(round_, order) if preempt or job.state != "running"]
    return dict.fromkeys((job.id for job in round_.jobs), 0) | {
        job.id: 2 ** (len(line) - 1 - rank) if lexicographic else job.gpus * (len(line) - rank)
        for rank, job in enumerate(line)
    }


def optimum(round_: Round, order: str, *, lexicographic: bool, fewest: bool, preempt: bool = True) -> int:
    """Return the largest value over all ways to run some jobs somewhere."""
    worth = values(round_, order, lexicographic=lexicographic, preempt=preempt)
    return max(
        sum(worth[job.id] for job, split in zip(round_.jobs, splits, strict=True) if split is not None)
        for splits in feasible_splits(round_, fewest=fewest, preempt=preempt)
    )


def feasible_splits(round_: Round, *, fewest: bool, preempt: bool = True) -> Iterator[tuple[Split | None, ...]]:
    """Yield every feasible choice of a split, or of waiting, for each job; without ``preempt`` who runs stays there.

    Running jobs of the round fit beside each other, within the quotas.
    """
    here = [tuple((job.placement or {}).get(node.id, 0) for node in round_.cluster.nodes) for job in round_.jobs]
    choices = [
        [None, *_splits(round_, job, fewest=fewest)] if preempt or job.state != "running" else [held]
        for job, held in zip(round_.jobs, here, strict=True)
    ]
    return (choice for choice in product(*choices) if _fits(round_, choice) and _within_quotas(round_, choice))


def _splits(round_: Round, job: Job, *, fewest: bool) -> list[Split]:
    """Return every split of the gang that fits in the empty cluster, or those of them on the fewest nodes."""
    every = product(*(range(min(job.gpus, node.gpus) + 1) for node in round_.cluster.nodes))
    alone = [s for s in every if sum(s) == job.gpus and _fits(round_, (s,), (job,))]
    least = min((sum(map(bool, split)) for split in alone), default=0)
    return [split for split in alone if not fewest or sum(map(bool, split)) == least]


def _fits(round_: Round, choice: tuple[Split | None, ...], jobs: tuple[Job, ...] | None = None) -> bool:
    taken = [(job, split) for job, split in zip(jobs or round_.jobs, choice, strict=True) if split is not None]
    for s, node in enumerate(round_.cluster.nodes):
        if sum(split[s] for _, split in taken) > node.gpus:
            return False
        cpus = sum(split[s] * per_gpu(job.cpus, job.gpus, 1000) for job, split in taken)
        memory = sum(split[s] * per_gpu(job.memory_gib, job.gpus, 1024) for job, split in taken)
        if node.cpus is not None and cpus > Fraction(str(node.cpus)):
            return False
        if node.memory_gib is not None and memory > Fraction(node.memory_gib):
            return False
    return True


def _within_quotas(round_: Round, choice: tuple[Split | None, ...]) -> bool:
    return all(
        sum(job.gpus for job, s in zip(round_.jobs, choice, strict=True) if s is not None and job.tenant == tenant.id)
        <= tenant.quota_gpus
        for tenant in round_.cluster.tenants
        if tenant.quota_gpus is not None
    )
