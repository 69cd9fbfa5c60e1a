"""Random numbers that stay the same on every machine and with every numpy.

Only the uniform numbers of PCG64 are taken from numpy, whose other distributions may change from version to version;
all else is made from them with sums, products and tables, which every processor rounds alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Draws:
    """A seeded stream of draws, each an array of ``size``."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def uniform(self, size: int, low: float = 0.0, high: float = 1.0) -> Floats:
        """Return numbers spread evenly from ``low`` up to ``high``."""
        return low + self._generator.random(size) * (high - low)

    def below(self, size: int, count: int) -> Ints:
        """Return whole numbers from 0 to ``count`` - 1, each as likely as the others."""
        return np.floor(self.uniform(size, 0, count)).astype(np.int64)

    def pick(self, size: int, choices: Sequence[int], parts: Sequence[int]) -> Ints:
        """Return choices, each drawn as often as its part of the sum of ``parts`` says."""
        place = np.searchsorted(np.cumsum(parts), self.uniform(size, 0, sum(parts)), side="right")
        return np.array(choices, dtype=np.int64)[place]

    def spread(self, size: int, quantiles: Sequence[tuple[float, float]]) -> Floats:
        """Return numbers of the distribution with the given (probability, value) points and straight lines between."""
        probability, value = zip(*quantiles, strict=True)
        numbers: Any = np.interp(self.uniform(size), probability, value)
        return np.asarray(numbers, dtype=np.float64)
