"""Which of many demands are equal, so that what depends on them alone is worked out once."""

from __future__ import annotations

from typing import Final

import numpy as np

from muri_opt.rounds.amounts import Ints

_WORD: Final = 1 << 62


def equal_rows(columns: Ints) -> tuple[Ints, Ints]:
    """Return the places of demands that differ, and for each demand which of these it equals; one is in each column.

    Numbers of a demand that fit one machine word together are sorted as one, which is much faster.

    >>> [found.tolist() for found in equal_rows(np.array([[1, -1, 1], [5, 5, 5]]))]
    [[1, 0], [1, 0, 1]]
    """
    key, width = np.zeros(columns.shape[1], dtype=np.int64), 1
    for numbers in columns:
        least = int(numbers.min(initial=0))
        span = int(numbers.max(initial=0)) - least + 1
        key, width = key * span + (numbers - least), width * span
    if width >= _WORD:
        _, first, place = np.unique(columns, axis=1, return_index=True, return_inverse=True)
    else:
        _, first, place = np.unique(key, return_index=True, return_inverse=True)
    return first, place.reshape(-1)
