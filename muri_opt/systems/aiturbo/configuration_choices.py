"""The configurations jobs may run by: which options each has, and how fast they are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.memoise import recalled
from muri_opt.systems.plans.next_configurations import is_predictable
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.plans.plan_ladder import Configuration
from muri_opt.systems.plans.plan_rows import ReadPlans, read_plans


class Choices:
    """Per job: the configuration it has or asks for (``here``), and what it may run by.

    ``steps`` are the iterations a predictable job has left, ``None`` for others.
    """

    def __init__(self, round_: Round, options: PlanOptions) -> None:
        self._jobs = round_.jobs
        self._read = read_plans(round_.jobs)
        here = zip(round_.jobs, self._read, strict=True)
        self.here = [mine.configurations[job.plan or ""] for job, mine in here]
        self.steps = [job.remaining_iterations if is_predictable(job) else None for job in round_.jobs]
        self._ways: list[dict[str, list[int]]] = [{} for _ in round_.jobs]
        # Those of a configuration as they are to be tried: without a restart, then on the fewest nodes.
        order = np.lexsort((options.q, options.home < 0, options.job))
        told = zip(order.tolist(), options.job[order].tolist(), options.plan[order].tolist(), strict=True)
        for option, job, plan in told:
            self._ways[job].setdefault((round_.jobs[job].plans or ())[plan].name, []).append(option)

    @classmethod
    def of(cls, round_: Round, options: PlanOptions) -> Choices:
        """Return the choices of a round, from one of the last calls if it was the same."""
        return _choices(round_, options)

    def able(self, job: int) -> Collection[str]:
        """Return the names of the configurations a job may run by."""
        return self._ways[job].keys()

    def smallest(self, job: int) -> Configuration | None:
        """Return the smallest configuration of the family that the job has; ``None`` if it may run by none of it."""
        family, known = self.here[job].family, self._read[job].configurations
        mine = (known[name] for name in self._ways[job])
        return min((at for at in mine if at.family == family), key=lambda at: at.size, default=None)

    def options(self, job: int, at: Configuration) -> Sequence[int]:
        """Return the options of a configuration as they are to be tried: without a restart, then on fewest nodes."""
        return self._ways[job].get(at.name, ())

    def speed(self, job: int, at: Configuration) -> float:
        """Return the throughput of a job by a configuration, the fastest if it depends on the nodes."""
        return self._read[job].fastest[at.name]

    def plans(self, job: int) -> ReadPlans:
        """Return what was read of the plans of a job."""
        return self._read[job]


_choices = recalled(Choices)


def remaining(at: Configuration, speed: float, steps: int, objective: str) -> Fraction:
    """Return the seconds until a job is done, by service units if that is the objective; restarts aside."""
    seconds = steps / Fraction(speed)
    return seconds * at.service if objective == "service" else seconds
