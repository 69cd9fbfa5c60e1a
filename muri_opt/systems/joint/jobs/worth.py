"""What work is worth: the price of doing it at the job's own end, in whole numbers.

p_j = min over g of (1 + lambda_j g) / s_j(g), where lambda_j = kappa x (jobs with more service left) / GPUs. Here it is
kept as a whole number P_j = min over g of (D G + K N_j g) x period_j(g), with kappa = K / D: the work of one iteration,
in nanoseconds of D x G GPUs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Job, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.quantities import MILLISECONDS_PER_SECOND, microseconds
from muri_opt.systems.completion import CHANCES, Behind, least_cost, service_attained
from muri_opt.systems.joint.jobs.expected_service import expected_left
from muri_opt.systems.joint.jobs.job_model import NANOSECONDS, PER_SECOND
from muri_opt.systems.joint.jobs.models import Models
from muri_opt.systems.joint.jobs.power_worth import hour_over
from muri_opt.systems.joint.rules import JointRules

SCALE = 1_000_000
"""Values are in millionths of a job."""
MOST_SAVED = 10
"""How many times as long as a decision stands a restart may take that a job saves by going on."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Worth:
    """``new[j]`` is what an iteration of job j is worth if it does not run yet.

    ``changed[j]`` is the same if it runs and has to restart first. ``work[j]`` is what it is worth if it starts, or
    goes on as it is: where being stopped costs a restart, that is worth more, and being changed costs nothing beyond.

    A group of period T nanoseconds adds ``SCALE`` x work / (``unit`` x T) for each of its jobs, rounded down.
    """

    new: NDArray[Any]
    work: NDArray[Any]
    changed: NDArray[Any]
    unit: int

    def as_if_nothing_ran(self) -> Worth:
        """Return what work is worth where everybody has yet to start."""
        return Worth(new=self.new, work=self.new, changed=self.new, unit=self.unit)

    def if_these_run(self, runs: Iterable[int], jobs: tuple[Job, ...], models: Models, rules: JointRules) -> Worth:
        """Return what work is worth where some of the jobs run, by their places, and no others."""
        those = [*runs] if rules.pay else []
        if not those:
            return self.as_if_nothing_ran()
        new: list[int] = self.new.tolist()
        work, changed, restarts = [*new], [*new], restarts_of(jobs, models, rules)
        for place in those:
            each, whole, lost = new[place], restarts.stands[place], restarts.lost[place]
            if rules.stops:
                work[place] = each * (whole + lost) // whole
            else:
                changed[place] = each * (whole - lost) // whole
        return Worth(new=self.new, work=_words(work), changed=_words(changed), unit=self.unit)


class Restarts(NamedTuple):
    """How many microseconds a decision ``stands`` for each job, and how many a restart has ``lost``, at least one."""

    stands: list[int]
    lost: list[int]


@recalled
def restarts_of(jobs: tuple[Job, ...], models: Models, rules: JointRules) -> Restarts:
    """Return what restarts of jobs take.

    A decision stands for the horizon, and if lengths are known for no longer than a job needs alone on the GPUs that
    make it fastest: so no change pays that would let it end later than without. What is lost of that is at most all of
    it, and what is saved by going on at most ``MOST_SAVED`` times as long.
    """
    stands = [rules.horizon] * len(jobs)
    if rules.known:
        shortest = _shortest(models)
        for place, (job, kind) in enumerate(zip(jobs, models.kinds, strict=True)):
            left = (job.remaining_iterations or 0) * shortest[kind] // NANOSECONDS
            stands[place] = max(1, min(left, rules.horizon))
    said = [job.restart_seconds or 0.0 for job in jobs]
    known = {seconds: max(1, microseconds(seconds)) for seconds in set(said)}
    most = MOST_SAVED if rules.stops else 1
    return Restarts(stands, [min(known[seconds], most * whole) for seconds, whole in zip(said, stands, strict=True)])


def _shortest(models: Models) -> list[int]:
    """Return the shortest period of each model, 0 for one that can have no GPUs of the cluster."""
    longest = models.period.max(initial=0)
    shortest = np.where(models.period > 0, models.period, longest + 1).min(axis=1, initial=longest + 1)
    found: list[int] = np.where(shortest > longest, 0, shortest).tolist()
    return found


@recalled
def worth_of(round_: Round, models: Models, rules: JointRules) -> Worth:
    """Return what the work of every job of the round is worth."""
    gpus, kappa = round_.cluster.total_gpus, rules.kappa
    parts = CHANCES if rules.chance else 1
    unit, service = max(1, gpus * kappa.denominator * parts), service_left(round_, models, rules)
    if rules.power is None:
        counts = models.counts
        period = models.of_each_job(models.period.take(counts, axis=1))
        behind = Behind.guessed(round_.jobs, service) if rules.chance else Behind.known(service)
        new = least_cost(period, counts, behind.each, gpus * kappa.denominator * parts, kappa.numerator)
    else:
        new = _by_power(models, service, rules.power, unit, rules.known)
    runs = (place for place, job in enumerate(round_.jobs) if job.state == "running")
    return Worth(new=new, work=new, changed=new, unit=unit).if_these_run(runs, round_.jobs, models, rules)


def _by_power(models: Models, service: list[int], power: Fraction, unit: int, known: bool) -> NDArray[Any]:
    """Return what iterations are worth if a GPU second is one over the service left, or had, to a power.

    An hour left counts as one. A job that can have no GPUs of the cluster is worth nothing.
    """
    second = PER_SECOND if known else MILLISECONDS_PER_SECOND
    each = [time * gpus for time, gpus in zip(models.first.tolist(), models.least.tolist(), strict=True)]
    able = models.period.max(axis=1, initial=0)
    found = [
        floor(each[kind] * hour_over(amount, second, power)) * unit if able[kind] else 0
        for kind, amount in zip(models.kind.tolist(), service, strict=True)
    ]
    return _words(found)


def _words(found: list[int]) -> NDArray[Any]:
    """Return whole numbers as machine words, or as they are where one is too large."""
    return np.array(found, dtype=np.int64 if max(found, default=0) < 1 << 62 else object)


def service_left(round_: Round, models: Models, rules: JointRules) -> list[int]:
    """Return by what jobs are ranked: nanoseconds of one GPU that they still need, or what they have attained.

    An elastic job counts the time that it needs on one GPU, one with plans that by its fastest plan with the fewest
    GPUs, and any other its time on the GPUs it asks for, each times those GPUs.
    Lengths unknown, a job is expected to take as long again as it has had, or what jobs that ended say.
    """
    if not rules.known:
        return expected_left(service_attained(round_.jobs), rules.samples)
    each = [time * gpus for time, gpus in zip(models.first.tolist(), models.least.tolist(), strict=True)]
    return [(job.remaining_iterations or 0) * each[kind] for job, kind in zip(round_.jobs, models.kinds, strict=True)]
