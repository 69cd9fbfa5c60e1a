"""Best values by number of GPUs, one more choice at a time: the dynamic program of bounds that count GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
_AT_ONCE = 10_000
"""Sums that are made and compared together; more take no longer one entry after another."""
_NEVER = -(1 << 62)


def with_one_more(best: Ints, table: Mapping[int, int]) -> Ints:
    """Return the best value within each number of GPUs if one more table may add one of its entries, or none.

    ``table`` has values by GPUs. Values, and their sums, are below two to the power of 62. The best is 0 or more, as
    nothing need be chosen.
    """
    most = len(best) - 1
    sizes = tuple(gpus for gpus in table if gpus <= most)
    gains = np.array([table[gpus] for gpus in sizes], dtype=np.int64)
    result = best.copy()
    if len(sizes) * most <= _AT_ONCE:
        before = np.append(np.full(most, _NEVER), best)
        sums = before[_with_less(most, sizes)] + gains[:, None]
        np.maximum(best, sums.max(axis=0, initial=_NEVER), out=result)
    else:
        for gpus, gain in zip(sizes, gains, strict=True):
            np.maximum(result[gpus:], best[: most + 1 - gpus] + gain, out=result[gpus:])
    return result


@lru_cache(maxsize=64)
def _with_less(most: int, sizes: tuple[int, ...]) -> Ints:
    """Return, for each size, where the best with so many GPUs less stands behind ``most`` places of no worth."""
    return most + np.arange(most + 1) - np.array(sizes, dtype=np.int64)[:, None]
