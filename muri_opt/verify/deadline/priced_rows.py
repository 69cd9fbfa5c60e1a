"""A bound by a price of a GPU for very many jobs: every way to run is a row of arrays.

The rows, the price and the sum are those of :func:`~muri_opt.verify.deadline.optimum.priced_bound`; only how they are
worked out differs. What the best row of a job is worth above its price is first looked for in floats, and all rows that
come near are compared in whole numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.verify.amounts import Need, empty_rooms, need_of
from muri_opt.verify.deadline.value import Ahead, Values, home_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_HALVINGS: Final = 50
"""Steps in which a price is looked for."""
_NEAR: Final = 1e-9
"""Rows that differ by less than this part of the largest amount are compared in whole numbers."""
_LARGEST: Final = 1 << 62


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

    def priced(self, total: int) -> int:
        """Return what no choice of one row or none of each job within so many GPUs is worth more than."""
        if not len(self.job):
            return 0
        first = np.flatnonzero(np.diff(self.job, prepend=-1))
        unit, in_time = (np.array([float(one) for one in some]) for some in (self.unit, self.in_time))
        gpus = self.gpus.astype(np.float64)
        worth = self.speed * unit[self.job] + np.where(self.keeps, in_time[self.job], 0.0)
        price = price_of(total, gpus, worth, first)
        above, counts = worth - price * gpus, np.diff(first, append=len(gpus))
        scale = np.maximum.reduceat(worth + price * gpus, first)
        near = above >= np.repeat(np.maximum.reduceat(above, first) - _NEAR * scale, counts)
        best: dict[int, int] = {}
        columns = (self.job, self.gpus, self.speed, self.keeps)
        for job, size, speed, keeps in zip(*(column[near].tolist() for column in columns), strict=True):
            value = self.unit[job] * speed + (self.in_time[job] if keeps else 0) - price * size
            best[job] = max(best.get(job, 0), value)
        return price * total + sum(best.values())


def all_rows(round_: Round, values: Values) -> Rows | None:
    """Return every way to run of the jobs of a round in which nobody asks for nodes; ``None`` beyond machine words."""
    known = [values.ahead(job.id) for job in round_.jobs]
    ones = [one for one, _, _ in known]
    counts = [len(one.speeds) for one in ones]
    of, gpus = np.repeat(np.arange(len(ones)), counts), _joined(one.speeds for one in ones)
    restart, interval = _of_each([one.restart for one in ones]), ones[0].interval if ones else 1
    home = _of_each([_home(round_, one) for one in ones])
    ends = _joined(one.ends.values() if one.ends else (_LARGEST,) * len(one.speeds) for one in ones)
    speed = _joined(one.speeds.values() for one in ones)
    if int(speed.max(initial=0)) * interval >= _LARGEST:
        return None
    here, left = gpus == home[of], _of_each([one.left for one in ones])[of]
    moved = speed * (interval - np.minimum(restart, interval)[of]) // interval
    in_time = (left >= 0) & (ends <= left - np.where(here, 0, restart[of]))
    stays = np.array([job.stays for job in round_.jobs], dtype=np.bool_)
    may = (here | (gpus <= _most_gpus(round_)[of])) & (here | ~stays[of])
    return Rows(
        job=of[may].astype(np.int64),
        gpus=gpus[may],
        speed=np.where(here, speed, moved)[may],
        keeps=in_time[may],
        unit=[unit for _, unit, _ in known],
        in_time=[worth for _, _, worth in known],
    )


def _home(round_: Round, one: Ahead) -> int:
    """Return the GPUs with which a job may stay as it is, or 0."""
    held = home_of(round_, one.job)
    return 0 if held is None else sum(held.values())


def _most_gpus(round_: Round) -> Ints:
    """Return how many GPUs of each job the empty cluster holds."""
    rooms, known = Counter(empty_rooms(round_)), dict[tuple[int, int], int]()
    found = []
    for job in round_.jobs:
        need = need_of(job)
        key = need.milli, need.mebibytes
        if key not in known:
            unit = Need(gpus=_LARGEST, milli=need.milli, mebibytes=need.mebibytes)
            known[key] = sum(room.holds(unit) * nodes for room, nodes in rooms.items())
        found.append(known[key])
    return _of_each(found)


def _of_each(numbers: Sequence[int]) -> Ints:
    return np.array(numbers, dtype=np.int64)


def _joined(parts: Iterable[Collection[int]]) -> Ints:
    """Return numbers one after another, none larger than ``_LARGEST``, which is longer than any time is asked for."""
    known = list(parts)
    try:
        joined = np.fromiter(chain.from_iterable(known), dtype=np.int64)
    except OverflowError:
        joined = np.array([min(number, _LARGEST) for part in known for number in part], dtype=np.int64)
    return np.minimum(joined, _LARGEST)
