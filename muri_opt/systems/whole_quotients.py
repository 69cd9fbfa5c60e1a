"""Exact quotients over arrays where the dividend may be larger than a machine word.

Products of two or three whole numbers are worked out twice: as floats, and modulo 2**64, as arrays of machine words do
by themselves. The first tells the quotient but for one, the second what is left, which is small.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MOST_QUOTIENT: Final = 1 << 49
"""Quotients below which floats, raised a little, are too large by less than one; divisors are below 2**60."""
_RAISED: Final = 1 + 2.0**-50
"""What makes floats that were rounded up to six times no smaller than they should be."""


def quotient_down(dividend: Ints, about: Floats, divisor: Ints) -> Ints:
    """Return dividends over divisors, rounded down; ``dividend`` is known modulo 2**64, and ``about`` as floats.

    >>> dividend = np.array([10**12]) * 10**12  # 10**24, modulo 2**64
    >>> quotient_down(dividend, np.array([1e24]), np.array([3 * 10**11])).item()
    3333333333333
    """
    guess, rest = _nearly(dividend, about, divisor)
    guess -= rest < 0
    return guess


def quotient_up(dividend: Ints, about: Floats, divisor: Ints) -> Ints:
    """Return the same, rounded up.

    >>> quotient_up(np.array([7, 6]), np.array([7.0, 6.0]), np.array([3, 3])).tolist()
    [3, 2]
    """
    guess, rest = _nearly(dividend, about, divisor)
    guess += rest > 0
    return guess


def _nearly(dividend: Ints, about: Floats, divisor: Ints) -> tuple[Ints, Ints]:
    """Return quotients, rounded down, and what they leave; some are too large by one, and leave less than 0.

    None is that is a whole number. To divide whole numbers themselves takes several times as long.
    """
    guess = (about * _RAISED / divisor).astype(np.int64)
    rest = guess * divisor
    np.subtract(dividend, rest, out=rest)
    return guess, rest
