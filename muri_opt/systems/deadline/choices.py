"""Every way in which jobs may run, and what each is worth: the table that the heuristic and the program share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.capacity import Leftover
from muri_opt.systems.capacity.going_on import no_room_for
from muri_opt.systems.capacity.held_parts import held_parts
from muri_opt.systems.capacity.node_sets import NodeSets, node_sets
from muri_opt.systems.capacity.shares import flat
from muri_opt.systems.deadline.job_times import job_times

Bools = NDArray[np.bool_]
_LONGEST = 1 << 61
"""What a product of machine words may be."""
_NEAR = 1e-9
"""Amounts that differ by less than this part are compared in whole numbers."""
_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Choices:
    """Row i: job ``job[i]`` with ``gpus[i]`` GPUs, where it is now if ``home[i]``, else on nodes where it may start.

    Rows are in the order of jobs and GPUs, the one at home last. ``in_time[i]`` says whether the job keeps its deadline
    that way, ``speed[i]`` how fast it is. ``held`` are the GPUs per node of jobs that have a row at home, ``must`` the
    jobs that nobody may stop. ``least[j]`` are the fewest GPUs with which job j starts. ``sets`` says where jobs may
    start, ``None``: anywhere. The rows of job j begin at ``first[j]``.

    >>> round_ = shipped_round("toy/four-deadlines")
    >>> choices = Choices.of(round_, 300.0)
    >>> choices.gpus[choices.in_time]
    array([3, 4, 2, 3, 2])
    """

    job: Ints
    gpus: Ints
    home: Bools
    in_time: Bools
    speed: Ints
    held: dict[int, Ints]
    must: Ints
    least: Ints
    sets: NodeSets | None
    first: Ints
    kept: Ints
    """The GPUs of each node that all of ``held`` have."""

    @classmethod
    def of(cls, round_: Round, interval: float) -> Choices:
        """Return the ways in which the jobs of a round may run, if it is decided again after so many seconds.

        The same round is not gone through again.
        """
        return _choices(round_, interval)

    def of_job(self, job: int) -> range:
        """Return the rows of a job."""
        return range(int(self.first[job]), int(self.first[job + 1]))

    def row_of(self, job: int, share: Ints) -> int:
        """Return the row by which a job has these GPUs per node."""
        if self.is_home(job, share):
            return self.of_job(job)[-1]
        rows = self._away(job)
        return rows.start + int(np.searchsorted(self.gpus[rows.start : rows.stop], share.sum()))

    def row_with(self, job: int, gpus: int, *, home: bool) -> int | None:
        """Return the row by which a job has so many GPUs, where it is or elsewhere; ``None`` if there is none."""
        if home:
            last = self.of_job(job)[-1:]
            return last[0] if job in self.held and self.gpus[last[0]] == gpus else None
        rows = self._away(job)
        row = rows.start + int(np.searchsorted(self.gpus[rows.start : rows.stop], gpus))
        return row if row < rows.stop and self.gpus[row] == gpus else None

    def _away(self, job: int) -> range:
        """Return the rows of a job but the one at home."""
        return self.of_job(job)[: -1 if job in self.held else None]

    def is_home(self, job: int, share: Ints) -> bool:
        """Return whether a job that has these GPUs per node stays as it is."""
        held = self.held.get(job)
        return held is not None and bool((share == held).all())


@recalled
def _choices(round_: Round, interval: float) -> Choices:
    times, sets, span = job_times(round_), node_sets(round_), microseconds(interval)
    counts = [len(mine.sizes) for mine in times]
    begins, of = np.cumsum([0, *counts]), np.repeat(np.arange(len(times)), counts)
    gpus = np.fromiter(chain.from_iterable(mine.sizes for mine in times), dtype=np.int64)
    speed, rate = (np.concatenate([_NONE, *some]) for some in ([m.speed for m in times], [m.rate for m in times]))
    held, size_now, at_home = dict[int, Ints](), np.full(len(times), -1), list[int]()
    for place, now, size in _running(round_):
        size_now[place] = size
        if size in times[place].sizes:
            held[place] = now
            at_home.append(int(begins[place]) + times[place].sizes.index(size))
    pinned = "job.preemptible" in round_.used_fields
    must = np.array([place for place, job in enumerate(round_.jobs) if pinned and job.stays], dtype=np.int64)
    stays = np.zeros(len(times), dtype=np.bool_)
    stays[must] = True
    away = ~stays[of] | (gpus == size_now[of])
    if sets is not None:
        away &= np.array([bool(sets.of(place).sets) for place in range(len(times))], dtype=np.bool_)[of]
    taken = np.concatenate([np.flatnonzero(away), np.array(at_home, dtype=np.int64)])
    order = np.argsort(of[taken], kind="stable")  # of each job the row at home is the last
    taken, home = taken[order], order >= np.count_nonzero(away)
    rows = of[taken].astype(np.int64)
    restart = np.where(home, 0, np.array([mine.restart for mine in times], dtype=np.int64)[rows])
    spare = np.array([-1 if mine.spare is None else mine.spare for mine in times], dtype=np.int64)
    return Choices(
        job=rows,
        gpus=gpus[taken],
        home=home,
        in_time=_done_within([mine.work for mine in times], rows, rate[taken], spare[rows] - restart),
        speed=_worth(speed[taken], np.maximum(0, span - restart), span),
        held=held,
        must=must,
        least=np.array([mine.sizes[0] if mine.sizes else 1 for mine in times], dtype=np.int64),
        sets=sets,
        first=np.searchsorted(rows, np.arange(len(times) + 1)),
        kept=sum(held.values(), np.zeros_like(round_.amounts.G)),
    )


def _running(round_: Round) -> Iterator[tuple[int, Ints, int]]:
    """Yield the places of jobs that run and have lost nothing, the GPUs per node of each, and how many these are."""
    parts = held_parts(round_)
    places = [place for place, mine in enumerate(parts) if mine is not None]
    shares = np.zeros((len(places), len(round_.cluster.nodes)), dtype=np.int64)
    job, node, gpus = flat(parts[place] or () for place in places)
    shares[job, node] = gpus
    return zip(places, shares, shares.sum(axis=1).tolist(), strict=True)


def _done_within(works: Sequence[int], rows: Ints, rate: Ints, spare: Ints) -> Bools:
    """Return which rows are done in their spare time: whose job has less work than is done in a microsecond more.

    It is told in floats, and where these are near to each other in whole numbers.
    """
    work, done = np.array([float(one) for one in works])[rows], (spare + 1.0) * rate
    found: Bools = work < done
    for row in np.flatnonzero((spare >= 0) & (np.abs(work - done) <= _NEAR * (work + done))).tolist():
        found[row] = works[rows[row]] < (int(spare[row]) + 1) * int(rate[row])
    return found


def _worth(speed: Ints, works: Ints, interval: int) -> Ints:
    """Return speeds over an interval of which some jobs work a part only, in whole numbers of any size on the way."""
    if int(speed.max(initial=0)) * interval < _LONGEST:
        return speed * works // interval
    return np.array(speed.astype(object) * works.astype(object) // interval, dtype=np.int64)


def check_stays(round_: Round, choices: Choices, policy: str) -> None:
    """Refuse a job that nobody may stop and that cannot go on alone with the GPUs it has."""
    left = Leftover(round_)
    for job in choices.must.tolist():
        where = f"jobs[{job}] ({round_.jobs[job].id!r}).preemptible"
        if job not in choices.held:
            has = sum((round_.jobs[job].placement or {}).values())
            found = f"false, for a job that runs with {has} GPUs, which it cannot have"
            raise InputError(
                where, found, f"a job that may be stopped, or that the policy {policy!r} could give as many"
            )
        if (choices.held[job] > left.room(job)).any():
            raise no_room_for(round_, job, choices.held[job], left, policy)
        left.take(choices.held[job], job)
