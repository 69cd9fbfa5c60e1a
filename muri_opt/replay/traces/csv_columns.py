"""CSV files as rows under named columns, and the cells that are read most: numbers, quickly."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from muri_opt.errors import InputError
from muri_opt.replay.traces.timestamps import is_nothing
from muri_opt.rounds.error_text import number_range, shortened, shown, whole_range
from muri_opt.rounds.quantities import MAX_GPUS, finite

_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", flags=re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The columns of a format: those it needs, those it reads where they are there."""

    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()

    @property
    def read(self) -> tuple[str, ...]:
        """All columns that are read, in order."""
        return self.needed + self.optional


def header_of(text: str) -> list[str]:
    """Return the names in the first line, without blanks and in lower case; none where it is no CSV."""
    try:
        first = next(csv.reader(io.StringIO(text[: text.find("\n") + 1] or text, newline="")), [])
    except csv.Error:
        return []
    return [name.strip().lower() for name in first]


def unused_columns(text: str, layout: Layout) -> tuple[str, ...]:
    """Return the columns of the file that are not read."""
    return tuple(name for name in header_of(text) if name not in layout.read)


def rows(text: str, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, cells) of every row, with one cell per column of ``layout.read``; an absent column is empty.

    Columns may be in any order, and there may be others. Blank lines are passed over.
    """
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip().lower() for name in next(lines, [])]
        _check_header(header, layout)
        wide = len(header)
        places = [header.index(name) if name in header else wide for name in layout.read]
        for cells in lines:
            if len(cells) != wide:
                if not any(cell.strip() for cell in cells):
                    continue
                raise InputError(f"line {lines.line_num}", f"{len(cells)} cells", f"{wide} cells, one per column")
            cells.append("")
            yield lines.line_num, [cells[place].strip() for place in places]
    except csv.Error as error:
        raise InputError(f"line {lines.line_num}", f"text that is not CSV ({error})", "rows under a header") from None


def _check_header(header: Sequence[str], layout: Layout) -> None:
    for name in layout.read:
        if header.count(name) > 1:
            raise InputError(f"line 1.{name}", "the column twice", "every column once")
    missing = [name for name in layout.needed if name not in header]
    if missing:
        found = f"no column {', '.join(missing)} in {shortened(', '.join(header)) or 'an empty line'}"
        raise InputError("line 1", found, f"a header with the columns {', '.join(layout.needed)}")


def whole_cell(line: int, column: str, cell: str, most: int = MAX_GPUS) -> int:
    """Return the whole number in a cell; ``8.0`` is one."""
    if cell.isdecimal() and cell.isascii() and len(cell) < 16:  # the usual case, ten times as quick
        value = int(cell)
        if value <= most:
            return value
    number = _number(cell)
    if number is None or not number.is_integer() or not 0 <= number <= most:
        raise InputError(f"line {line}.{column}", _found(cell), whole_range(0, most))
    return int(number)


def number_cell(line: int, column: str, cell: str, most: float) -> float:
    """Return the number in a cell, from 0 to ``most``."""
    number = _number(cell)
    if number is None:
        raise InputError(f"line {line}.{column}", _found(cell), number_range(most, positive=False))
    return finite(f"line {line}.{column}", number, most)


def optional_cell(line: int, column: str, cell: str, most: float) -> float | None:
    """Return the number in a cell, from 0 to ``most``, or ``None`` where it is empty."""
    return None if is_nothing(cell) else number_cell(line, column, cell, most)


def seconds_cell(line: int, column: str, cell: str, most: float) -> float | None:
    """Return the seconds in a cell, ``None`` where it is empty; a clock that goes backwards makes them negative."""
    if is_nothing(cell):
        return None
    number = _number(cell)
    if number is None or not -most <= number <= most:
        allowed = f"a number of seconds up to {most:,.15g}, or nothing"
        raise InputError(f"line {line}.{column}", _found(cell), allowed)
    return number


def name_cell(line: int, column: str, cell: str) -> str:
    """Return the name in a cell, which every row needs."""
    if not cell:
        raise InputError(f"line {line}.{column}", "nothing", "a name")
    return cell


def _number(cell: str) -> float | None:
    return float(cell) if _NUMBER.fullmatch(cell) else None


def _found(cell: str) -> str:
    return shown(cell) if cell else "nothing"
