"""The order of Tiresias: queues by attained service, promotion of jobs that starve, and when either changes next."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import ClassVar

from muri_opt.rounds import Job, Round
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND, gpu_milliseconds, microseconds
from muri_opt.systems.orders.gittins import GittinsIndex

TiresiasKey = tuple[int, Fraction | int, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class TiresiasOrder:
    """Queue by queue; inside a queue by Gittins index if there is one, then running jobs first, then first come.

    ``limits`` are rising GPU-milliseconds; a job that has attained one of them is in a queue behind it. ``knob`` 0
    promotes nobody. The fields of a job count since its last promotion, which only the caller sees: who promotes a job
    sets its attained, executed and waiting time to 0.

    >>> TiresiasOrder(limits=(3_250_000_000,)).limits
    (3250000000,)
    """

    limits: tuple[int, ...]
    knob: Fraction = Fraction(0)
    gittins: GittinsIndex | None = None

    name: ClassVar[str] = "tiresias"

    @property
    def requires(self) -> tuple[str, ...]:
        """The fields of a job that the order reads."""
        always = ("submitted", "attained_gpu_seconds")
        return (*always, "executed_seconds", "waiting_seconds") if self.knob else always

    def key(self, job: Job) -> TiresiasKey:
        """Return what a job is sorted by, before its submission."""
        queue = 0 if self.promotes(job) else self.queue_by_service(job)
        index = 0 if self.gittins is None else -self.gittins.after(_service(job))
        return queue, index, job.state != "running"

    def queue_by_service(self, job: Job) -> int:
        """Return the queue, from 0, of what the job has attained."""
        return bisect_right(self.limits, _service(job))

    def promotes(self, job: Job) -> bool:
        """Return whether the job goes to the first queue because it has waited too long for what it has run."""
        return self._may_starve(job) and microseconds(job.waiting_seconds or 0.0) >= self._patience(job)

    def next_event(self, round_: Round) -> float | None:
        """Return the seconds until a running job leaves its queue or a waiting one is promoted; ``None``: never.

        Running jobs attain service with all their GPUs meanwhile, the others wait. The seconds are rounded up to a
        microsecond: when they have passed, it has happened. As in the authors' code, a Gittins index that changes
        inside a queue is no event of its own.
        """
        waits = [wait for job in round_.jobs if (wait := self._until_change(job)) is not None]
        return ceil(min(waits)) / MICROSECONDS_PER_SECOND if waits else None

    def _until_change(self, job: Job) -> Fraction | None:
        """Return the microseconds until the job changes its queue; those that are over do not count."""
        if job.state == "running":
            ahead = self.limits[self.queue_by_service(job) :]
            return Fraction(1000 * (ahead[0] - _service(job)), job.gpus) if ahead and job.gpus else None
        if not self._may_starve(job) or self.promotes(job):
            return None
        return self._patience(job) - microseconds(job.waiting_seconds or 0.0)

    def _may_starve(self, job: Job) -> bool:
        """Return whether the job waits outside the first queue and has run before."""
        waits_behind = bool(self.knob) and job.state != "running" and self.queue_by_service(job) > 0
        return waits_behind and microseconds(job.executed_seconds or 0.0) > 0

    def _patience(self, job: Job) -> Fraction:
        """Return the microseconds a job waits before it is promoted."""
        return self.knob * microseconds(job.executed_seconds or 0.0)


def _service(job: Job) -> int:
    return gpu_milliseconds(job.attained_gpu_seconds or 0.0)
