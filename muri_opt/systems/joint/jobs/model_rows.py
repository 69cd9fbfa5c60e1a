"""Models of many jobs at once, each as a row of whole numbers: what :func:`.job_model.model_of` says of one.

A row has the base of the stages, how many stages there are, their times, and then the periods from 0 GPUs on; a job
that never shares has ``NO_STAGES`` of them. As bytes of machine words rows are compared, kept and put together faster
than as numbers. Where some number is too large for a word, a row is a tuple.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Final, NamedTuple

import numpy as np

from muri_opt.rounds import Job
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND
from muri_opt.systems.curve_rows import EXACT_TENS, TENS, Bools, CurveRows, Units
from muri_opt.systems.joint.jobs.job_model import NANOSECONDS, UNSAID, JobModel
from muri_opt.systems.whole_quotients import MOST_QUOTIENT, Floats, Ints, quotient_up

Row = bytes | tuple[int, ...]
STAGES: Final = 2
"""Where the stages of a row begin: the base and their number are before them."""
NO_STAGES: Final = -1
LARGEST: Final = 1 << 62
"""Numbers below it are kept as machine words."""
_DIGITS_OF_A_SECOND: Final = 9
_WORD: Final = np.dtype(np.int64).itemsize
_TENS_IN_WORDS: Final = np.array([10**power % 2**64 for power in range(EXACT_TENS + 1)], dtype=np.uint64).view(np.int64)
_said = attrgetter("gpus", "iteration_seconds", "stage_seconds", "scaling")


def row_of(model: JobModel) -> Row:
    """Return the row of one model."""
    stages = (NO_STAGES,) if model.stages is None else (len(model.stages), *model.stages)
    numbers = (model.base, *stages, *model.period)
    return array("q", numbers).tobytes() if max(numbers) < LARGEST else numbers


def numbers_of(row: Row) -> tuple[int, ...]:
    """Return the numbers of a row."""
    return tuple(np.frombuffer(row, dtype=np.int64).tolist()) if isinstance(row, bytes) else row


def rows_of(jobs: Sequence[Job], *, full: bool, powers: bool) -> list[bytes | None]:
    """Return the rows of jobs without plans; ``None`` of one that is refused, or has to be read by itself.

    Their stages are those of one round, as many of each job that has some.
    """
    found: list[bytes | None] = [None] * len(jobs)
    fixed = [at for at, job in enumerate(jobs) if job.scaling is None]
    elastic = [at for at, job in enumerate(jobs) if job.scaling is not None]
    for places, periods_of in ((fixed, _fixed), (elastic, _elastic)):
        if places:
            said = _Said.of([jobs[at] for at in places])
            rows = _packed(said, periods_of(said, powers), full=full)
            for at, row in zip(places, rows, strict=True):
                found[at] = row
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Said:
    """What jobs say, in columns: ``seconds`` is not a number where it is not said, and times are nanoseconds."""

    gpus: Ints
    seconds: Floats
    shares: Bools
    stages: Ints
    tables: Sequence[Mapping[int, float] | None]

    @classmethod
    def of(cls, jobs: Sequence[Job]) -> _Said:
        """Return the columns of jobs."""
        gpus, seconds, times, tables = zip(*map(_said, jobs), strict=True)
        shares = np.array([own is not None for own in times], dtype=np.bool_)
        said = [own for own in times if own is not None]
        stages = np.zeros((len(jobs), len(said[0]) if said else 0), dtype=np.int64)
        every = np.fromiter(chain.from_iterable(said), dtype=np.float64, count=len(said) * stages.shape[1])
        stages[shares] = _nanoseconds(every.reshape(len(said), stages.shape[1]))
        return cls(
            gpus=np.array(gpus, dtype=np.int64),
            seconds=np.array(seconds, dtype=np.float64),
            shares=shares,
            stages=stages,
            tables=tables,
        )

    @property
    def timed(self) -> Bools:
        """Which of them say how long an iteration takes."""
        return ~np.isnan(self.seconds)

    @property
    def nanoseconds(self) -> Ints:
        """How long an iteration takes, 0 where it is not said."""
        return _nanoseconds(np.nan_to_num(self.seconds))

    @property
    def in_all(self) -> Ints:
        """How long all stages take."""
        return np.asarray(self.stages.sum(axis=1))

    @property
    def plain(self) -> Bools:
        """Which of them say nothing that is refused, with stages that a word has room for."""
        small = self.stages.sum(axis=1, dtype=np.float64) < LARGEST
        return np.asarray(small & (self.gpus >= 1) & (self.seconds != 0) & ~(self.shares & (self.in_all == 0)))


class _Periods(NamedTuple):
    """Periods of jobs: ``length[i]`` of job i from 0 GPUs on, none where it is not ``plain``.

    ``alone[i]`` is that with the GPUs it asks for, 0 where it cannot have them. ``write`` puts those of each job into
    an array of zeros, from a place in it on; it leaves out a job whose place is below 0.
    """

    plain: Bools
    length: Ints
    alone: Ints
    write: Callable[[Ints, Ints], None]


def _fixed(said: _Said, _: bool) -> _Periods:
    """Return the periods of jobs that run with the GPUs they ask for."""
    plain, gpus = said.plain, said.gpus
    unsaid = np.where(said.shares, said.in_all, UNSAID)
    alone = np.where(said.timed, said.nanoseconds, unsaid)

    def write(numbers: Ints, begin: Ints) -> None:
        numbers[(begin + gpus)[plain]] = alone[plain]

    return _Periods(plain, np.where(plain, gpus + 1, 0), alone, write)


def _elastic(said: _Said, powers: bool) -> _Periods:
    """Return the periods of jobs that scale: those of their tables, which an iteration's time sets if it is said.

    ``powers`` leaves them 1, 2, 4, ... GPUs.
    """
    rows = CurveRows.of([table for table in said.tables if table is not None])
    timed, asked = said.timed, rows.speeds(said.gpus)
    within = asked > 0
    tens = _DIGITS_OF_A_SECOND + rows.digits
    plain = rows.plain & said.plain & (within | ~(timed | said.shares)) & (timed | (tens <= EXACT_TENS))
    set_by = np.where(timed & within, asked, 1)
    tens = np.where(timed | ~plain, 0, tens)
    units = Units(
        np.where(timed, said.nanoseconds, _TENS_IN_WORDS[tens]) * set_by,
        np.where(timed, said.nanoseconds.astype(np.float64), TENS[tens]) * set_by,
    )
    plain &= units.about < rows.slowest * float(MOST_QUOTIENT)
    has = plain & within
    alone = np.zeros(len(asked), dtype=np.int64)
    alone[has] = quotient_up(units.whole[has], units.about[has], asked[has])

    def write(numbers: Ints, begin: Ints) -> None:
        rows.write_periods(numbers, begin, units, powers=powers)

    return _Periods(plain, np.where(plain, rows.length, 0), alone, write)


def _packed(said: _Said, periods: _Periods, *, full: bool) -> list[bytes | None]:
    """Return the rows of jobs with these periods; ``full`` lets stages fill the iteration."""
    plain, length = periods.plain, periods.length[periods.plain]
    shares, stages, alone = said.shares[plain], said.stages[plain], periods.alone[plain]
    count = stages.shape[1]
    head = STAGES + count * shares
    end = np.cumsum(head + length)
    begin = end - length - head
    numbers = np.zeros(int(end[-1]) if len(end) else 0, dtype=np.int64)
    numbers[begin] = np.where(shares, np.minimum(alone, said.in_all[plain]) if full else alone, 1)
    numbers[begin + 1] = np.where(shares, count, NO_STAGES)
    numbers[(begin[shares] + STAGES)[:, None] + np.arange(count)] = stages[shares]
    first = np.full(len(plain), -1, dtype=np.int64)
    first[plain] = begin + head
    periods.write(numbers, first)
    rows = iter(cut(numbers, end))
    return [next(rows) if well else None for well in plain.tolist()]


def cut(numbers: Ints, end: Ints) -> list[bytes]:
    """Return the rows of numbers that follow each other, by where each of them ends."""
    written, bounds = numbers.data.cast("B"), (_WORD * end).tolist()
    return [bytes(written[start:stop]) for start, stop in zip([0, *bounds], bounds, strict=False)]


def _nanoseconds(seconds: Floats) -> Ints:
    """Return whole nanoseconds of times that are in whole microseconds."""
    return np.asarray(np.rint(seconds * MICROSECONDS_PER_SECOND).astype(np.int64) * NANOSECONDS)
