"""Three small allocators, each with a planted bug, for the tutorial on testing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from muri_opt.rounds import Assignment, Decision, Job, Node, Round

Free = dict[str, list[int | None]]
"""Free GPUs, milli-CPUs and MiB of each node; ``None`` is no limit."""


def refuses_a_full_node(round_: Round) -> Decision:
    """Place jobs by first fit over the nodes. The bug: a gang that would take the last free GPUs finds no room."""
    return _first_fit(round_, sorted(round_.jobs, key=_submitted), spare=1)  # should be spare=0


def preemption_loop(round_: Round) -> Decision:
    """Place jobs by first fit, who waits before who runs, so that nobody starves. The bug: they take turns for ever."""
    return _first_fit(round_, sorted(round_.jobs, key=lambda job: (job.state == "running", _submitted(job))))


def quota_off_by_one(round_: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Place jobs by first fit, dict in and dict out. The bug: a tenant gets one GPU more than its quota."""
    cluster = round_["cluster"]
    free = {
        node["id"]: [node["gpus"], _scaled(node.get("cpus"), 1000), _scaled(node.get("memory_gib"), 1024)]
        for node in cluster["nodes"]
    }
    quota = {tenant["id"]: tenant.get("quota_gpus") for tenant in cluster.get("tenants", ())}
    used: Counter[str] = Counter()
    started: dict[str, dict[str, int]] = {}
    for job in round_["jobs"]:
        tenant, gpus = job.get("tenant", ""), job["gpus"]
        most = quota.get(tenant)
        if most is not None and used[tenant] + gpus > most + 1:  # should be > most
            continue
        taken = _taken(free, gpus, _needs(gpus, job.get("cpus"), job.get("memory_gib")))
        if taken is not None:
            used[tenant] += gpus
            started[job["id"]] = taken
    return started


def _first_fit(round_: Round, jobs: Iterable[Job], spare: int = 0) -> Decision:
    """Return the jobs that find room one after another; each leaves ``spare`` GPUs of the cluster free."""
    free = {node.id: _capacity(node) for node in round_.cluster.nodes}
    quota = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants}
    used: Counter[str] = Counter()
    started = []
    for job in jobs:
        tenant = job.tenant or ""
        most = quota.get(tenant)
        short = sum(node[0] or 0 for node in free.values()) < job.gpus + spare
        if short or (most is not None and used[tenant] + job.gpus > most):
            continue
        taken = _taken(free, job.gpus, _needs(job.gpus, job.cpus, job.memory_gib))
        if taken is not None:
            used[tenant] += job.gpus
            started.append(Assignment(jobs=(job.id,), gpus=taken))
    return Decision(assignments=tuple(started))


def _submitted(job: Job) -> float:
    return job.submitted or 0.0


def _capacity(node: Node) -> list[int | None]:
    return [node.gpus, _scaled(node.cpus, 1000), _scaled(node.memory_gib, 1024)]


def _scaled(amount: float | None, unit: int) -> int | None:
    return None if amount is None else round(amount * unit)


def _needs(gpus: int, cpus: float | None, memory_gib: float | None) -> tuple[int, int, int]:
    """Return what each GPU of a gang takes: itself, milli-CPUs and MiB, rounded up."""
    return 1, -(-round((cpus or 0.0) * 1000) // gpus), -(-round((memory_gib or 0.0) * 1024) // gpus)


def _taken(free: Free, gpus: int, needs: tuple[int, int, int]) -> dict[str, int] | None:
    """Return the gang on the first nodes with room, and take it there; ``None`` where it does not fit."""
    taken: dict[str, int] = {}
    for node, amounts in free.items():
        rooms = [left // need for left, need in zip(amounts, needs, strict=True) if left is not None and need]
        share = min(*rooms, gpus - sum(taken.values())) if rooms else 0
        if share:
            taken[node] = share
    if sum(taken.values()) < gpus:
        return None
    for node, share in taken.items():
        free[node] = [
            None if left is None else left - share * need for left, need in zip(free[node], needs, strict=True)
        ]
    return taken
