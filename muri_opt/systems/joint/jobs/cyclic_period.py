"""The period of jobs that take turns at the stages: in each slot every job is at another stage."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Slots = tuple[int, ...]
_FEW = 1_000
"""Groups up to which all their ways are looked at in one array."""


@lru_cache(maxsize=64)
def start_slots(jobs: int, slots: int) -> tuple[Slots, ...]:
    """Return in which slots jobs may begin, the first of them in slot 0: turning the cycle changes nothing.

    >>> start_slots(2, 3)
    ((0, 1), (0, 2))
    """
    return tuple((0, *others) for others in permutations(range(1, slots), jobs - 1))


def least_period(stages: list[NDArray[Any]]) -> NDArray[Any]:
    """Return the least period of groups; ``stages[j][r]`` are the times of stage r of their j-th jobs.

    A slot lasts as long as the longest stage in it.

    >>> least_period([np.array([1, 2]), np.array([2, 1])]).tolist()
    3
    """
    return _least(stages, start_slots(len(stages), len(stages[0])))


def _least(stages: list[NDArray[Any]], ways: Sequence[Slots]) -> NDArray[Any]:
    """Return the least period of groups that begin in one of the ways."""
    if not ways:
        raise ValueError(f"{len(stages)} jobs have no slots of their own in a cycle of {len(stages[0])}")
    shape, word = np.broadcast_shapes(*(times.shape[1:] for times in stages)), np.result_type(*stages)
    if prod(shape) <= _FEW and all(times.ndim == len(shape) + 1 for times in stages):
        return _least_of_few(stages, ways, word)
    found, other, longest = (np.empty(shape, dtype=word) for _ in range(3))  # to make large ones takes longer than this
    _period(stages, ways[0], found, longest)
    for starts in ways[1:]:
        np.minimum(found, _period(stages, starts, other, longest), out=found)
    return found


@lru_cache(maxsize=64)
def _stage_in_slot(ways: tuple[Slots, ...], slots: int) -> NDArray[np.int64]:
    """Return ``[j, w, i]``, the stage of the j-th job in slot i where jobs begin in the w-th way."""
    found: NDArray[np.int64] = (np.arange(slots) - np.array(ways).T[:, :, None]) % slots
    return found


def _least_of_few(stages: list[NDArray[Any]], ways: Sequence[Slots], word: np.dtype[Any]) -> NDArray[Any]:
    """Return the same with all ways and slots in one array: of few groups the calls take longer than the numbers."""
    first, *others = zip(stages, _stage_in_slot(tuple(ways), len(stages[0])), strict=True)
    longest = first[0][first[1]]
    for times, stage in others:
        longest = np.maximum(longest, times[stage])
    least: NDArray[Any] = longest.sum(axis=1, dtype=word).min(axis=0)
    return least


def least_pair_period(stages: NDArray[Any]) -> NDArray[Any]:
    """Return ``[..., i, j]``, the least periods of every two jobs; ``stages[r, ..., i]`` are the times of their stages.

    One job begins d slots after another where the other begins as many before it, so that half of the ways are enough.

    >>> least_pair_period(np.array([[1, 2], [2, 1]])).tolist()
    [[4, 3], [3, 4]]
    """
    slots = len(stages)
    both = [stages[..., :, None], stages[..., None, :]]
    one_way = _least(both, start_slots(2, slots)[: slots // 2])
    both_ways: NDArray[Any] = np.minimum(one_way, np.swapaxes(one_way, -1, -2))
    return both_ways


def best_orders(stages: NDArray[Any]) -> tuple[list[int], list[tuple[int, ...]]]:
    """Return the least periods of groups, and the positions of their jobs by ascending slot.

    ``stages[u, j, r]`` are the times of stage r of the j-th job of group u. Of equal starts the first are taken.

    >>> best_orders(np.array([[[1, 2], [2, 1]]]))
    ([3], [(0, 1)])
    """
    turned = [np.moveaxis(stages[:, job], -1, 0) for job in range(stages.shape[1])]
    ways = start_slots(stages.shape[1], stages.shape[2])
    periods, longest = np.empty((len(ways), len(stages)), dtype=stages.dtype), np.empty(len(stages), dtype=stages.dtype)
    for starts, total in zip(ways, periods, strict=True):
        _period(turned, starts, total, longest)
    orders = [tuple(sorted(range(len(starts)), key=starts.__getitem__)) for starts in ways]
    return periods.min(axis=0).tolist(), [orders[way] for way in periods.argmin(axis=0).tolist()]


def best_order(stages: list[tuple[int, ...]]) -> tuple[int, tuple[int, ...]]:
    """Return the least period of one group, and the positions of its jobs by ascending slot.

    >>> best_order([(1, 2), (2, 1)])
    (3, (0, 1))
    """
    (period,), (order,) = best_orders(np.array([stages], dtype=object))
    return period, order


def _period(stages: Sequence[NDArray[Any]], starts: Slots, total: NDArray[Any], longest: NDArray[Any]) -> NDArray[Any]:
    """Return the periods of groups that begin in such slots, in ``total``; ``longest`` is room for one slot of them."""
    for slot in range(len(stages[0])):
        first, *others = [
            times[slot - start] for times, start in zip(stages, starts, strict=True)
        ]  # below 0: from the end
        for times in others[:-1]:
            first = np.maximum(first, times)
        last = others[-1] if others else first
        if slot:
            np.maximum(first, last, out=longest)
            np.add(total, longest, out=total)
        else:
            np.maximum(first, last, out=total)
    return total
