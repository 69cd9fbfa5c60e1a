"""The verifier's own reading of scaling tables: speeds in whole numbers, and how long jobs still take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import floor, log10
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.kept_by_object import KeptByObject
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.afs.curves_at_once import rows_of_tables

Ints = NDArray[np.int64]
LARGEST_SPEED = 1 << 30
LONGEST = (1 << 62) - 1
"""Microseconds that stand for any longer time."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """Speeds of a job in whole numbers of nine digits, and the microseconds of an iteration at speed 1.

    ``row`` has the speeds with 1, 2, ... GPUs, and ``top`` is the largest.
    """

    unit: int
    row: Ints
    top: int

    @cached_property
    def speeds(self) -> Mapping[int, int]:
        """The speed with each number of GPUs."""
        return dict(enumerate(self.row.tolist(), 1))

    @classmethod
    def of(cls, job: Job) -> Curve:
        """Return the curve of a job; missing GPU counts are interpolated in iteration time."""
        return _curves([job])[0]

    @staticmethod
    def of_all(jobs: Sequence[Job]) -> list[Curve]:
        """Return the curves of many jobs, all that are asked for: new ones are read at once, all kept for the next."""
        _KNOWN.expect(len(jobs))
        return _curves(jobs)

    @classmethod
    def told(cls, job: Job, speeds: Speeds | None) -> Curve:
        """Return the curve of a job at the speeds of its table."""
        if speeds is None:
            raise InputError(f"job {job.id!r}.scaling", "no entry for 1 GPU", "a table that starts with 1 GPU")
        row, top, seconds = speeds.row, speeds.top, job.iteration_seconds
        if seconds is None:
            return cls(unit=10 ** (6 + speeds.digits) if speeds.digits >= -6 else 0, row=row, top=top)
        if not 1 <= job.gpus <= len(row) or seconds == 0:
            found = f"{seconds} s with {job.gpus} GPUs"
            allowed = "above 0, with a GPU count of its table"
            raise InputError(f"job {job.id!r}.iteration_seconds", found, allowed)
        return cls(unit=round(seconds * 1_000_000) * row.item(job.gpus - 1), row=row, top=top)

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
    return dict(zip([job.id for job in round_.jobs], Curve.of_all(round_.jobs), strict=True))


def _curves(jobs: Sequence[Job]) -> list[Curve]:
    def read(places: Sequence[int]) -> list[Curve]:
        some = [jobs[place] for place in places]
        every = speeds_of([job.scaling or {} for job in some])
        return [Curve.told(job, speeds) for job, speeds in zip(some, every, strict=True)]

    keys = [(id(job.scaling), job.gpus, job.iteration_seconds) for job in jobs]
    return _KNOWN.all_of(keys, [job.scaling for job in jobs], read)


class Speeds(NamedTuple):
    """The speeds of a table with 1, 2, ... GPUs, the largest of them, and the digits kept."""

    row: Ints
    top: int
    digits: int


def speeds_of(tables: Sequence[Mapping[int, float]]) -> list[Speeds | None]:
    """Return the speeds of many tables, in ascending order each; ``None`` for one that does not begin with 1 GPU.

    >>> [speeds.row.tolist() for speeds in speeds_of([{1: 0.5, 4: 1.0}])]
    [[500000000, 600000000, 750000000, 1000000000]]
    """
    every = zip(tables, rows_of_tables(tables, LARGEST_SPEED), strict=True)
    return [_alone(table) if told is None else Speeds(*told) for table, told in every]


def _alone(table: Mapping[int, float]) -> Speeds | None:
    """Return the speeds of one table, in exact numbers."""
    if not table or next(iter(table)) != 1:
        return None
    most = max(table.values())
    power = floor(log10(LARGEST_SPEED) - log10(most))  # near enough: at most one off
    while _times_ten(most, power) > LARGEST_SPEED:
        power -= 1
    while _times_ten(most, power + 1) <= LARGEST_SPEED:
        power += 1
    known = [(k, max(1, _times_ten(rate, power))) for k, rate in table.items()]
    speeds = dict(known)
    for (a, slow), (b, fast) in pairwise(known):
        for k in range(a + 1, b):
            speeds[k] = max(1, (b - a) * slow * fast // ((b - k) * fast + (k - a) * slow))
    row = np.array([speeds[k] for k in range(1, len(speeds) + 1)], dtype=np.int64)
    row.setflags(write=False)
    return Speeds(row, max(speeds.values()), power)


def _times_ten(rate: float, power: int) -> int:
    """Return a rate times a power of ten as the nearest whole number, the even one of two."""
    above, below = rate.as_integer_ratio()
    if power < 0:
        return round(Fraction(above, below * 10**-power))
    whole, rest = divmod(2 * above * int(10**power) + below, 2 * below)
    return whole - 1 if rest == 0 and whole % 2 else whole
