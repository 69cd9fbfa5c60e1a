"""What puts the rules of format 2 to the test: jobs that ask for certain nodes, that wait by order, that may not stop.

Each aspect names the ``fields`` that a round must be able to use; a check that draws other ones does not ask for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from muri_opt.rounds import Job, Node, Round
from muri_opt.testing.aspects import Aspect
from muri_opt.verify.demands import is_lost
from muri_opt.verify.tenant_lines import with_parents


def _aspect(name: str, holds: Callable[[Round], bool], *fields: str) -> Aspect:
    return Aspect(name=name, holds=holds, fields=frozenset(fields))


def _of_job(name: str, holds: Callable[[Round, Job], bool], *fields: str) -> Aspect:
    """Return the aspect that some job which waits, and which the cluster is large enough for, is of a kind."""
    return _aspect(name, lambda round_: any(holds(round_, job) for job in _waiting(round_)), *fields)


def _waiting(round_: Round) -> Iterator[Job]:
    total = sum(node.gpus for node in _up(round_))
    return (job for job in round_.jobs if job.state == "waiting" and job.gpus <= total)


def _running(round_: Round) -> Iterator[Job]:
    return (job for job in round_.jobs if job.state == "running")


def _up(round_: Round) -> list[Node]:
    return [node for node in round_.cluster.nodes if node.state == "up" and node.gpus]


def _any_waits(round_: Round) -> bool:
    return any(job.state == "waiting" for job in round_.jobs)


def _over_types(round_: Round, job: Job) -> bool:
    by_type = Counter[str | None]()
    for node in _up(round_):
        by_type[node.gpu_type] += node.gpus
    return len(by_type) > 1 and job.gpus > max(by_type.values())


def _of_other_type(round_: Round, job: Job) -> bool:
    return job.gpu_types is not None and any(node.gpu_type not in job.gpu_types for node in _up(round_))


def _on_several(_round: Round, job: Job) -> bool:
    return job.nodes is not None and job.nodes.least > 1


def _on_fewer(round_: Round, job: Job) -> bool:
    most = None if job.nodes is None else job.nodes.most
    return most is not None and most < min(job.gpus, len(_up(round_)))


def _in_parts(round_: Round, job: Job) -> bool:
    return job.even and job.gpus > 1 and len(_up(round_)) > 1


def _lacks_label(round_: Round, job: Job) -> bool:
    return any(not set(job.requires) <= set(node.labels) for node in _up(round_))


def _has_label(round_: Round, job: Job) -> bool:
    return any(set(job.excludes) & set(node.labels) for node in _up(round_))


def _in_one_unit(round_: Round, job: Job) -> bool:
    if job.within is None or not job.within.required:
        return False
    units = {node.units.get(job.within.level) for node in _up(round_)}
    return len(units) > 1 and job.gpus > max(node.gpus for node in _up(round_))


def _pinned(round_: Round) -> bool:
    short = sum(job.gpus for job in round_.jobs) > sum(node.gpus for node in _up(round_))
    return short and _any_waits(round_) and any(job.stays for job in round_.jobs)


def _put(round_: Round) -> bool:
    return len(_up(round_)) > 1 and any(job.stays_put and not job.stays for job in round_.jobs)


def _later(round_: Round, job: Job) -> bool:
    return job.not_before is not None and job.not_before > round_.now


def _due(round_: Round, job: Job) -> bool:
    return job.not_before is not None and job.not_before <= round_.now


def _in_state(state: str) -> Callable[[Round], bool]:
    """Return whether a node with GPUs is in a state while somebody waits."""
    return lambda round_: _any_waits(round_) and any(node.state == state and node.gpus for node in round_.cluster.nodes)


def _on_draining(round_: Round) -> bool:
    draining = {node.id for node in round_.cluster.nodes if node.state == "drain"}
    return any(draining & set(job.placement or ()) for job in _running(round_))


def _ends_late(round_: Round, job: Job) -> bool:
    last = round_.now + (job.time_limit_seconds or 0.0)
    return any(node.available_until is not None and node.available_until <= last for node in _up(round_))


def _quota_above(round_: Round) -> bool:
    """Return whether who looks at the own quotas of tenants only would give one above them more than its quota."""
    quota = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants}
    held, free = Counter[str](), sum(node.gpus for node in _up(round_))
    for job in sorted(round_.jobs, key=lambda job: job.placement is None):
        tenant = job.tenant or ""
        own = quota.get(tenant)
        if job.gpus <= free and (own is None or held[tenant] + job.gpus <= own):
            held[tenant] += job.gpus
            free -= job.gpus
    total = with_parents(round_, held)
    return any(limit is not None and held[one] <= limit < total[one] for one, limit in quota.items())


OVER_TYPES = _of_job("a gang larger than all GPUs of a type", _over_types, "node.gpu_type")
OTHER_TYPE = _of_job("a job that takes not every type", _of_other_type, "job.gpu_types")
ON_SEVERAL = _of_job("a job on several nodes at least", _on_several, "job.nodes")
ON_FEWER = _of_job("a job on fewer nodes than there are", _on_fewer, "job.nodes")
IN_PARTS = _of_job("a job in equal parts", _in_parts, "job.even")
LACKS_LABEL = _of_job("a label that a node lacks", _lacks_label, "job.requires")
HAS_LABEL = _of_job("a label that a node has and may not have", _has_label, "job.excludes", "node.labels")
IN_ONE_UNIT = _of_job("a gang of several nodes inside one of several units", _in_one_unit, "job.within")
PINNED = _aspect("a job that may not be stopped holds what others need", _pinned, "job.preemptible")
PUT = _aspect("a job that may be stopped and not moved", _put, "job.movable")
KEPT_BACK = _of_job("a job that is held", lambda _round, job: job.held is not None, "job.held")
LATER = _of_job("a job that is to start later", _later, "job.not_before")
DUE = _of_job("a job whose time has come", _due, "job.not_before")
DRAINS = _aspect("a node that drains", _in_state("drain"), "node.state")
IS_DOWN = _aspect("a node that is down", _in_state("down"), "node.state")
ON_DRAINING = _aspect("a job that runs on a node that drains", _on_draining, "node.state")
LOST = _aspect("a job lost with its node", lambda r: any(is_lost(r, job) for job in r.jobs), "node.state")
ENDS_LATE = _of_job("a job that would end too late for a node", _ends_late, "node.available_until")
QUOTA_ABOVE = _aspect("the quota of a tenant above binds", _quota_above, "tenant.parent")
