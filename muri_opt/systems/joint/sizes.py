"""How many GPUs each group gets, once it is known who shares: one price for a GPU, then the rest to the best use."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.job_model import Floats

_HALVINGS = 40


def best_sizes(value: Floats, gpus: int) -> tuple[Ints, float]:
    """Return the GPUs of each group, within ``gpus`` in all, and the price at which they were asked for.

    ``value[u, k]`` is what group u adds with k GPUs; ``value[u, 0]`` is 0. At the least price at which all that is
    asked for is there, every group has the size that is worth most to it; what is left goes where it adds most for
    each GPU.

    >>> best_sizes(np.array([[0.0, 5.0, 7.0], [0.0, 4.0, 5.0]]), 3)[0].tolist()
    [2, 1]
    """
    counts = np.arange(value.shape[1], dtype=np.float64)
    price, chosen = _price(value, counts, gpus)
    _fill(value, chosen, gpus - int(chosen.sum()))
    return chosen, price


def _price(value: Floats, counts: Floats, gpus: int) -> tuple[float, Ints]:
    chosen = value.argmax(axis=1)
    if int(chosen.sum()) <= gpus:
        return 0.0, chosen
    low, high = 0.0, float((value[:, 1:] / counts[1:]).max(initial=0.0)) * (1 + 1e-9) + 1e-300
    chosen = np.zeros(len(value), dtype=np.int64)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        asked = (value - middle * counts).argmax(axis=1)
        if int(asked.sum()) <= gpus:
            high, chosen = middle, asked
            if int(asked.sum()) == gpus:
                break
        else:
            low = middle
    return high, chosen


def _fill(value: Floats, chosen: Ints, left: int) -> None:
    """Give away what is left, one step at a time, each where it adds most for a GPU."""
    every, counts = np.arange(len(value)), np.arange(value.shape[1])
    while left > 0 and len(value):
        more = counts - chosen[:, None]
        gain = value - value[every, chosen][:, None]
        able = (more > 0) & (more <= left) & (gain > 0)
        if not able.any():
            return
        ratio = np.where(able, gain / np.maximum(more, 1), 0.0)
        group, size = divmod(int(ratio.argmax()), value.shape[1])
        left -= size - int(chosen[group])
        chosen[group] = size
