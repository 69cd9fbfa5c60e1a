"""Many groups at once: periods of all pairs of a list of jobs, and of a list of groups, in blocks of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.quantities import MAX_SECONDS, MICROSECONDS_PER_SECOND
from muri_opt.systems.muri.interleaving.patterns import Pattern, pattern_named
from muri_opt.systems.muri.interleaving.slot_layouts import Layout
from muri_opt.systems.muri.interleaving.stage_slots import Seats

MAX_MICROSECONDS = int(MAX_SECONDS) * MICROSECONDS_PER_SECOND
_PAIR_BLOCK = 1 << 16
_GROUP_BLOCK = 1 << 18
_AT_ONCE = 1 << 14
"""Groups whose periods are worked out together: as many as stay near to the processor."""
_FEW_ORDERS = 24
"""Orders of a layout up to which one is looked at after the other; a group of four jobs has no more."""


_NARROW = 1 << 31
"""Below this numbers fit 32 bits."""


class Periods(NamedTuple):
    """The periods of m groups in microseconds, and in which slot each of their p jobs begins.

    >>> group_periods(np.array([[[1, 2], [2, 1]]])).slots
    array([[0, 1]])
    """

    microseconds: Ints
    slots: Ints

    @property
    def orders(self) -> Ints:
        """Positions of the jobs of each group, by ascending slot."""
        return np.argsort(self.slots, axis=1)


def pair_periods(stages: Ints, pattern: str = "cyclic") -> Ints:
    """Return an n x n array of the least period, in microseconds, of every two of n jobs.

    ``stages[j, r]`` is the time of stage r of job j in whole microseconds. The array is symmetric; its diagonal holds
    the period of two equal jobs.

    >>> pair_periods(np.array([[1, 2], [2, 1]]))
    array([[4, 3],
           [3, 4]])
    """
    rule, (jobs, kinds) = pattern_named(pattern), _checked(stages, 2).shape
    slots = rule.checked_slots(kinds, "stages")
    rule.checked_jobs(2, slots, "stages", "stages")
    times = _in_unit(rule, stages)
    least = np.empty((jobs, jobs), dtype=np.int64)
    step = max(1, _PAIR_BLOCK // max(1, jobs))
    for first in range(0, jobs, step):
        rows = [times[first : first + step, r, None] for r in range(kinds)]
        columns = [times[None, first:, r] for r in range(kinds)]
        block = _best_of_pair(rule, slots, rows, columns)
        least[first : first + step, first:] = block
        least[first:, first : first + step] = block.T
    return least


def group_periods(stages: Ints, pattern: str = "cyclic", *, worst: bool = False) -> Periods:
    """Return the least periods of m groups of p jobs each, and the slots that reach them.

    ``stages[g, j, r]`` is the time of stage r of the j-th job of group g in whole microseconds. ``worst`` takes the
    greatest period instead, which is what a careless order costs. Of equally good ways the first counts, in the order
    of the slots that are taken and then of the jobs in them.

    >>> group_periods(np.array([[[1, 2], [2, 1]]])).microseconds
    array([3])
    """
    rule, (groups, jobs, kinds) = pattern_named(pattern), _checked(stages, 3).shape
    slots = rule.checked_slots(kinds, "stages")
    rule.checked_jobs(jobs, slots, "stages", "stages")
    times = _in_unit(rule, stages)
    found = Periods(np.empty(groups, dtype=np.int64), np.empty((groups, jobs), dtype=np.int64))
    layouts = rule.layouts(jobs, slots)
    ways = max(len(layout.orders) for layout in layouts)
    step = max(1, _GROUP_BLOCK // (ways * jobs * kinds))
    for first in range(0, groups, step):
        block = np.ascontiguousarray(np.moveaxis(times[first : first + step], 0, 2))
        periods, places = _best_of_block(rule, slots, layouts, block, worst)
        found.microseconds[first : first + step] = _in_microseconds(rule, periods)
        found.slots[first : first + step] = places
    return found


def periods_alone(stages: Ints, pattern: str = "cyclic", *, worst: bool = False) -> Ints:
    """Return the periods of :func:`group_periods` without the slots that reach them, in a fraction of the time.

    >>> periods_alone(np.array([[[1, 2], [2, 1]]]))
    array([3])
    """
    groups, jobs, kinds = _checked(stages, 3).shape
    rows = np.arange(groups * jobs).reshape(groups, jobs)
    return periods_of_rows(stages.reshape(groups * jobs, kinds), rows, pattern, worst=worst)


def periods_of_rows(stages: Ints, groups: Ints, pattern: str = "cyclic", *, worst: bool = False) -> Ints:
    """Return the same of groups of one size, a row of jobs each, whose stage times are a row each.

    >>> periods_of_rows(np.array([[1, 2], [2, 1]]), np.array([[0, 1], [1, 1]]))
    array([3, 4])
    """
    rule, kinds, (count, jobs) = pattern_named(pattern), _checked(stages, 2).shape[1], groups.shape
    slots = rule.checked_slots(kinds, "stages")
    rule.checked_jobs(jobs, slots, "stages", "stages")
    layouts = rule.layouts(jobs, slots)
    if max(len(layout.orders) for layout in layouts) > _FEW_ORDERS:
        return group_periods(stages[groups], pattern, worst=worst).microseconds
    found, better = np.empty(count, dtype=np.int64), np.maximum if worst else np.minimum
    times = np.ascontiguousarray(_in_unit(rule, stages).T)
    if not rule.in_seconds and int(stages.max(initial=0)) * 4 * slots < _NARROW:  # no period has as many stages
        times = times.astype(np.int32)
    for first in range(0, count, _AT_ONCE):
        block = times.take(groups[first : first + _AT_ONCE].T, axis=1).swapaxes(0, 1)
        every = (rule.periods(seats) for seats in _ways_to_sit(layouts, slots, block))
        found[first : first + _AT_ONCE] = _in_microseconds(rule, reduce(better, every))
    return found


def _ways_to_sit(layouts: tuple[Layout, ...], slots: int, block: NDArray[Any]) -> Iterator[Seats]:
    """Yield the seats of each order; ``block[j, r]`` holds stage r of the j-th jobs of all groups."""
    for layout in layouts:
        for order in layout.orders.tolist():
            seats: list[Any] = [None] * slots
            for slot, job in zip(layout.slots, order, strict=True):
                seats[slot] = block[job]
            yield seats


def _best_of_pair(rule: Pattern, slots: int, rows: list[Any], columns: list[Any]) -> Ints:
    least: Any = None
    for layout in rule.layouts(2, slots):
        for order in layout.orders:
            seats: list[Any] = [None] * slots
            for slot, job in zip(layout.slots, order, strict=True):
                seats[slot] = (rows, columns)[job]
            periods = rule.periods(seats)
            least = periods if least is None else np.minimum(least, periods)
    return _in_microseconds(rule, least)


def _best_of_block(
    rule: Pattern, slots: int, layouts: tuple[Layout, ...], block: NDArray[Any], worst: bool
) -> tuple[NDArray[Any], Ints]:
    """Return best period and slots of each group; ``block[j, r]`` holds stage r of the j-th jobs of all its groups."""
    jobs, kinds, groups = block.shape
    sign = -1 if worst else 1
    best: Any = None
    places = np.empty((groups, jobs), dtype=np.int64)
    for layout in _portions(layouts, max(1, _GROUP_BLOCK // (jobs * kinds * groups))):
        seats: list[Any] = [None] * slots
        for place, slot in enumerate(layout.slots):
            seated = block[layout.orders[:, place]]
            seats[slot] = [seated[:, r] for r in range(kinds)]
        periods = sign * rule.periods(seats)
        which = periods.argmin(axis=0)
        periods = periods[which, np.arange(groups)]
        better = np.ones(groups, dtype=bool) if best is None else periods < best
        best = periods if best is None else np.where(better, periods, best)
        places[better] = layout.slots_of_jobs()[which[better]]
    return sign * best, places


def _portions(layouts: tuple[Layout, ...], most: int) -> Iterator[Layout]:
    """Yield the same orders, at most so many at a time: those of ten jobs at once would need gigabytes."""
    for layout in layouts:
        for first in range(0, len(layout.orders), most):
            yield Layout(layout.slots, layout.orders[first : first + most])


def _checked(stages: Any, axes: int) -> Ints:
    """Return the array if it holds what it should: a wrong entry is named by its place."""
    if not isinstance(stages, np.ndarray) or stages.dtype != np.int64 or stages.ndim != axes:
        kind = f"{stages.ndim} axes of {stages.dtype}" if isinstance(stages, np.ndarray) else shown(stages)
        raise InputError("stages", kind, f"a numpy array with {axes} axes of int64, in microseconds")
    if int(stages.min(initial=0)) < 0 or int(stages.max(initial=0)) > MAX_MICROSECONDS:
        wrong = (stages < 0) | (stages > MAX_MICROSECONDS)
        place = tuple(int(axis) for axis in np.unravel_index(int(wrong.argmax()), wrong.shape))
        where = "".join(f"[{position}]" for position in place)
        allowed = f"whole microseconds from 0 to {MAX_MICROSECONDS:,}"
        raise InputError(f"stages{where}", str(stages[place]), allowed)
    good: Ints = stages
    return good


def _in_unit(rule: Pattern, stages: Ints) -> NDArray[Any]:
    return stages / MICROSECONDS_PER_SECOND if rule.in_seconds else stages


def _in_microseconds(rule: Pattern, periods: NDArray[Any]) -> Ints:
    """Return whole microseconds; of a period in float seconds only the rounding of its sums is taken off."""
    if not rule.in_seconds:
        return periods.astype(np.int64, copy=False)
    whole: Ints = np.rint(periods * MICROSECONDS_PER_SECOND).astype(np.int64)
    return whole
