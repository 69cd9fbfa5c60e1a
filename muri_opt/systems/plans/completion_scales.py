"""What the throughput of plans is worth for completion times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import NamedTuple

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.systems.completion import SECOND, Behind, completion_weights
from muri_opt.systems.plans.plan_rules import BY_ATTAINED, RANKED


class Scale(NamedTuple):
    """``weight`` millionths of a job are what a second at the ``top`` throughput is worth.

    ``needs`` are the microseconds that the job needs at the top, rounded down, or ``None`` where lengths are guesses.
    """

    weight: int
    top: float
    needs: int | None

    @property
    def each(self) -> Fraction:
        """Millionths of a job for each unit of throughput."""
        return self.weight / Fraction(self.top)

    def stands(self, horizon: int) -> int:
        """Return for how many microseconds of a horizon a decision stands for the job, at least one.

        That is no longer than a job of known length needs at its fastest: a restart is charged out of it, so that no
        change pays that would let the job end later than without.
        """
        return horizon if self.needs is None else max(1, min(self.needs, horizon))


def check_ranked(job: Job, objective: str) -> None:
    """Refuse a job that does not say what it is ranked by."""
    for field in RANKED[objective]:
        if getattr(job, field) is None:
            raise InputError(field, "nothing", f"a number: by the objective {objective!r} jobs are ranked by it")


def completion_scales(round_: Round, objective: str) -> list[Scale]:
    """Return what throughput is worth to each job, by the fastest of its plans for every number of GPUs.

    Plans for more GPUs than there are do not count. Jobs are ranked by the service that they have left, with the fewest
    GPUs of their plans, or count by chance by what they have had.
    """
    return _scales(round_, objective)


@recalled
def _scales(round_: Round, objective: str) -> list[Scale]:
    gpus = round_.cluster.total_gpus
    fastest = [_fastest(job, gpus) for job in round_.jobs]
    tops = [max(mine.values(), default=1.0) for mine in fastest]
    width = 1 + max((max(mine) for mine in fastest if mine), default=0)
    period = np.zeros((len(fastest), width), dtype=object)
    for row, mine, top in zip(period, fastest, tops, strict=True):
        for count, rate in mine.items():
            row[count] = _microseconds(top, rate)
    longest = int(period.max(initial=0))
    small = period.astype(np.int64) if longest < 1 << 62 else period
    guessed = objective == BY_ATTAINED
    behind = Behind.by_attained(round_.jobs) if guessed else Behind.known(_left(round_, fastest))
    weights = completion_weights(behind, small, np.arange(width), gpus).tolist()
    needs = [None if guessed else _needs(job, top) for job, top in zip(round_.jobs, tops, strict=True)]
    return [Scale(*told) for told in zip(weights, tops, needs, strict=True)]


def _fastest(job: Job, gpus: int) -> dict[int, float]:
    """Return the largest throughput of a job by the GPUs of its plans."""
    found: dict[int, float] = {}
    for plan in job.plans or ():
        if plan.gpus <= gpus and plan.throughput > found.get(plan.gpus, 0.0):
            found[plan.gpus] = plan.throughput
    return found


def _microseconds(top: float, rate: float) -> int:
    """Return how long the work of a second at the top takes at a rate, rounded up."""
    (over, under), (speed, parts) = top.as_integer_ratio(), rate.as_integer_ratio()
    return -(-SECOND * over * parts // (under * speed))


def _needs(job: Job, rate: float) -> int:
    """Return the microseconds that what a job has left takes at a rate, rounded down."""
    speed, parts = rate.as_integer_ratio()
    return SECOND * (job.remaining_iterations or 0) * parts // speed


def _left(round_: Round, fastest: Sequence[Mapping[int, float]]) -> list[int]:
    """Return the microseconds of a GPU that jobs still need with the fewest GPUs they have a plan for."""
    found = []
    for job, mine in zip(round_.jobs, fastest, strict=True):
        fewest = min(mine, default=1)
        rate = Fraction(mine.get(fewest, 1.0))
        found.append(floor(SECOND * (job.remaining_iterations or 0) * max(1, fewest) / rate))
    return found
