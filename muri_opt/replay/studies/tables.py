"""Tables of a study: all figures as CSV, Parquet, and a comparison of the policies with ratios as Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from muri_opt.errors import RefusalError
from muri_opt.replay.studies.outcome_files import replace_file
from muri_opt.replay.studies.runs import RunRow

Cell = str | int | float | None

_COMPARED: Final = ("workload", "cluster", "clock", "interval", "seed")
"""Runs that agree in these are compared with the first of them."""
_NAMED: Final = ("policy", "method", "seed")
_RATIOS: Final = {"mean": "mean JCT", "p95": "95th", "p99": "99th", "makespan": "makespan"}
_REALS: Final = ("interval", "round_seconds", "round_gap", "launch_seconds")


def columns_of(rows: Sequence[RunRow]) -> dict[str, list[Cell]]:
    """Return all figures by column; a row that lacks one has ``None`` there."""
    dicts = [row.as_dict() for row in rows]
    names = list(dict.fromkeys(name for entry in dicts for name in entry))
    names.sort(key=lambda name: name == "run_seconds")  # last, also where later rows bring more figures
    return {name: [entry.get(name) for entry in dicts] for name in names}


def write_csv(rows: Sequence[RunRow], path: Path) -> None:
    """Write a line for every run; what a run lacks is empty."""
    columns, buffer = columns_of(rows), io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    replace_file(path, buffer.getvalue().encode())


def parquet_writer() -> Callable[[Sequence[RunRow], Path], None]:
    """Return what writes Parquet; refused at once where pyarrow is missing, not after hours of work."""
    try:
        arrow: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError:
        raise RefusalError(
            "parquet", "a file to write, and pyarrow is not installed", "CSV, or pip install 'muri-opt[parquet]'"
        ) from None

    def write(rows: Sequence[RunRow], path: Path) -> None:
        columns = {
            name: arrow.array(values, type=arrow.float64() if name in _REALS else None)
            for name, values in columns_of(rows).items()
        }
        buffer = io.BytesIO()
        parquet.write_table(arrow.table(columns), buffer)
        replace_file(path, buffer.getvalue())

    return write


def comparison(rows: Sequence[RunRow]) -> tuple[list[str], list[list[str]]]:
    """Return the head and the cells of a table: every run beside the first of the same workload and seed.

    Times are in seconds, a ratio is how many times that of the first. Methods and seeds are columns where they differ.
    """
    first: dict[tuple[Cell, ...], RunRow] = {}
    named = [name for name in _NAMED if name == "policy" or len({getattr(row.run, name) for row in rows}) > 1]
    cells = []
    for row in rows:
        base = first.setdefault(tuple(getattr(row.run, name) for name in _COMPARED), row)
        line = [row.run.workload, *(str(getattr(row.run, name)) for name in named), f"{row.figures['jobs']:,}"]
        for name in _RATIOS:
            value, reference = row.figures[name], base.figures[name]
            line += [f"{value:,.1f}", f"{value / reference:.3f}" if reference else "-"]
        cells.append([*line, f"{row.figures['waiting']:,.1f}", f"{row.figures['utilisation']:.1%}"])
    head = ["workload", *named, "jobs"]
    head += [word for title in _RATIOS.values() for word in (title, "ratio")]
    return [*head, "waiting", "GPUs used"], cells


def write_markdown(rows: Sequence[RunRow], path: Path) -> None:
    """Write the comparison as a table in Markdown."""
    head, cells = comparison(rows)
    words = head.index("jobs")
    lines = [head, ["---"] * words + ["---:"] * (len(head) - words), *cells]
    text = "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)
    replace_file(path, text.encode())
