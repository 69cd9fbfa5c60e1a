"""Every way to run of very many jobs is a row of arrays: what they are worth, and a bound by a price of a GPU.

The rows, the price and the sum are those of :func:`~muri_opt.verify.deadline.optimum.priced_bound`; only how they are
worked out differs. What the best row of a job is worth above its price is first looked for in floats, and all rows that
come near are compared in whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Job, Round
from muri_opt.verify.afs.share_tables import ShareTables
from muri_opt.verify.amounts import Room, beyond_floats, empty_rooms, micro, need_of
from muri_opt.verify.deadline.open_parts import most_gpus_of_each
from muri_opt.verify.deadline.shares import shares_of
from muri_opt.verify.deadline.value import Values, work_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_HALVINGS: Final = 50
"""Steps in which a price is looked for."""
_NEAR: Final = 1e-9
"""Rows that differ by less than this part of the largest amount are compared in whole numbers."""
_LARGEST: Final = 1 << 62
_NONE: Final = np.zeros(0, dtype=np.int64)
_ONE: Final = np.ones(1, dtype=np.int64)


def price_of(total: int, gpus: Floats, worth: Floats, first: Ints) -> int:
    """Return the price of a GPU at which jobs want about as many as there are; job j has the rows from ``first[j]``."""
    low, high = 0.0, float((worth / gpus).max(initial=0.0))
    counts = np.diff(first, append=len(gpus))
    for _ in range(_HALVINGS if len(first) else 0):
        price = (low + high) / 2
        above = worth - price * gpus
        best = np.maximum(0.0, np.maximum.reduceat(above, first))
        chosen = (above >= np.repeat(best, counts)) & (above > 0)
        most = np.maximum.reduceat(np.where(chosen, gpus, 0.0), first).sum()
        low, high = (price, high) if most > total else (low, price)
    return int(high)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """Row i: job ``job[i]`` with ``gpus[i]`` GPUs is worth ``speed[i]`` times ``unit`` and, if ``keeps[i]``, more.

    ``unit`` and what it is worth to be ``in_time`` are those of each job, in whole numbers of any size.
    """

    job: Ints
    gpus: Ints
    speed: Ints
    keeps: NDArray[np.bool_]
    unit: Sequence[int]
    in_time: Sequence[int]

    def tables(self) -> ShareTables | None:
        """Return what the ways of each job are worth by GPUs; ``None`` beyond machine words."""
        speed = int(self.speed.max(initial=0))
        if max(self.unit, default=0) * speed + max(self.in_time, default=0) >= _LARGEST:
            return None
        unit, in_time = _of_each(self.unit), _of_each(self.in_time)
        value = unit[self.job] * self.speed + np.where(self.keeps, in_time[self.job], 0)
        return ShareTables(len(self.unit), self.job, self.gpus, value)

    def in_units(self) -> ShareTables | None:
        """Return the same of each job in its own unit, of which all its values are multiples."""
        in_time = [worth // unit for worth, unit in zip(self.in_time, self.unit, strict=True)]
        if int(self.speed.max(initial=0)) + max(in_time, default=0) >= _LARGEST:
            return None
        value = self.speed + np.where(self.keeps, _of_each(in_time)[self.job], 0)
        return ShareTables(len(self.unit), self.job, self.gpus, value)

    def priced(self, total: int) -> int:
        """Return what no choice of one row or none of each job within so many GPUs is worth more than."""
        if not len(self.job):
            return 0
        first = np.flatnonzero(np.diff(self.job, prepend=-1))
        shift = beyond_floats(max((*self.unit, *self.in_time)))
        unit, in_time = (np.array([float(one >> shift) for one in some]) for some in (self.unit, self.in_time))
        gpus = self.gpus.astype(np.float64)
        worth = self.speed * unit[self.job] + np.where(self.keeps, in_time[self.job], 0.0)
        price = price_of(total, gpus, worth, first)
        above, counts = worth - price * gpus, np.diff(first, append=len(gpus))
        scale = np.maximum.reduceat(worth + price * gpus, first)
        near = above >= np.repeat(np.maximum.reduceat(above, first) - _NEAR * scale, counts)
        price, best = price << shift, dict[int, int]()
        columns = (self.job, self.gpus, self.speed, self.keeps)
        for job, size, speed, keeps in zip(*(column[near].tolist() for column in columns), strict=True):
            value = self.unit[job] * speed + (self.in_time[job] if keeps else 0) - price * size
            best[job] = max(best.get(job, 0), value)
        return price * total + sum(best.values())


def all_rows(round_: Round, values: Values) -> Rows | None:
    """Return every way to run of the jobs of a round, wherever they are; ``None`` beyond machine words."""
    jobs, interval, now = round_.jobs, values.interval, micro(round_.now)
    curves, sizes = shares_of(round_).of_all()
    counts = [len(some) for some in sizes]
    left = _of_each([-1 if job.deadline is None else micro(job.deadline) - now for job in jobs])
    restart = _of_each([micro(job.restart_seconds or 0.0) if job.state == "running" else 0 for job in jobs])
    works = [work_of(job, curve) if ahead else 0 for job, curve, ahead in zip(jobs, curves, left >= 0, strict=True)]
    of = np.repeat(np.arange(len(jobs)), counts)
    rate = np.concatenate(
        [_NONE, *(_ONE if curve is None else curve.row[:n] for curve, n in zip(curves, counts, strict=True))]
    )
    first, gang = np.cumsum([0, *counts])[:-1], np.array([curve is None for curve in curves], dtype=np.bool_)
    asks = _of_each([job.gpus for job in jobs])
    gpus = np.where(gang[of], asks[of], np.arange(len(of)) - first[of] + 1)
    speed = np.where(gang[of], 1000 * gpus, 1000 * rate // rate[first[of]] if len(of) else rate)
    if int(speed.max(initial=0)) * interval >= _LARGEST:
        return None
    same, rooms = gpus == _of_each([_home(round_, job) for job in jobs])[of], empty_rooms(round_)
    here = same & np.array([holds_home(round_, rooms, job) for job in jobs], dtype=np.bool_)[of]
    moved = speed * (interval - np.minimum(restart, interval)[of]) // interval
    stays = np.array([job.stays for job in jobs], dtype=np.bool_)
    may = (here | (gpus <= _of_each(most_gpus_of_each(round_))[of])) & (same | ~stays[of])
    spare = left[of] - np.where(here, 0, restart[of])
    soonest = [
        work // (1 if curve is None else curve.most_speed(n))
        for work, curve, n in zip(works, curves, counts, strict=True)
    ]
    known = [values.weights(job.id) for job in jobs]
    waits = zip(left.tolist(), restart.tolist(), soonest, strict=True)
    can_wait = [ahead >= 0 and interval + again + least <= ahead for ahead, again, least in waits]
    return Rows(
        job=of[may].astype(np.int64),
        gpus=gpus[may],
        speed=np.where(here, speed, moved)[may],
        keeps=((left[of] >= 0) & _done_within(works, of, rate, spare))[may],
        unit=[unit for unit, _, _ in known],
        in_time=[worth + (0 if later else saved) for (_, worth, saved), later in zip(known, can_wait, strict=True)],
    )


def _done_within(works: Sequence[int], of: Ints, rate: Ints, spare: Ints) -> NDArray[np.bool_]:
    """Return which rows are done in their spare time: whose job has less work than is done in a microsecond more.

    It is told in floats, and where these are near to each other in whole numbers.
    """
    work, done = np.array([float(one) for one in works])[of], (spare + 1.0) * rate
    found = work < done
    for row in np.flatnonzero((spare >= 0) & (np.abs(work - done) <= _NEAR * (work + done))).tolist():
        found[row] = works[of[row]] < (int(spare[row]) + 1) * int(rate[row])
    return found


def holds_home(round_: Round, rooms: Sequence[Room], job: Job) -> bool:
    """Return whether the empty nodes hold what a job has now, if it may keep that."""
    home, index, need = shares_of(round_).home(job), round_.cluster.node_index, need_of(job)
    return home is not None and all(
        rooms[index[node]].holds(need._replace(gpus=gpus)) >= gpus for node, gpus in home.items()
    )


def _home(round_: Round, job: Job) -> int:
    """Return the GPUs with which a job may stay as it is, or 0."""
    held = shares_of(round_).home(job)
    return 0 if held is None else sum(held.values())


def _of_each(numbers: Sequence[int]) -> Ints:
    return np.array(numbers, dtype=np.int64)
