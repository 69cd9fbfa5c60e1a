"""Three small allocators, each with a planted bug, for the tutorial on testing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from muri_opt.instance import Job, Round
from muri_opt.solution import Assignment, Decision


def refuses_a_full_node(round_: Round) -> Decision:
    """Place jobs by first fit over the nodes. The bug: a gang that would take the last free GPUs finds no room."""
    free = {node.id: node.gpus for node in round_.cluster.nodes}
    quota = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants}
    started = []
    for job in sorted(round_.jobs, key=lambda job: job.submitted or 0.0):
        within = _left(quota, job)
        if sum(free.values()) > job.gpus and (within is None or job.gpus <= within):  # should be >=
            started.append(_first_fit(free, job))
            _spend(quota, job)
    return Decision(assignments=tuple(started))


def quota_off_by_one(round_: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Place jobs by first fit, dict in and dict out. The bug: a tenant gets one GPU more than its quota."""
    cluster = round_["cluster"]
    free = {node["id"]: node["gpus"] for node in cluster["nodes"]}
    quota = {tenant["id"]: tenant.get("quota_gpus") for tenant in cluster.get("tenants", ())}
    used: Counter[str] = Counter()
    started: dict[str, dict[str, int]] = {}
    for job in round_["jobs"]:
        tenant, gpus = job.get("tenant", ""), job["gpus"]
        most = quota.get(tenant)
        if sum(free.values()) < gpus or (most is not None and used[tenant] + gpus > most + 1):  # should be > most
            continue
        used[tenant] += gpus
        taken: dict[str, int] = {}
        started[job["id"]] = taken
        for node in free:
            share = min(free[node], gpus - sum(taken.values()))
            if share:
                taken[node] = share
                free[node] -= share
    return started


def preemption_loop(round_: Round) -> Decision:
    """Place jobs by first fit, who waits before who runs, so that nobody starves. The bug: they take turns for ever."""
    free = {node.id: node.gpus for node in round_.cluster.nodes}
    quota = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants}
    started = []
    for job in _waiting_first(round_.jobs):
        within = _left(quota, job)
        if sum(free.values()) >= job.gpus and (within is None or job.gpus <= within):
            started.append(_first_fit(free, job))
            _spend(quota, job)
    return Decision(assignments=tuple(started))


def _waiting_first(jobs: Iterable[Job]) -> list[Job]:
    return sorted(jobs, key=lambda job: (job.state == "running", job.submitted or 0.0))


def _left(quota: dict[str, int | None], job: Job) -> int | None:
    return None if job.tenant is None else quota.get(job.tenant)


def _spend(quota: dict[str, int | None], job: Job) -> None:
    within = _left(quota, job)
    if job.tenant is not None and within is not None:
        quota[job.tenant] = within - job.gpus


def _first_fit(free: dict[str, int], job: Job) -> Assignment:
    """Return the gang on the first free GPUs, which are taken."""
    taken: dict[str, int] = {}
    for node in free:
        share = min(free[node], job.gpus - sum(taken.values()))
        if share:
            taken[node] = share
            free[node] -= share
    return Assignment(jobs=(job.id,), gpus=taken)
