"""Coins that a seed decides: every round of a session tosses the same ones, so they are kept."""

from __future__ import annotations

from copy import deepcopy
from functools import lru_cache
from threading import Lock
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

MOST_KEPT: Final = 1 << 23
"""Coins of a seed that are kept, a byte each."""


class Coin(Protocol):
    """What tosses coins: any generator of numpy does."""

    def integers(self, low: int, high: int, *, size: int) -> NDArray[Any]:
        """Return so many numbers from ``low`` to below ``high``."""


class SeededCoin:
    """The coins that ``np.random.default_rng(seed)`` tosses, one after another.

    >>> SeededCoin(7).integers(0, 2, size=3).tolist() == np.random.default_rng(7).integers(0, 2, size=3).tolist()
    True
    """

    def __init__(self, seed: int) -> None:
        self._tossed, self._at = _tossed(seed), 0
        self._further: np.random.Generator | None = None

    def integers(self, low: int, high: int, *, size: int) -> NDArray[Any]:
        """Return the next coins: numbers from 0 to below 2, and no others."""
        if (low, high) != (0, 2):
            raise ValueError(f"a coin has 0 and 1, not {low} to {high - 1}")
        start, self._at = self._at, self._at + size
        kept = self._tossed.upto(min(self._at, MOST_KEPT))[start : self._at]
        if len(kept) == size:
            return kept
        if self._further is None:
            self._further = self._tossed.behind()
        return np.append(kept, self._further.integers(0, 2, size=size - len(kept)))


class _Tossed:
    """The first coins of a seed, as many as were asked for."""

    def __init__(self, seed: int) -> None:
        self._generator, self._coins = np.random.default_rng(seed), np.zeros(0, dtype=np.uint8)
        self._lock = Lock()

    def upto(self, count: int) -> NDArray[np.uint8]:
        """Return so many of the first coins, or more."""
        with self._lock:
            missing = count - len(self._coins)
            if missing > 0:
                more = min(max(missing, len(self._coins)), MOST_KEPT - len(self._coins))
                self._coins = np.append(self._coins, self._generator.integers(0, 2, size=more).astype(np.uint8))
            return self._coins

    def behind(self) -> np.random.Generator:
        """Return what tosses the coins after all that are kept."""
        self.upto(MOST_KEPT)
        return deepcopy(self._generator)


@lru_cache(maxsize=1)
def _tossed(seed: int) -> _Tossed:
    return _Tossed(seed)
