"""The verifier's own reading of scaling tables: speeds in whole numbers, and how long jobs still take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import floor, log10

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.kept_by_object import KeptByObject
from muri_opt.rounds.memoise import recalled

Ints = NDArray[np.int64]
LARGEST_SPEED = 1 << 30
LONGEST = (1 << 62) - 1
"""Microseconds that stand for any longer time."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """Speeds of a job in whole numbers of nine digits, and the microseconds of an iteration at speed 1.

    ``row`` has the same speeds, with 1, 2, ... GPUs, and ``top`` is the largest.
    """

    speeds: Mapping[int, int]
    unit: int
    row: Ints
    top: int

    @classmethod
    def of(cls, job: Job) -> Curve:
        """Return the curve of a job; missing GPU counts are interpolated in iteration time."""
        scale = job.gpus, job.iteration_seconds
        known = _KNOWN.get(job.scaling, scale)
        if known is None:
            table = tuple((job.scaling or {}).items())  # a job has it in ascending order
            try:
                known = cls.of_table(table, *scale)
            except InputError as error:
                raise error.inside(f"job {job.id!r}") from None
            _KNOWN.put(job.scaling, scale, known)
        return known

    @staticmethod
    def expect(jobs: int) -> None:
        """Say of how many jobs curves are asked for: those are kept for the next round."""
        _KNOWN.expect(jobs)

    @classmethod
    def of_table(cls, table: tuple[tuple[int, float], ...], gpus: int, seconds: float | None) -> Curve:
        """Return the curve of a table, in ascending order, of a job whose iteration takes ``seconds`` on ``gpus``."""
        if not table or table[0][0] != 1:
            raise InputError("scaling", "no entry for 1 GPU", "a table that starts with 1 GPU")
        speeds, row, top, power = _speeds(table)
        if seconds is None:
            return cls(speeds=speeds, unit=10 ** (6 + power) if power >= -6 else 0, row=row, top=top)
        if gpus not in speeds or seconds == 0:
            found = f"{seconds} s with {gpus} GPUs"
            raise InputError("iteration_seconds", found, "above 0, with a GPU count of its table")
        return cls(speeds=speeds, unit=round(seconds * 1_000_000) * speeds[gpus], row=row, top=top)

    def period_seconds(self, gpus: int) -> float:
        """Return the time of one iteration."""
        return self.unit / (self.speeds[gpus] * 1_000_000)

    def ends(self, job: Job, most: int) -> dict[int, int]:
        """Return how long the job still takes with each number of GPUs up to ``most``, in whole microseconds."""
        work = self.work(job)
        return {k: min(LONGEST, work // speed) for k, speed in self.speeds.items() if k <= most}

    def end_alone(self, job: Job) -> int:
        """Return how long the job still takes with one GPU, in whole microseconds."""
        return min(LONGEST, self.work(job) // self.speeds[1])

    def soonest(self, job: Job, most: int) -> int:
        """Return how long the job still takes with the GPUs, up to ``most``, that make it fastest."""
        return min(LONGEST, self.work(job) // self.most_speed(most))

    def most_speed(self, most: int) -> int:
        """Return the largest speed with up to ``most`` GPUs."""
        return self.top if most >= len(self.row) else int(self.row[:most].max(initial=1))

    def work(self, job: Job) -> int:
        """Return how long the job still takes at speed 1, in microseconds."""
        if job.remaining_iterations is None:
            raise InputError(f"job {job.id!r}.remaining_iterations", "nothing", "a number: the value counts time")
        return job.remaining_iterations * self.unit


_KNOWN = KeptByObject[Curve]()
"""The curves of jobs, which keep their tables from round to round."""


@recalled
def curves_of(round_: Round) -> dict[str, Curve]:
    """Return the curve of each job of a round."""
    Curve.expect(len(round_.jobs))
    return {job.id: Curve.of(job) for job in round_.jobs}


@lru_cache(maxsize=3 << 12)  # the jobs of a large round; more would only keep those that have ended
def _speeds(table: tuple[tuple[int, float], ...]) -> tuple[Mapping[int, int], Ints, int, int]:
    """Return the speed with 1, 2, ... GPUs, the same as an array, the largest, and how many digits it keeps."""
    most = max(rate for _, rate in table)
    power = floor(log10(LARGEST_SPEED) - log10(most)) if most > 0 else 0  # near enough: at most one off
    while _times_ten(most, power) > LARGEST_SPEED:
        power -= 1
    while _times_ten(most, power + 1) <= LARGEST_SPEED:
        power += 1
    known = [(k, max(1, _times_ten(rate, power))) for k, rate in table]
    speeds = dict(known)
    for (a, slow), (b, fast) in pairwise(known):
        for k in range(a + 1, b):
            speeds[k] = max(1, (b - a) * slow * fast // ((b - k) * fast + (k - a) * slow))
    row = np.array([speeds[k] for k in range(1, len(speeds) + 1)], dtype=np.int64)
    row.setflags(write=False)
    return dict(sorted(speeds.items())), row, max(speeds.values()), power


def _times_ten(rate: float, power: int) -> int:
    """Return a rate times a power of ten as the nearest whole number, the even one of two."""
    above, below = rate.as_integer_ratio()
    if power < 0:
        return round(Fraction(above, below * 10**-power))
    whole, rest = divmod(2 * above * int(10**power) + below, 2 * below)
    return whole - 1 if rest == 0 and whole % 2 else whole
