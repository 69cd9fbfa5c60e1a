"""Numbers that people can read: few significant digits, and an order in which a number is simpler than another."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

DIGITS: Final = 2
"""Significant digits of every number that a search makes up."""
_ROUNDING: Final = 1e-12
"""What a quotient of two floats may be wrong by."""


def rounded(value: float, digits: int = DIGITS) -> float:
    """Return the nearest number of so many significant digits."""
    return float(f"{value:.{digits - 1}e}")


def rounded_down(value: float) -> float:
    """Return the largest number of :data:`DIGITS` digits that is no larger than this one, but for a rounding."""
    nearest = rounded(value)
    if nearest <= value * (1 + _ROUNDING):
        return nearest
    return float(Decimal(repr(nearest)) - Decimal(1).scaleb(Decimal(repr(nearest)).adjusted() - DIGITS + 1))


def rank(value: float) -> int:
    """Return how hard a number is to read: 0 is simplest, then 1, then by significant digits."""
    if value in (0, 1):
        return int(value)
    return 1 + next(digits for digits in range(1, 18) if digits == 17 or rounded(value, digits) == value)


def simpler(value: float, least: float = 0.0) -> list[float]:
    """Return numbers of at least ``least`` that are simpler than this one, the simplest first."""
    options = [0.0, 1.0, rounded(value, 1), rounded(value, 2)]
    return [option for option in dict.fromkeys(options) if option >= least and rank(option) < rank(value)]
