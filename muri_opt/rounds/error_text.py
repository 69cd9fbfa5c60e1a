"""How errors speak of values: what was found, cut to a readable length, and what is allowed."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 60
_MOST_NAMES = 8


def shortened(text: str) -> str:
    """Return ``text`` cut to about 60 characters."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def shown(value: object) -> str:
    """Return ``value`` as an error shows it; Python refuses to print a number of thousands of digits."""
    try:
        return shortened(repr(value))
    except (ValueError, RecursionError):
        return f"a value of type {type(value).__name__}, too long to show"


def listed(names: Iterable[str]) -> str:
    """Return the first names in order, and how many more there are."""
    every = sorted(names)
    rest = len(every) - _MOST_NAMES
    return ", ".join(map(shortened, every[:_MOST_NAMES])) + (f" and {rest:,} more" if rest > 0 else "")


def whole_range(least: int, most: int) -> str:
    """Return what is allowed of a whole number."""
    return f"a whole number from {least:,} to {most:,}"


def number_range(most: float, *, positive: bool) -> str:
    """Return what is allowed of a number that may have a fraction."""
    return f"a finite number {'above 0 and up' if positive else 'from 0'} to {most:,.15g}"
