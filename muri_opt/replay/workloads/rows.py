"""What readers of workload files share: a file read whole, ids used once, numbers above 0."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from muri_opt.errors import InputError
from muri_opt.replay.traces.csv_columns import name_cell, number_cell, whole_cell
from muri_opt.replay.traces.reading import MOST_BYTES
from muri_opt.rounds.error_text import number_range, shown, whole_range
from muri_opt.rounds.quantities import MAX_GPUS
from muri_opt.rounds.text_files import in_file, read_text

T = TypeVar("T")


def read_as(path: str | os.PathLike[str], what: str, parse: Callable[[str], T]) -> T:
    """Return what ``parse`` makes of the text of a file; an error names the file."""
    with in_file(path):
        return parse(read_text(path, what, MOST_BYTES))


def count_cell(line: int, column: str, cell: str, most: int = MAX_GPUS) -> int:
    """Return the whole number of at least 1 in a cell."""
    value = whole_cell(line, column, cell, most)
    if value == 0:
        raise InputError(f"line {line}.{column}", "0", whole_range(1, most))
    return value


def time_cell(line: int, column: str, cell: str, most: float) -> float:
    """Return the number above 0 in a cell."""
    value = number_cell(line, column, cell, most)
    if value == 0:
        raise InputError(f"line {line}.{column}", "0", number_range(most, positive=True))
    return value


def id_cell(line: int, column: str, cell: str, seen: dict[str, int]) -> str:
    """Return the id in a cell, which no earlier line in ``seen`` may have used."""
    first = seen.setdefault(name_cell(line, column, cell), line)
    if first != line:
        raise InputError(f"line {line}.{column}", f"{shown(cell)}, used in line {first} already", "an id used once")
    return cell
