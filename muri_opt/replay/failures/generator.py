"""Seeded draws of failures: which jobs fail, of what, how often and after how long.

A failing job has one class, drawn by the jobs of the classes; the number of its failing trials is geometric with the
mean trials per job of the class. The classes then have their published shares of all trials, in expectation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, pairwise
from statistics import NormalDist
from types import MappingProxyType
from typing import Final

import numpy as np

from muri_opt.errors import InputError
from muri_opt.replay.failures.attempts import MAX_MILLISECONDS, NO_FAILURE, JobFailures, Trial
from muri_opt.replay.failures.classes import KINDS, PHILLY_FAILURES, FailureTable, Kind
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.field_checks import pairs
from muri_opt.rounds.generate.portable_random import Draws, Floats, Ints
from muri_opt.rounds.quantities import finite, whole

MOST_JOBS: Final = 1_000_000
_SMALLEST = 2.0**-53  # the step of the uniform draws: 0 itself has no quantile
_RECOVERY: Final[Mapping[Kind, float]] = MappingProxyType({"user": 0.05, "infrastructure": 0.75, "unclear": 0.25})


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureModel:
    """What failures are drawn from.

    ``failing`` is the share of jobs with a failing trial. A time to failure is log-normal: its median is the class',
    its logarithm has the standard deviation ``spread``. ``recovery`` is, by kind, the share of failing jobs whose run
    after the failing ones passes. Both are assumptions; the study does not publish them.
    """

    table: FailureTable = PHILLY_FAILURES
    failing: float = 0.172
    spread: float = 1.0
    recovery: Mapping[Kind, float] = field(default_factory=lambda: _RECOVERY)

    def __post_init__(self) -> None:
        object.__setattr__(self, "failing", finite("failing", self.failing, 1.0))
        object.__setattr__(self, "spread", finite("spread", self.spread, 4.0))
        shares = {}
        for kind, share in pairs("recovery", self.recovery):
            if kind not in KINDS:
                raise InputError("recovery key", shown(kind), "one of " + ", ".join(KINDS))
            shares[kind] = finite(f"recovery[{kind}]", share, 1.0)
        missing = [kind for kind in KINDS if kind not in shares]
        if missing:
            raise InputError(f"recovery[{missing[0]}]", "nothing", "a number from 0 to 1")
        object.__setattr__(self, "recovery", MappingProxyType(shares))


def draw_failures(jobs: int, *, seed: int, model: FailureModel | None = None) -> tuple[JobFailures, ...]:
    """Return the failures of that many jobs, in their order; the same arguments always give the same."""
    count = whole("jobs", jobs, MOST_JOBS)
    return failures_from(Draws(whole("seed", seed, 2**63 - 1)), count, FailureModel() if model is None else model)


def failures_from(draws: Draws, count: int, model: FailureModel) -> tuple[JobFailures, ...]:
    """Return the failures of ``count`` jobs, drawn from a stream that others may draw from too."""
    classes = model.table.classes
    failing = np.flatnonzero(draws.uniform(count) < model.failing)
    chosen = draws.pick(len(failing), range(len(classes)), [failure.jobs for failure in classes])
    trials = _trials(draws, [failure.trials_per_job for failure in classes], chosen)
    recovery = np.array([model.recovery[failure.kind] for failure in classes])
    passes = draws.uniform(len(failing)) < recovery[chosen]
    median = np.array([failure.median_milliseconds for failure in classes], dtype=np.float64)
    times = _times(draws, np.repeat(median[chosen], trials), model.spread)
    rows: list[JobFailures] = [NO_FAILURE] * count
    ends = [0, *accumulate(trials.tolist())]
    milliseconds = times.tolist()
    for job, place, passed, (begin, end) in zip(
        failing.tolist(), chosen.tolist(), passes.tolist(), pairwise(ends), strict=True
    ):
        name = classes[place].name
        row = tuple(Trial(failure=name, milliseconds=time) for time in milliseconds[begin:end])
        rows[job] = JobFailures(trials=row, passes=passed)
    return tuple(rows)


def mean_over_median(spread: float) -> float:
    """Return how many times its median the mean of a log-normal time is."""
    return math.exp(spread * spread / 2)


def _trials(draws: Draws, means: list[Fraction], chosen: Ints) -> Ints:
    """Return geometric numbers from 1 up: after each failing trial one more follows with the chance 1 - 1 / mean."""
    more = np.array([float(1 - 1 / mean) for mean in means])[chosen]
    left = 1.0 - draws.uniform(len(chosen))
    further = np.zeros(len(chosen), dtype=np.int64)
    able = more > 0
    further[able] = np.floor(np.log(left[able]) / np.log(more[able])).astype(np.int64)
    return 1 + further


def _times(draws: Draws, median: Floats, spread: float) -> Ints:
    """Return log-normal times in whole milliseconds, at least one, around the medians."""
    levels = np.maximum(draws.uniform(len(median)), _SMALLEST)
    normal = np.fromiter(map(NormalDist().inv_cdf, levels.tolist()), dtype=np.float64, count=len(levels))
    return np.clip(np.rint(median * np.exp(spread * normal)), 1, MAX_MILLISECONDS).astype(np.int64)
