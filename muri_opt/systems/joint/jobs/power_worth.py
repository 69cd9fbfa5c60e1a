"""What work is worth by a power of the service left: an index beside the price at a job's end, in whole numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

_PARTS: Final = 1_000_000
"""Roots are in millionths."""
_HOUR: Final = 3600
_SURE_BITS: Final = 40
"""Bits of a power of floats that are right."""


def hour_over(service: int, second: int, power: Fraction) -> Fraction:
    """Return (an hour / service) to a power; ``second`` is how much service is one, and no service counts as less.

    >>> hour_over(900, 1, Fraction(1, 2))
    Fraction(2, 1)
    """
    return Fraction(_root(_HOUR * second, power), _root(max(service, second), power))


def _root(amount: int, power: Fraction) -> int:
    """Return millionths of an amount to a power of 0 to 1, rounded down, by Newton's steps from above the root."""
    over, under = power.numerator, power.denominator
    whole = amount**over * _PARTS**under
    about = int(float(amount) ** float(power) * _PARTS)
    found = about + (about >> _SURE_BITS) + 2
    while (below := ((under - 1) * found + whole // found ** (under - 1)) // under) < found:
        found = below
    return found
