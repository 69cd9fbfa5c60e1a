"""On how many nodes parts of plans find room, all of them at once: nodes alike are looked at once."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_WORD: Final = 1 << 62
_CELLS: Final = 1 << 20
"""Parts times nodes that are looked at together."""


def nodes_with_room(free: Ints, hosts: Bools, kind: Ints, pieces: Ints) -> Ints:
    """Return on how many nodes each piece finds room, of those that ``hosts`` says are for its kind.

    ``free`` has what each node has left, in rows of GPUs, milli-CPUs and MiB, and ``pieces`` what each takes of that.

    >>> free, hosts = np.array([[2, 8, 0], [4, 8, 0]]), np.array([[True, True]])
    >>> nodes_with_room(free, hosts, np.array([0, 0, 0]), np.array([[1, 4, 0], [3, 4, 0], [1, 9, 0]])).tolist()
    [2, 1, 0]
    """
    nodes, place = alike(np.column_stack([free, hosts.T]))
    many = np.bincount(place, minlength=len(nodes))
    rooms, open_ = free[nodes], hosts[:, nodes]
    step = max(1, _CELLS // max(1, len(nodes)))
    found = [np.zeros(0, dtype=np.int64)]
    for begin in range(0, len(kind), step):
        some = slice(begin, begin + step)
        fits = open_[kind[some]]
        for axis in range(3):
            fits &= rooms[:, axis] >= pieces[some, axis, None]
        found.append(fits @ many)
    counts: Ints = np.concatenate(found)
    return counts


def alike(rows: Ints) -> tuple[Ints, Ints]:
    """Return the places of rows that differ, and for each row which of those it is like.

    The policies have a function of their own for it: what finds an answer must not be what checks it.
    """
    key, width = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T:
        least = int(column.min(initial=0))
        span = int(column.max(initial=0)) - least + 1
        key, width = key * span + (column - least), width * span
    if width >= _WORD:
        _, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    else:
        _, first, place = np.unique(key, return_index=True, return_inverse=True)
    return first, place.reshape(-1)
