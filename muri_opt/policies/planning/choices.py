"""The configurations jobs may run by: which options each has, and what it costs until the job is done."""

from __future__ import annotations

from fractions import Fraction

from muri_opt.instance import Round
from muri_opt.plans import JobConfiguration, PlanOptions, configurations_of, is_predictable


class Choices:
    """Per job: the configuration it has or asks for (``here``), and the options of every one it may run by.

    The options of a configuration are in the order to try them: without a restart first, then on the fewest nodes.
    """

    def __init__(self, round_: Round, options: PlanOptions) -> None:
        self.here: list[JobConfiguration] = []
        self.options: list[dict[JobConfiguration, list[int]]] = []
        self._steps: list[int | None] = []
        self._speed: list[dict[JobConfiguration, Fraction]] = []
        for j, job in enumerate(round_.jobs):
            known, plans = configurations_of(job), job.plans or ()
            self.here.append(known[job.plan or ""])
            self._steps.append(job.remaining_iterations if is_predictable(job) else None)
            speed: dict[JobConfiguration, Fraction] = {}
            for plan in plans:
                at = known[plan.name]
                speed[at] = max(speed.get(at, Fraction(0)), Fraction(plan.throughput))
            self._speed.append(speed)
            mine: dict[JobConfiguration, list[int]] = {}
            for o in sorted(options.of_job(j), key=lambda o: (options.home[o] < 0, int(options.q[o]), o)):
                mine.setdefault(known[plans[options.plan[o]].name], []).append(o)
            self.options.append(mine)

    def is_known(self, job: int) -> bool:
        """Return whether the job is predictable."""
        return self._steps[job] is not None

    def cost(self, job: int, at: JobConfiguration, objective: str) -> Fraction:
        """Return the seconds until a job is done, by service units if that is the objective; restarts aside."""
        seconds = (self._steps[job] or 0) / self._speed[job][at]
        return seconds * at.service if objective == "service" else seconds
