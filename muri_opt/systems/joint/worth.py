"""What work is worth: the price of doing it at the job's own end, in whole numbers.

p_j = min over g of (1 + lambda_j g) / s_j(g), where lambda_j = kappa x (jobs with more service left) / GPUs. Here it is
kept as a whole number P_j = min over g of (D G + K N_j g) x period_j(g), with kappa = K / D: the work of one iteration,
in nanoseconds of D x G GPUs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.completion import jobs_behind, least_cost, service_attained
from muri_opt.systems.joint.job_model import Models
from muri_opt.systems.joint.rules import JointRules

SCALE = 1_000_000
"""Values are in millionths of a job."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Worth:
    """``work[j]`` is what an iteration of job j is worth, ``changed[j]`` the same if the job has to restart first.

    A group of period T nanoseconds adds ``SCALE`` x work / (``unit`` x T) for each of its jobs, rounded down.
    """

    work: NDArray[Any]
    changed: NDArray[Any]
    unit: int


def worth_of(round_: Round, models: Models, rules: JointRules) -> Worth:
    """Return what the work of every job of the round is worth."""
    gpus, kappa = round_.cluster.total_gpus, rules.kappa
    behind = jobs_behind(service_left(round_, models, rules))
    counts = np.flatnonzero((models.period > 0).any(axis=0))
    period = models.period[:, counts][models.kind]
    work = least_cost(period, counts, behind, gpus * kappa.denominator, kappa.numerator)
    changed = work.copy()
    if rules.pay:
        for place, job in enumerate(round_.jobs):
            if job.state == "running":
                restart = max(1, microseconds(job.restart_seconds or 0.0))
                changed[place] = int(work[place]) * max(0, rules.horizon - restart) // rules.horizon
    return Worth(work=work, changed=changed, unit=max(1, gpus * kappa.denominator))


def service_left(round_: Round, models: Models, rules: JointRules) -> list[int]:
    """Return by what jobs are ranked: nanoseconds of one GPU that they still need, or what they have attained.

    An elastic job counts the time that it needs on one GPU, any other its time on the GPUs it asks for, times those.
    Lengths unknown, a job is expected to take as long again as it has had.
    """
    if not rules.known:
        return service_attained(round_.jobs)
    least = [model.least for model in models.of]
    return [
        (job.remaining_iterations or 0) * models.of[kind].period[least[kind]] * least[kind]
        for job, kind in zip(round_.jobs, models.kind.tolist(), strict=True)
    ]
