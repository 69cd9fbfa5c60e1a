"""The configurations jobs may run by: which options each has, and how fast they are."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

from muri_opt.rounds import Round
from muri_opt.systems.plans.next_configurations import is_predictable
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.plans.plan_ladder import Configuration


class Choices:
    """Per job: the configuration it has or asks for (``here``), and what it may run by.

    ``steps`` are the iterations a predictable job has left, ``None`` for others.
    """

    def __init__(self, round_: Round, options: PlanOptions) -> None:
        self._first = options.first.tolist()
        self._jobs = options.jobs
        self.here = [
            mine.plans.configurations[job.plan or ""] for job, mine in zip(round_.jobs, options.jobs, strict=True)
        ]
        self.steps = [job.remaining_iterations if is_predictable(job) else None for job in round_.jobs]

    def able(self, job: int) -> Collection[Configuration]:
        """Return the configurations a job may run by."""
        return self._jobs[job].ways.keys()

    def smallest(self, job: int) -> Configuration | None:
        """Return the smallest configuration of the family that the job has; ``None`` if it may run by none of it."""
        return self._jobs[job].smallest.get(self.here[job].family)

    def options(self, job: int, at: Configuration) -> list[int]:
        """Return the options of a configuration as they are to be tried: without a restart, then on fewest nodes."""
        first = self._first[job]
        return [first + o for o in self._jobs[job].ways.get(at, ())]

    def speed(self, job: int, at: Configuration) -> float:
        """Return the throughput of a job by a configuration, the fastest if it depends on the nodes."""
        return self._jobs[job].plans.fastest[at.name]


def remaining(at: Configuration, speed: float, steps: int, objective: str) -> Fraction:
    """Return the seconds until a job is done, by service units if that is the objective; restarts aside."""
    seconds = steps / Fraction(speed)
    return seconds * at.service if objective == "service" else seconds
