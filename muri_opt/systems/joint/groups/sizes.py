"""How many GPUs each group gets, once it is known who shares: one price for a GPU, then the rest to the best use."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.jobs.job_model import Floats

_HALVINGS = 40
_FEW, _FEW_SIZES = 3, 12
"""Groups, and sizes between both ends of the price, up to which these are looked at one by one."""


def best_sizes(value: Floats, counts: Ints, gpus: int) -> tuple[Ints, float]:
    """Return which of the ``counts`` of GPUs each group gets, within ``gpus`` in all, and the price that led there.

    ``value[u, k]`` is what group u adds with ``counts[k]`` GPUs; ``counts[0]`` and ``value[u, 0]`` are 0. At the least
    price at which all that is asked for is there, every group has the size that is worth most to it; what is left goes
    where it adds most for each GPU.

    >>> best_sizes(np.array([[0.0, 5.0, 7.0], [0.0, 4.0, 5.0]]), np.array([0, 1, 2]), 3)[0].tolist()
    [2, 1]
    """
    price, chosen = price_of(value, counts, gpus)
    _fill(value, counts, chosen, gpus - int(counts[chosen].sum()))
    return chosen, price


def price_of(value: Floats, counts: Ints, gpus: int) -> tuple[float, Ints]:
    """Return the price by bisection, and which count each group asks for at it.

    No group asks for more GPUs where they are dearer: those that ask for the same at both ends are left out in time.
    """
    asked = value.argmax(axis=1)
    if int(counts[asked].sum()) <= gpus:
        return 0.0, asked
    low, high = 0.0, float((value[:, 1:].max(axis=0) / counts[1:]).max(initial=0.0)) * (1 + 1e-9) + 1e-300
    chosen = np.zeros(len(value), dtype=np.int64)
    if not gpus:  # at this price nobody asks for any
        return high, chosen
    open_, cheap, dear = np.arange(len(value)), asked, chosen.copy()
    left = gpus
    for turn in range(_HALVINGS):
        if len(open_) <= _FEW and int((cheap - dear).sum()) <= _FEW_SIZES:
            high, chosen[open_] = _price_of_few(value, counts, cheap, dear, left, (low, high), _HALVINGS - turn)
            break
        middle = (low + high) / 2
        asked = (value - middle * counts).argmax(axis=1)
        total = int(counts[asked].sum())
        if total <= left:
            high, dear = middle, asked
            chosen[open_] = asked
            if total == left:
                break
        else:
            low, cheap = middle, asked
        moves = cheap != dear
        if 3 * np.count_nonzero(moves) < 2 * len(moves):  # to leave out few takes longer than to look at them again
            left -= int(counts[dear[~moves]].sum())
            chosen[open_[~moves]] = dear[~moves]
            open_, value, cheap, dear = open_[moves], value[moves], cheap[moves], dear[moves]
    return high, chosen


def _price_of_few(
    value: Floats, counts: Ints, cheap: Ints, dear: Ints, left: int, ends: tuple[float, float], halvings: int
) -> tuple[float, list[int]]:
    """Return the same for few groups that have few sizes between those they ask for at both ends of the price.

    In plain numbers: of so few the calls take longer than what they do.
    """
    low, high = ends
    first, last = np.minimum(cheap, dear).tolist(), np.maximum(cheap, dear).tolist()  # rounding can turn them round
    options = [
        [(place, counts.item(place), own.item(place)) for place in range(start, end + 1)]
        for own, start, end in zip(value, first, last, strict=True)
    ]
    chosen: list[int] = dear.tolist()
    for _ in range(halvings):
        middle = (low + high) / 2
        asked = [max(own, key=lambda one: one[2] - middle * one[1]) for own in options]
        total = sum(count for _, count, _ in asked)
        if total <= left:
            high, chosen = middle, [place for place, _, _ in asked]
            if total == left:
                break
        else:
            low = middle
    return high, chosen


def _fill(value: Floats, counts: Ints, chosen: Ints, left: int) -> None:
    """Give away what is left, one step at a time, each where it adds most for a GPU.

    A group is looked at again where it got more, and where too little is left for what it would have got.
    """
    rows = np.arange(len(value))
    best, sizes = np.zeros(len(value)), np.zeros(len(value), dtype=np.int64)
    while left > 0 and len(value):
        best[rows], sizes[rows] = _next_sizes(value, counts, rows, chosen[rows], left)
        group = int(best.argmax())
        if best[group] <= 0:
            return
        left -= int(counts[sizes[group]] - counts[chosen[group]])
        chosen[group] = sizes[group]
        beyond = (best > 0) & (counts[sizes] - counts[chosen] > left)
        beyond[group] = True
        rows = np.flatnonzero(beyond)


def _next_sizes(value: Floats, counts: Ints, rows: Ints, chosen: Ints, left: int) -> tuple[Floats, Ints]:
    """Return what groups would gain for each GPU more by their best larger size, at most 0 if none has any, and that.

    Of larger sizes only so many can be within reach as GPUs are left.
    """
    sizes = np.minimum(chosen[:, None] + np.arange(1, 1 + min(left, len(counts) - 1)), len(counts) - 1)
    more = counts.take(sizes) - counts[chosen][:, None]
    gain = value.take(sizes + len(counts) * rows[:, None]) - value[rows, chosen][:, None]
    ratio = gain / np.maximum(more, 1)
    ratio[(more == 0) | (more > left)] = 0.0
    best = ratio.argmax(axis=1)
    every = np.arange(len(rows))
    return ratio[every, best], sizes[every, best]
