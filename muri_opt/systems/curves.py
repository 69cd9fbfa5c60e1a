"""Scaling tables as whole numbers: what a job's speed is with every number of GPUs, and how long it still takes.

Speeds are whole numbers of at most 2**30, so that every comparison of two speeds times two speeds fits 64 bits and is
exact. A table is scaled by a power of ten that leaves nine digits: the numbers people write survive unchanged, and
only ratios within one table matter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Job
from muri_opt.rounds.kept_by_object import KeptByObject
from muri_opt.rounds.memoise import last_recalled
from muri_opt.rounds.quantities import microseconds

Ints = NDArray[np.int64]
NEVER: Final = 1 << 62
"""The remaining time of a job without a GPU, in microseconds."""
MOST_SPEED: Final = 1 << 30

_DIGITS_OF_A_SECOND: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One scaling table: ``speeds[k]`` with k GPUs, in units of 10**-``digits`` iterations a second."""

    speeds: tuple[int, ...]
    digits: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curves:
    """The curves of a round's jobs.

    ``speed[j, k]`` is job j's speed with k GPUs, 0 at k = 0 and beyond ``cap[j]``, the largest share that is of use to
    it: the largest GPU count of its table, at most the cluster's. ``unit[j]`` is the time of one iteration at speed 1,
    in microseconds. Speeds need not grow with k, and gains need not shrink: measured curves do neither.

    >>> round_ = shipped_round("toy/three-elastic")
    >>> Curves.of(round_.jobs, round_.cluster.total_gpus).cap
    array([3, 4, 4])
    """

    speed: Ints
    cap: Ints
    unit: tuple[int, ...]

    @classmethod
    def of(cls, jobs: Sequence[Job], most_gpus: int) -> Curves:
        """Return the curves of ``jobs`` on a cluster of ``most_gpus`` GPUs; a job that has none is refused.

        The same jobs asked for again are not looked at again.
        """
        return _curves(tuple(jobs), most_gpus)

    def microseconds(self, work: Sequence[int]) -> Ints:
        """Return ``[j, k]``, the time job j needs for ``work[j]`` iterations with k GPUs, in whole microseconds.

        ``NEVER`` with no GPU and beyond the job's cap; anything else is below ``NEVER``.
        """
        time = np.full(self.speed.shape, NEVER, dtype=np.int64)
        amounts = self._amounts(work)
        large = [j for j, amount in enumerate(amounts) if amount >= NEVER]
        total = np.array([amount if amount < NEVER else 0 for amount in amounts], dtype=np.int64)
        useful = self.speed > 0
        useful[large] = False
        np.floor_divide(total[:, None], self.speed, out=time, where=useful)
        for j in large:  # larger than 64 bits: Python's whole numbers
            for k in range(1, int(self.cap[j]) + 1):
                time[j, k] = min(NEVER - 1, amounts[j] // int(self.speed[j, k]))
        return time

    def alone(self, work: Sequence[int]) -> Ints:
        """Return the time that each job needs for ``work[j]`` iterations with one GPU, as :meth:`microseconds` does."""
        return self._at(work, self.speed[:, 1])

    def fastest(self, work: Sequence[int]) -> Ints:
        """Return the time that each job needs for ``work[j]`` iterations with the GPUs that make it fastest."""
        return self._at(work, self.speed.max(axis=1))

    def _at(self, work: Sequence[int], speed: Ints) -> Ints:
        pairs = zip(self._amounts(work), speed.tolist(), strict=True)
        return np.array([min(NEVER - 1, amount // each) if each else NEVER for amount, each in pairs], dtype=np.int64)

    def _amounts(self, work: Sequence[int]) -> list[int]:
        return [iterations * unit for iterations, unit in zip(work, self.unit, strict=True)]


_KNOWN: Final = KeptByObject[tuple[Ints, int]]()
"""Speeds and the time of an iteration of jobs, which keep their tables from round to round."""


@last_recalled
def _curves(jobs: tuple[Job, ...], most_gpus: int) -> Curves:
    rows, units = list[Ints](), list[int]()
    _KNOWN.expect(len(jobs))
    for position, job in enumerate(jobs):
        known = _known_curve(job, position)
        rows.append(known[0])
        units.append(known[1])
    cap = np.array([min(len(row) - 1, most_gpus) for row in rows], dtype=np.int64)
    width = int(cap.max(initial=1)) + 1
    speed = np.zeros((len(rows), width), dtype=np.int64)
    if rows:
        speed[np.arange(width) <= cap[:, None]] = np.concatenate([row[: most_gpus + 1] for row in rows])
    return Curves(speed=speed, cap=cap, unit=tuple(units))


def check_curves(jobs: Sequence[Job]) -> None:
    """Refuse the first job that has no curve."""
    for position, job in enumerate(jobs):
        _known_curve(job, position)


def _known_curve(job: Job, position: int) -> tuple[Ints, int]:
    """Return the speeds of a job and the time of an iteration, or refuse it by its place."""
    scale = job.iteration_seconds, job.gpus
    known = _KNOWN.get(job.scaling, scale)
    if known is None:
        try:
            table, row = _known_table(tuple((job.scaling or {}).items()))
            known = row, iteration_unit(job.gpus, job.iteration_seconds, table)
        except InputError as error:
            raise error.inside(f"jobs[{position}] ({job.id!r})") from None
        _KNOWN.put(job.scaling, scale, known)
    return known


@lru_cache(maxsize=3 << 12)  # the jobs of a large round; more would only keep those that have ended
def _known_table(entries: tuple[tuple[int, float], ...]) -> tuple[Table, Ints]:
    """Return the table of these entries, and its speeds as an array; most jobs of a round were in the one before it."""
    table = scaling_table(dict(entries))
    row = np.array(table.speeds, dtype=np.int64)
    row.setflags(write=False)
    return table, row


def scaling_table(scaling: Mapping[int, float]) -> Table:
    """Return the speeds with 0, 1, 2, ... GPUs, missing counts interpolated linearly in iteration time.

    An empty table is refused, and one without an entry for one GPU: below its smallest count there is nothing to
    interpolate from.

    >>> scaling_table({1: 1.0, 4: 2.0}).speeds
    (0, 100000000, 120000000, 150000000, 200000000)
    """
    counts = sorted(scaling)
    if not counts:
        raise InputError("scaling", "nothing", "a table of GPU counts with their throughput")
    if counts[0] != 1:
        raise InputError("scaling", f"no entry for 1 GPU (the smallest is {counts[0]})", "a table that starts at 1 GPU")
    digits = _digits(max(scaling.values()))
    known = {gpus: rounded(scaling[gpus], digits) or 1 for gpus in counts}
    speeds = [0, known[1]]
    for a, b in pairwise(counts):
        low, high = known[a], known[b]
        whole = (b - a) * low * high
        speeds += [whole // ((b - k) * high + (k - a) * low) or 1 for k in range(a + 1, b)]
        speeds.append(high)
    return Table(speeds=tuple(speeds), digits=digits)


CLEARLY: Final = 1e-6
"""By which part floats have to be apart to tell without exact numbers which is larger."""


def _digits(most: float) -> int:
    """Return the largest d, which may be negative, with ``most`` x 10**d rounded at most ``MOST_SPEED``."""
    digits = math.floor(math.log10(MOST_SPEED) - math.log10(most)) if most > 0 else 0  # at most one off
    if 1e-200 < most < 1e200 and MOST_SPEED * (0.1 + CLEARLY) < most * 10.0**digits < MOST_SPEED * (1 - CLEARLY):
        return digits
    while rounded(most, digits) > MOST_SPEED:
        digits -= 1
    while rounded(most, digits + 1) <= MOST_SPEED:
        digits += 1
    return digits


def rounded(rate: float, digits: int) -> int:
    """Return ``rate`` x 10**``digits`` rounded to the nearest whole number, the even one if there are two."""
    numerator, denominator = rate.as_integer_ratio()
    if digits >= 0:
        numerator *= 10**digits
    else:
        denominator *= 10**-digits
    whole, rest = divmod(numerator, denominator)
    return whole + (2 * rest > denominator or (2 * rest == denominator and whole % 2 == 1))


def iteration_unit(gpus: int, seconds: float | None, table: Table) -> int:
    """Return the microseconds one iteration takes at speed 1.

    A job that says how many ``seconds`` an iteration takes on its ``gpus`` fixes the scale of its table; otherwise
    throughput is iterations a second.
    """
    if seconds is None:
        return int(10 ** (_DIGITS_OF_A_SECOND + table.digits))
    if seconds == 0:
        raise InputError("iteration_seconds", "0", "a time above 0, or none")
    largest = len(table.speeds) - 1
    if not 1 <= gpus <= largest:
        raise InputError(
            "gpus",
            str(gpus),
            f"a GPU count from 1 to {largest}, within scaling: iteration_seconds is measured there",
        )
    return microseconds(seconds) * table.speeds[gpus]
