"""How many GPUs each group gets, once it is known who shares: one price for a GPU, then the rest to the best use."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.job_model import Floats

_HALVINGS = 40


def best_sizes(value: Floats, counts: Ints, gpus: int) -> tuple[Ints, float]:
    """Return which of the ``counts`` of GPUs each group gets, within ``gpus`` in all, and the price that led there.

    ``value[u, k]`` is what group u adds with ``counts[k]`` GPUs; ``counts[0]`` and ``value[u, 0]`` are 0. At the least
    price at which all that is asked for is there, every group has the size that is worth most to it; what is left goes
    where it adds most for each GPU.

    >>> best_sizes(np.array([[0.0, 5.0, 7.0], [0.0, 4.0, 5.0]]), np.array([0, 1, 2]), 3)[0].tolist()
    [2, 1]
    """
    price, chosen = _price(value, counts, gpus)
    _fill(value, counts, chosen, gpus - int(counts[chosen].sum()))
    return chosen, price


def _price(value: Floats, counts: Ints, gpus: int) -> tuple[float, Ints]:
    """Return the price by bisection, and which count each group asks for at it.

    No group asks for more GPUs where they are dearer: one that asks for the same at both ends is not looked at again.
    """
    asked = value.argmax(axis=1)
    if int(counts[asked].sum()) <= gpus:
        return 0.0, asked
    low, high = 0.0, float((value[:, 1:] / counts[1:]).max(initial=0.0)) * (1 + 1e-9) + 1e-300
    chosen = np.zeros(len(value), dtype=np.int64)
    open_, cheap, dear = np.arange(len(value)), asked, chosen.copy()
    settled = 0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        asked = (value - middle * counts).argmax(axis=1)
        total = settled + int(counts[asked].sum())
        if total <= gpus:
            high, dear = middle, asked
            chosen[open_] = asked
            if total == gpus:
                break
        else:
            low, cheap = middle, asked
        moves = cheap != dear
        if not moves.all():
            settled += int(counts[dear[~moves]].sum())
            chosen[open_[~moves]] = dear[~moves]
            open_, value, cheap, dear = open_[moves], value[moves], cheap[moves], dear[moves]
    return high, chosen


def _fill(value: Floats, counts: Ints, chosen: Ints, left: int) -> None:
    """Give away what is left, one step at a time, each where it adds most for a GPU.

    A group is looked at again where it got more, and where too little is left for what it would have got.
    """
    rows = np.arange(len(value))
    best, sizes = np.zeros(len(value)), np.zeros(len(value), dtype=np.int64)
    while left > 0 and len(value):
        best[rows], sizes[rows] = _next_sizes(value[rows], counts, chosen[rows], left)
        group = int(best.argmax())
        if best[group] <= 0:
            return
        left -= int(counts[sizes[group]] - counts[chosen[group]])
        chosen[group] = sizes[group]
        beyond = (best > 0) & (counts[sizes] - counts[chosen] > left)
        beyond[group] = True
        rows = np.flatnonzero(beyond)


def _next_sizes(value: Floats, counts: Ints, chosen: Ints, left: int) -> tuple[Floats, Ints]:
    """Return what each group would gain for each GPU more by its best larger size, 0 if it has none, and that size.

    Of larger sizes only so many can be within reach as GPUs are left.
    """
    every = np.arange(len(value))
    sizes = np.minimum(chosen[:, None] + np.arange(1, 1 + min(left, len(counts) - 1)), len(counts) - 1)
    more = counts[sizes] - counts[chosen][:, None]
    gain = value[every[:, None], sizes] - value[every, chosen][:, None]
    able = (more > 0) & (more <= left) & (gain > 0)
    ratio = np.where(able, gain / np.maximum(more, 1), 0.0)
    best = ratio.argmax(axis=1)
    return ratio[every, best], sizes[every, best]
