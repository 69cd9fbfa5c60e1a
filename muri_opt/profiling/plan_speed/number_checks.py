"""Checks of plain numbers on the way into a frozen dataclass: stored as Python's own kind, refused with the field."""

from __future__ import annotations

import math
from typing import Any, Final

from muri_opt.errors import InputError
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.quantities import finite, whole

MOST_GB_S: Final = 1e6
MOST_MILLISECONDS: Final = 1e12


def set_whole(owner: Any, field: str, most: int) -> None:
    """Store a field as a plain whole number from 1 to ``most``, or refuse it."""
    object.__setattr__(owner, field, whole(field, getattr(owner, field), most, least=1))


def set_positive(owner: Any, field: str, most: float) -> None:
    """Store a field as a number above 0 and at most ``most``, or refuse it."""
    object.__setattr__(owner, field, finite(field, getattr(owner, field), most, positive=True))


def set_bandwidth(owner: Any, field: str, *, missing: bool) -> None:
    """Store a bandwidth in GB/s; ``missing`` says whether ``None``, not known, will do."""
    value = getattr(owner, field)
    if value is None and missing:
        return
    if value is None:
        raise InputError(field, "nothing", "a bandwidth in GB/s, above 0")
    set_positive(owner, field, MOST_GB_S)


def milliseconds(field: str, value: Any) -> float:
    """Return a time in milliseconds, above 0, or refuse it."""
    return finite(field, value, MOST_MILLISECONDS, positive=True)


def within(field: str, value: Any, least: float, most: float) -> float:
    """Return a finite number from ``least`` to ``most``, or refuse it."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not good or not least <= value <= most:
        raise InputError(field, shown(value), f"a finite number from {least:g} to {most:g}")
    return float(value)
