"""What jobs take from each other: the GPUs of the cluster, and the quotas of tenants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from muri_opt.rounds import Round
from muri_opt.studies.explain.value_parts import Part
from muri_opt.verify import Chapter


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """What jobs share: how much of it the first decision leaves free, and what each job takes more in the second."""

    free: int
    taken: Mapping[str, int]


def shared_pools(round_: Round, chapter: Chapter, first: Sequence[Part], second: Sequence[Part]) -> Iterator[Pool]:
    """Yield the GPUs of the cluster, and of each tenant the quota and what it may borrow, where none may exceed it."""
    yield _pool(round_.cluster.total_gpus, _gpus(first), _gpus(second))
    for tenant in round_.cluster.tenants if chapter.has_quotas else ():
        if tenant.quota_gpus is not None:
            held = (_of_quota(round_, chapter, tenant.id, parts) for parts in (first, second))
            yield _pool(tenant.quota_gpus + (tenant.borrow_gpus or 0), *held)


def _pool(total: int, first: Counter[str], second: Counter[str]) -> Pool:
    taken = {job: second[job] - first[job] for job in first.keys() | second.keys()}
    return Pool(free=total - first.total(), taken=taken)


def _gpus(parts: Sequence[Part]) -> Counter[str]:
    """Return the GPUs of each part, counted for its first job."""
    return Counter({part.jobs[0]: part.gpus for part in parts if part.assignment is not None})


def _of_quota(round_: Round, chapter: Chapter, tenant: str, parts: Sequence[Part]) -> Counter[str]:
    """Return what each running job of a tenant takes of its quota."""
    held = Counter[str]()
    for part in parts:
        if part.assignment is None:
            continue
        for job in (round_.jobs[round_.job_index[name]] for name in part.jobs):
            if job.tenant == tenant:
                held[job.id] = chapter.quota_gpus(job, part.assignment)
    return held
