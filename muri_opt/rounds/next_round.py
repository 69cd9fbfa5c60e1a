"""The round that follows a decision at once, and what it is with one change for one waiting job."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from msgspec.structs import replace

from muri_opt.errors import InputError
from muri_opt.rounds.cluster import Node, Tenant
from muri_opt.rounds.decision import Assignment, Change, Decision
from muri_opt.rounds.error_text import listed, shown
from muri_opt.rounds.job import Job
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND, microseconds
from muri_opt.rounds.round import Round
from muri_opt.rounds.waiting import waited_by


def after(round_: Round, decision: Decision) -> Round:
    """Return the round after the decision: assigned jobs run where they were put, all others wait and are nowhere.

    Jobs that share GPUs have the same placement each. Nothing else is changed, the moment neither.
    """
    of = {job: assignment for assignment in decision.assignments for job in assignment.jobs}
    for job in of:
        _position(round_, job)
    return replace(round_, jobs=tuple(_then(job, of.get(job.id)) for job in round_.jobs))


def changed(round_: Round, decision: Decision, job_id: str, change: Change) -> Round:
    """Return the round after the decision and one change, with no other job waiting than the one it is for.

    Jobs to preempt are gone, jobs to move are where they are moved to, the time to wait has passed, and the node to add
    is there, as is the further quota of its tenant and of all above it. A node that is added is like the others of its
    rack, or where it matters like one where the job may start.
    """
    then = after(round_, decision)
    for other in (*change.preempt, *change.move):
        if then.jobs[_position(then, other)].state != "running":
            raise InputError("change", f"job {shown(other)}, which does not run", "jobs that run after the decision")
    waits = then.jobs[_position(then, job_id)]
    if waits.state == "running":
        raise InputError("job", f"{shown(job_id)}, which runs", "a job that waits after the decision")
    if change.wait_seconds is not None:
        passed = microseconds(change.wait_seconds)
        waits = replace(waits, waiting_seconds=(waited_by(then, waits) + passed) / MICROSECONDS_PER_SECOND)
        then = replace(then, now=(microseconds(then.now) + passed) / MICROSECONDS_PER_SECOND)
    if change.add_gpus is not None:
        further = _added(then, waits, change)
        then = replace(then, cluster=replace(then.cluster, nodes=(*then.cluster.nodes, further)))
    if change.raise_quota is not None:
        line = _with_those_above(then.cluster.tenants, waits.tenant)
        tenants = tuple(_raised(tenant, line, change.raise_quota) for tenant in then.cluster.tenants)
        then = replace(then, cluster=replace(then.cluster, tenants=tenants))
    jobs = (_moved(job, change.move) for job in then.jobs if job.state == "running" and job.id not in change.preempt)
    places = {job.id: place for place, job in enumerate(then.jobs)}
    return replace(then, jobs=tuple(sorted((*jobs, waits), key=lambda job: places[job.id])))


def _added(round_: Round, waits: Job, change: Change) -> Node:
    """Return the further node, in a rack or like one where the job may start; it asks for a unit only by ``within``."""
    name, gpus, rack = _new_name(round_.cluster.node_index), change.add_gpus or 0, change.rack
    if rack is None and round_.used_fields:
        may = round_.eligible[round_.job_index[waits.id]]
        able = (node for node, able in zip(round_.cluster.nodes, may, strict=True) if able)
        for like in (node for node in able if change.like in (None, node.id)):
            unit = (None, None) if waits.within is None else (like.rack, like.levels)
            return Node(id=name, gpus=gpus, rack=unit[0], gpu_type=like.gpu_type, levels=unit[1], labels=like.labels)
    beside = next((node for node in round_.cluster.nodes if node.rack == rack is not None), None)
    if beside is None:
        return Node(id=name, gpus=gpus, rack=rack)
    return Node(id=name, gpus=gpus, rack=rack, gpu_type=beside.gpu_type, levels=beside.levels, labels=beside.labels)


def _then(job: Job, assignment: Assignment | None) -> Job:
    """Return a job as it is then: the very job where nothing is to be changed, as for most of many."""
    if assignment is None:
        if job.state == "waiting" and job.placement is None:
            return job
        return replace(job, state="waiting", placement=None)
    held = {node: gpus for node, gpus in assignment.gpus.items() if gpus} or dict(assignment.gpus)
    plan = job.plan if assignment.plan is None else assignment.plan
    if job.state == "running" and job.plan == plan and job.placement == held and list(job.placement) == list(held):
        return job
    return replace(job, state="running", placement=held, plan=plan)


def _moved(job: Job, move: Mapping[str, Mapping[str, int]]) -> Job:
    return replace(job, placement=dict(move[job.id])) if job.id in move else job


def _with_those_above(tenants: Iterable[Tenant], name: str | None) -> set[str | None]:
    """Return a tenant and all above it."""
    parent, line = {tenant.id: tenant.parent for tenant in tenants}, set[str | None]()
    while name is not None:
        line.add(name)
        name = parent.get(name)
    return line


def _raised(tenant: Tenant, line: Container[str | None], gpus: int) -> Tenant:
    if tenant.id not in line or tenant.quota_gpus is None:
        return tenant
    return replace(tenant, quota_gpus=tenant.quota_gpus + gpus)


def _new_name(taken: Iterable[str]) -> str:
    names, place = set(taken), 0
    while f"added-{place}" in names:
        place += 1
    return f"added-{place}"


def _position(round_: Round, job: str) -> int:
    place = round_.job_index.get(job)
    if place is None:
        raise InputError("decision", f"job {shown(job)}", f"jobs of the round: {listed(round_.job_index)}")
    return place
