"""At most one option of each choice under a single capacity: the best for every amount, by dynamic programming.

The textbook recursion of the multiple-choice knapsack, over the amounts of the one resource (Kellerer, Pferschy and
Pisinger, Knapsack Problems, chapter 11).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from muri_opt.algorithms.knapsack.options import Ints

Choice = tuple[Ints, Ints]
"""Sizes of at least 0 and values of the options of which at most one is taken."""


class OneResource:
    """The best value of all choices together for every amount up to a capacity (``best``), and what makes it.

    Values are whole numbers whose sums fit 64 bits. Of equally good options the smallest is taken.

    >>> best = OneResource([(np.array([1, 2]), np.array([5, 7])), (np.array([1]), np.array([4]))], 2)
    >>> int(best.best[2]), best.chosen(2)
    (9, [0, 0])
    """

    def __init__(self, choices: Sequence[Choice], capacity: int) -> None:
        self.best: Ints = np.zeros(capacity + 1, dtype=np.int64)
        self._sizes = [sizes for sizes, _ in choices]
        self._taken: list[NDArray[np.int32]] = []
        for sizes, values in choices:
            taken = np.full(capacity + 1, -1, dtype=np.int32)
            best = self.best.copy()
            record = 0
            for place in np.lexsort((-values, sizes)).tolist():
                size, value = int(sizes[place]), int(values[place])
                if size > capacity:
                    break
                if value <= record:  # a smaller one is worth as much
                    continue
                record = value
                reached = self.best[: capacity + 1 - size] + value
                better = reached > best[size:]
                best[size:][better] = reached[better]
                taken[size:][better] = place
            self.best = best
            self._taken.append(taken)

    def chosen(self, amount: int) -> list[int]:
        """Return the option of each choice in a best answer within an amount, -1 where none is taken."""
        found = []
        for sizes, taken in zip(reversed(self._sizes), reversed(self._taken), strict=True):
            found.append(int(taken[amount]))
            amount -= int(sizes[found[-1]]) if found[-1] >= 0 else 0
        return found[::-1]
