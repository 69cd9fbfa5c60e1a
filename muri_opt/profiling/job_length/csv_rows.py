"""Rows of CSV files: one mapping per line, every fault placed in file and line."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple, TypeVar

from muri_opt.errors import InputError, unknown_name
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.text_files import read_text

T = TypeVar("T")


class Row(NamedTuple):
    """The cells of a line by the names of their columns, without the empty ones."""

    line: int
    cells: dict[str, str]


def read_rows(path: str | os.PathLike[str], what: str, parse: Callable[[str], T]) -> T:
    """Return what ``parse`` makes of the text of a file; an error names the file."""
    try:
        return parse(read_text(path, what))
    except InputError as error:
        place = str(path) if error.field == "file" else f"{path}: {error.field}"
        raise InputError(place, error.found, error.allowed) from None


def csv_rows(text: str, columns: Collection[str]) -> list[Row]:
    """Return the rows under a header that has exactly these columns, in any order; case and blanks do not matter."""
    try:
        lines = csv.reader(io.StringIO(text, newline=""), strict=True)
        header = [name.strip().lower() for name in next(lines, [])]
        _check_header(header, columns)
        return [_row(header, lines.line_num, cells) for cells in lines if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise InputError("file", f"text that is not CSV ({error})", "rows under a header") from None


def number(row: Row, column: str, make: Callable[[str, Any], T], *, is_whole: bool) -> T:
    """Return what ``make`` makes of the number in a cell, or refuse the cell with its line and column."""
    place, cell = f"line {row.line}.{column}", row.cells.get(column)
    if cell is None:
        raise InputError(place, "nothing", "a whole number" if is_whole else "a number")
    try:
        value = int(cell) if is_whole else float(cell)
    except ValueError:
        raise InputError(place, shown(cell), "a whole number" if is_whole else "a number") from None
    return make(place, value)


def _check_header(header: list[str], columns: Collection[str]) -> None:
    wanted = f"a header with the columns {', '.join(columns)}"
    if not header:
        raise InputError("file", "no line", wanted)
    for position, name in enumerate(header):
        if name not in columns:
            raise unknown_name("column", name, columns)
        if name in header[:position]:
            raise InputError("column", f"{name!r} twice", "every column once")
    missing = [name for name in columns if name not in header]
    if missing:
        raise InputError("column", f"no {_listed(missing)}", wanted)


def _row(header: list[str], line: int, cells: list[str]) -> Row:
    if len(cells) != len(header):
        raise InputError(f"line {line}", f"{len(cells)} cells", f"{len(header)} cells, one per column")
    held = {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
    return Row(line, {name: cell for name, cell in held.items() if cell})


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)
