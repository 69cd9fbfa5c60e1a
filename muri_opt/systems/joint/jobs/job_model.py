"""How fast a job runs: alone on every number of GPUs, and its stages there, in whole nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Job
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.curves import iteration_unit, scaling_table
from muri_opt.systems.joint.jobs.plan_ways import NO_PLANS, PER_SECOND as PER_SECOND, RankedPlans, ranked_plans

Floats = NDArray[np.float64]
NANOSECONDS: Final = 1_000
"""Of a microsecond."""
UNSAID: Final = PER_SECOND  # a job that does not say how long an iteration takes never shares: any time will do


@dataclass(frozen=True, kw_only=True)
class JobModel:
    """One way to run: ``period[k]`` are the nanoseconds of an iteration alone on k GPUs, 0 where it cannot have k.

    ``stages`` are the times of its stages in a period of ``base``; on k GPUs they shrink as the period does, rounded
    up. ``None`` where the job never shares. A job that runs by ``plans`` has the periods of the fastest ones.
    """

    period: tuple[int, ...]
    stages: tuple[int, ...] | None
    base: int
    plans: RankedPlans = NO_PLANS

    def stages_on(self, gpus: int) -> tuple[int, ...]:
        """Return the stage times on so many GPUs."""
        period = self.period[gpus]
        return tuple(-(-time * period // self.base) for time in self.stages or ())


def model_of(job: Job, *, full: bool, powers: bool) -> JobModel:
    """Return the model of a job, or refuse one that says no time to share by.

    ``full`` lets stages that take less than the iteration fill it; ``powers`` leaves an elastic job 1, 2, 4, ... GPUs.
    A job with plans runs by them, alone.

    >>> model_of(Job(id="a", gpus=2, iteration_seconds=3.0), full=True, powers=False).period
    (0, 0, 3000000000)
    """
    if job.plans is not None:
        plans = ranked_plans(job)
        return JobModel(period=plans.fastest, stages=None, base=1, plans=plans)
    gpus, seconds = job.gpus, job.iteration_seconds
    stages = tuple(microseconds(time) * NANOSECONDS for time in job.stage_seconds or ())
    if gpus < 1:
        raise InputError("gpus", str(gpus), "at least 1: what a job runs on is counted in GPUs")
    if seconds == 0:
        raise InputError("iteration_seconds", "0", "a time above 0, or none")
    if job.stage_seconds is not None and not sum(stages):
        raise InputError("stage_seconds", "0 in all", "a stage that takes time, or none at all")
    if job.scaling is None:
        alone = sum(stages) or UNSAID if seconds is None else microseconds(seconds) * NANOSECONDS
        period = (*(0,) * gpus, alone)
    else:
        table = scaling_table(job.scaling)
        unit = iteration_unit(gpus, seconds, table) * NANOSECONDS
        if job.stage_seconds is not None and gpus >= len(table.speeds):
            allowed = f"a GPU count from 1 to {len(table.speeds) - 1}, within scaling: stage_seconds are measured there"
            raise InputError("gpus", str(gpus), allowed)
        period = tuple([-(-unit // speed) if speed else 0 for speed in table.speeds])
        alone = period[gpus] if gpus < len(period) else 0
        if powers:
            period = tuple([0 if k & (k - 1) else time for k, time in enumerate(period)])
    if job.stage_seconds is None:
        return JobModel(period=period, stages=None, base=1)
    return JobModel(period=period, stages=stages, base=min(alone, sum(stages)) if full else alone)
