"""Tables of a study in files: all columns as CSV or Parquet, a few of them as Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from muri_opt.errors import RefusalError
from muri_opt.studies.runner.atomic_write import replace_file

CSV: Final = "results.csv"
PARQUET: Final = "results.parquet"
MARKDOWN: Final = "comparison.md"

Cell = str | int | float | None
Columns = Mapping[str, Sequence[Cell]]
_INT64: Final = 1 << 63


def columns_from(entries: Sequence[Mapping[str, Cell]]) -> dict[str, list[Cell]]:
    """Return the values of all entries by column; an entry that lacks one has ``None`` there."""
    names = dict.fromkeys(name for entry in entries for name in entry)
    return {name: [entry.get(name) for entry in entries] for name in names}


def write_csv(columns: Columns, path: Path) -> None:
    """Write a line for every run; what a run lacks is empty."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    replace_file(path, buffer.getvalue().encode())


def parquet_writer(reals: Collection[str]) -> Callable[[Columns, Path], None]:
    """Return what writes Parquet; refused at once where pyarrow is missing, not after hours of work.

    The columns ``reals`` are floating point whatever is in them. A column of whole numbers, one of which has more than
    64 bits, is text.
    """
    try:
        arrow: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError:
        raise RefusalError(
            "parquet", "a file to write, and pyarrow is not installed", "CSV, or pip install 'muri-opt[parquet]'"
        ) from None

    def write(columns: Columns, path: Path) -> None:
        arrays = {
            name: arrow.array(_that_fit(values), type=arrow.float64() if name in reals else None)
            for name, values in columns.items()
        }
        buffer = io.BytesIO()
        parquet.write_table(arrow.table(arrays), buffer)
        replace_file(path, buffer.getvalue())

    return write


def markdown_table(head: Sequence[str], cells: Iterable[Sequence[str]], words: int) -> list[str]:
    """Return the lines of a table in Markdown; all but the first columns, which are ``words``, hold numbers."""
    lines = [head, ["---"] * words + ["---:"] * (len(head) - words), *cells]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def _that_fit(values: Sequence[Cell]) -> Sequence[Cell]:
    """Return the values, all as text if one is a whole number that 64 bits do not hold."""
    if all(not isinstance(value, int) or -_INT64 <= value < _INT64 for value in values):
        return values
    return [None if value is None else str(value) for value in values]
