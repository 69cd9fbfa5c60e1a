"""Whole parts of many numbers at once: in floating point where that is certain, exactly where it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Ints

Floats = NDArray[np.float64]
_RELATIVE: Final = 1e-13
"""Far above what the few roundings of a formula move its result by, relative to it."""


def exact_floors(near: Floats, exact: Callable[[int], int]) -> Ints:
    """Return the whole part of each number; those that are too near to a whole number are asked for one by one.

    ``near`` are non-negative results of a few operations in floating point; ``exact`` returns one whole part.
    """
    found = np.floor(near)
    doubt = np.flatnonzero(~(np.abs(near - np.rint(near)) > near * _RELATIVE))
    result = found.astype(np.int64) if not len(doubt) else np.where(np.isfinite(found), found, 0).astype(np.int64)
    for place in doubt.tolist():
        result[place] = exact(place)
    return result
