"""Gaps in words."""

from __future__ import annotations


def percent(gap: float | None, unknown: str = "unknown") -> str:
    """Return a relative gap in percent, never 0 where it is not 0."""
    if gap is None:
        return unknown
    if 0 < gap < 0.0001:
        return "below 0.01 %"
    return f"{100 * gap:.2f} %" if gap else "0 %"
