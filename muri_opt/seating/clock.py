"""The time a search has."""

from __future__ import annotations

import time
from collections.abc import Callable

Left = Callable[[], float | None]
"""Seconds left, if there is a limit."""


def until(began: float, seconds: float | None) -> Left:
    """Return the clock of a search that began then and has so many seconds."""

    def left() -> float | None:
        return None if seconds is None else max(0.0, seconds - (time.monotonic() - began))

    return left


def is_over(left: Left) -> bool:
    """Return whether there is no time left."""
    seconds = left()
    return seconds is not None and seconds <= 0
