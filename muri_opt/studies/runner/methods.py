"""The ways to decide a round, by name."""

from __future__ import annotations

from typing import Final

from muri_opt.errors import unknown_name
from muri_opt.solve.solvers import BACKENDS

HEURISTIC: Final = "heuristic"
METHODS: Final = (HEURISTIC, "auto", "exact", *(f"exact@{name}" for name in BACKENDS))


def check_method(method: str) -> None:
    """Refuse a method that ``solve_round()`` does not know."""
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
