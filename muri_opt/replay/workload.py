"""What is replayed: jobs by their submission, each with all the work it has to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from muri_opt.errors import InputError
from muri_opt.rounds import Cluster, Job
from muri_opt.rounds.field_checks import check_unique
from muri_opt.rounds.round import DEFAULT_RESOURCES


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Workload:
    """Jobs in the order of their submission, as they are before they ever run.

    Each says when it was ``submitted``, its ``remaining_iterations`` and its ``iteration_seconds`` on the GPUs it asks
    for. A job with plans counts its iterations in the unit of their throughput. Refused are work that is not known or
    nothing, jobs that run already, arrivals out of order, and an id given twice. ``notes`` counts, by reason, what a
    reader left out or put in order before.
    """

    name: str
    jobs: tuple[Job, ...]
    resources: tuple[str, ...] = DEFAULT_RESOURCES
    notes: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_unique("jobs", [job.id for job in self.jobs])
        latest = 0.0
        for position, job in enumerate(self.jobs):
            where = f"jobs[{position}] ({job.id!r})"
            if job.submitted is None or job.submitted < latest:
                found = "nothing" if job.submitted is None else f"{job.submitted} after {latest}"
                raise InputError(f"{where}.submitted", found, "seconds, no less than those of the job before")
            latest = job.submitted
            if not job.remaining_iterations:
                raise InputError(f"{where}.remaining_iterations", str(job.remaining_iterations), "at least 1")
            if not job.iteration_seconds:
                raise InputError(f"{where}.iteration_seconds", str(job.iteration_seconds), "a time above 0")
            if job.state != "waiting":
                raise InputError(f"{where}.state", repr(job.state), "'waiting': no job runs before the replay")

    @classmethod
    def of(cls, name: str, jobs: Iterable[Job], resources: tuple[str, ...] = DEFAULT_RESOURCES) -> Workload:
        """Return the workload of jobs in any order; equal submissions keep the order they are given in."""
        ordered = sorted(jobs, key=lambda job: job.submitted or 0.0)
        return cls(name=name, jobs=tuple(ordered), resources=resources)

    def check_fits(self, cluster: Cluster) -> None:
        """Refuse a job that cannot run on as few GPUs as the cluster has: it would wait for ever."""
        for position, job in enumerate(self.jobs):
            fewest = min([job.gpus, *(job.scaling or ()), *[plan.gpus for plan in job.plans or ()]])
            if fewest > cluster.total_gpus:
                where = f"jobs[{position}] ({job.id!r}).gpus"
                raise InputError(where, str(job.gpus), f"at most the {cluster.total_gpus} GPUs of the cluster")
