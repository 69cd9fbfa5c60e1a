"""Rows and runs of whole numbers that differ, told by one number for each, which is checked."""

from __future__ import annotations

from typing import Final

import numpy as np

from muri_opt.rounds.amounts import Ints

_MIXING: Final = 0x5851F42D4C957F2D
"""Any large odd number: times it, modulo 2**64, no two numbers become one."""


def unlike_rows(rows: Ints) -> tuple[Ints, Ints]:
    """Return the places of the first of all rows that differ, in any order, and which of these each row is like.

    >>> first, alike = unlike_rows(np.array([[2, 0], [1, 5], [2, 0]]))
    >>> sorted(first.tolist()), first[alike].tolist()
    ([0, 1], [0, 1, 0])
    """
    times = np.cumprod(np.full(rows.shape[1], _MIXING, dtype=np.int64))
    _, first, alike = np.unique(rows @ times, return_index=True, return_inverse=True)
    if (rows[first[alike]] != rows).any():  # two that differ have one sum
        _, first, alike = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, alike.reshape(-1)


def unlike_runs(values: Ints, starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Return the same of runs of values, each of at least one, from a start to an end.

    >>> first, alike = unlike_runs(np.array([3, 5, 3, 5, 5]), np.array([0, 2, 4]), np.array([2, 4, 5]))
    >>> first[alike].tolist()
    [0, 0, 2]
    """
    size = ends - starts
    last = np.cumsum(size)
    within = np.arange(int(size.sum())) - np.repeat(last - size, size)
    own = values[np.repeat(starts, size) + within]
    mixed = (own ^ (own << 32)) * _MIXING
    sums = np.append(0, np.cumsum(mixed ^ (mixed >> 29)))
    code = sums[last] - sums[last - size]
    _, first, alike = np.unique(code * _MIXING + size, return_index=True, return_inverse=True)
    like = first[alike]
    of_like = values.take(np.repeat(starts[like], size) + within, mode="clip")
    if (size[like] != size).any() or (of_like != own).any():
        number: dict[bytes, int] = {}
        runs = [values[start:end].tobytes() for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        alike = np.array([number.setdefault(run, len(number)) for run in runs], dtype=np.int64)
        first = np.unique(alike, return_index=True)[1]
    return first, alike
