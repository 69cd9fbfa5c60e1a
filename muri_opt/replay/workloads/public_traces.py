"""Public traces as workloads: each job does what it did, in milliseconds on the GPUs it held."""

from __future__ import annotations

from collections import Counter
from typing import Final

from muri_opt.errors import unknown_name
from muri_opt.replay.traces import Trace, TraceJob
from muri_opt.replay.workload import Workload
from muri_opt.replay.workloads.skipped_rows import in_order, kept
from muri_opt.rounds import Job
from muri_opt.rounds.quantities import MILLISECONDS_PER_SECOND

TICK: Final = 1 / MILLISECONDS_PER_SECOND
"""Seconds of an iteration where nothing is known of iterations: work is then exact to a millisecond."""


def workload_of(
    trace: Trace, *, name: str | None = None, tenant: str | None = None, most_gpus: int | None = None
) -> Workload:
    """Return the jobs of a trace as a workload, or those of one tenant.

    The work of a job is the time it held its GPUs over all attempts. ``notes`` counts jobs without that time, with none
    at all, and those that ask for more than ``most_gpus``. Tenants, users, CPUs and memory are kept.
    """
    if tenant is not None and tenant not in trace.tenants:
        raise unknown_name("tenant", tenant, trace.tenants)
    counts, jobs = Counter[str](), list[Job]()
    for job in trace.jobs:
        if tenant is None or job.tenant == tenant:
            work = None if job.service_seconds is None else round(job.service_seconds * MILLISECONDS_PER_SECOND)
            if work:
                jobs.append(_job(job, work))
            else:
                counts["no-duration" if work is None else "no-work"] += 1
    called = name if name is not None else trace.format
    called = called if tenant is None else f"{called}/{tenant}"
    workload = Workload(name=called, jobs=tuple(jobs), notes=in_order(counts))
    return workload if most_gpus is None else without_large(workload, most_gpus)


def without_large(workload: Workload, most_gpus: int) -> Workload:
    """Return the workload without the jobs that ask for more GPUs, counted in its notes."""
    return kept(workload, (job for job in workload.jobs if job.gpus <= most_gpus), "too-large")


def _job(job: TraceJob, work: int) -> Job:
    return Job(
        id=job.id,
        tenant=job.tenant,
        user=job.user,
        submitted=job.submitted,
        gpus=job.gpus,
        cpus=job.cpus,
        memory_gib=job.memory_gib,
        remaining_iterations=work,
        iteration_seconds=TICK,
    )
