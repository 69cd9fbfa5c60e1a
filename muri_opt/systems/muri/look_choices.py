"""Which pairs and which jobs a look takes of many (:mod:`.group_looks`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Ints

Floats = NDArray[np.floating[Any]]
OF_PART: Final = 16
"""Pairs of each part of a line of pairs that is taken."""


def best_places(suits: Floats, most: int) -> Ints:
    """Return so many places with the largest numbers of each row."""
    places = suits.shape[1]
    return np.argpartition(-suits, min(most, places) - 1, axis=1)[:, :most]


def suited(suits: Floats, least: Floats, most: int) -> NDArray[np.bool_]:
    """Return which jobs suit each row by more than the least, of those no more than so many of the best."""
    if most < suits.shape[1]:
        least = np.maximum(least, np.partition(suits, -most - 1, axis=1)[:, -most - 1])
    able: NDArray[np.bool_] = suits > least[:, None]
    return able


def spread_places(count: int, parts: int, turn: int) -> Ints:
    """Return places in a line of so many: parts of it at equal distances, each turn others."""
    step = max(OF_PART, count // parts)
    return np.flatnonzero((np.arange(count) - turn * OF_PART) % step < OF_PART)


def rows_alike(thirds: Ints, fourths: Ints) -> Iterator[tuple[tuple[int, int], Ints]]:
    """Yield rows with nearly as many thirds and fourths, and how many that is at most: powers of two."""
    steps = [np.ceil(np.log2(np.maximum(1, counts))).astype(np.int64) for counts in (thirds, fourths)]
    key = 64 * steps[0] + steps[1]
    some = (thirds > 0) & (fourths > 0)
    for one in np.unique(key[some]).tolist():
        rows = np.flatnonzero(some & (key == one))
        yield (int(thirds[rows].max()), int(fourths[rows].max())), rows
