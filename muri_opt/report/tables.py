"""Plain text tables, shortened where nobody would read them to the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from muri_opt.report.format import width

Item = TypeVar("Item")

LONG = 40
"""A list of more entries is shortened."""
KEPT = 20
"""How many entries of a shortened list are kept."""


def shortened(items: Sequence[Item], *, whole: bool) -> tuple[Sequence[Item], list[str]]:
    """Return the entries to show and, where some are left out, the line that says so."""
    if whole or len(items) <= LONG:
        return items, []
    return items[:KEPT], [f"... and {len(items) - KEPT:,} more (--all lists them)"]


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> list[str]:
    """Return the lines of a table; the columns in ``right`` are aligned to the right."""
    lines = [head, *rows]
    widths = [max(width(line[column]) for line in lines) for column in range(len(head))]
    return [
        "  ".join(_padded(cell, widths[column], column in right) for column, cell in enumerate(line)).rstrip()
        for line in lines
    ]


def indented(lines: Sequence[str], by: int = 2) -> list[str]:
    """Return the lines moved to the right."""
    return [" " * by + line if line else line for line in lines]


def _padded(cell: str, columns: int, right: bool) -> str:
    space = " " * (columns - width(cell))
    return space + cell if right else cell + space
