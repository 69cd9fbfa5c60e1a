"""Tables of a study of replays: all figures by column, and a comparison of the policies with ratios as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from muri_opt.replay.studies.repeats import FIGURES, HEAD, WORDS, repeats_of
from muri_opt.replay.studies.runs import RunRow
from muri_opt.rounds.readable_time import unit_of
from muri_opt.studies.runner.atomic_write import replace_file
from muri_opt.studies.runner.intervals import STATISTICS
from muri_opt.studies.runner.result_tables import Cell, Columns, columns_from, markdown_table

_COMPARED: Final = ("workload", "cluster", "clock", "interval", "seed")
"""Runs that agree in these are compared with the first of them."""
_NAMED: Final = ("policy", "method", "seed")
REALS: Final = ("interval", "round_seconds", "round_work", "round_gap", "launch_seconds", "rack_speed", "any_speed")
"""Columns that are no whole numbers, whatever they hold."""


def columns_of(rows: Sequence[RunRow]) -> Columns:
    """Return all figures by column; a row that lacks one has ``None`` there."""
    columns = columns_from([row.as_dict() for row in rows])
    names = sorted(columns, key=lambda name: name == "run_seconds")  # last, also where later rows bring more figures
    return {name: columns[name] for name in names}


def comparison(rows: Sequence[RunRow]) -> tuple[list[str], list[list[str]]]:
    """Return the head and the cells of a table: every run beside the first of the same workload and seed.

    Each column of times says its unit, a ratio is how many times that of the first. Methods and seeds are columns where
    they differ.
    Where rounds are solved, the part of them that is settled within the gap asked for is the last column.
    """
    first: dict[tuple[Cell, ...], RunRow] = {}
    named = [name for name in _NAMED if name == "policy" or len({getattr(row.run, name) for row in rows}) > 1]
    solved = any(row.run.method != "heuristic" for row in rows)
    units = {name: unit_of(max((row.figures[name] for row in rows), default=0.0)) for name in (*FIGURES, "waiting")}
    cells = []
    for row in rows:
        base = first.setdefault(tuple(getattr(row.run, name) for name in _COMPARED), row)
        line = [row.run.workload, *(str(getattr(row.run, name)) for name in named), f"{row.figures['jobs']:,}"]
        for name in FIGURES:
            value, reference = row.figures[name], base.figures[name]
            line += [_told(value, units[name]), f"{value / reference:.3f}" if reference else "-"]
        line += [_told(row.figures["waiting"], units["waiting"]), f"{row.figures['utilisation']:.1%}"]
        cells.append(line + [settled(row)] * solved)
    head = ["workload", *named, "jobs"]
    head += [word for name, title in FIGURES.items() for word in (f"{title}, {units[name][1]}", "ratio")]
    return [*head, f"waiting, {units['waiting'][1]}", "GPUs used"] + ["settled"] * solved, cells


def _told(seconds: float, unit: tuple[int, str]) -> str:
    return f"{seconds / unit[0]:,.{1 if unit[0] == 1 else 2}f}"


def settled(row: RunRow) -> str:
    """Return which part of the rounds is known to be as near to the optimum as was asked for; not of heuristics."""
    if row.run.method == "heuristic" or not row.figures["rounds"]:
        return "-"
    return f"{row.figures['settled'] / row.figures['rounds']:.1%}"


def write_markdown(rows: Sequence[RunRow], path: Path) -> None:
    """Write the comparison as a table in Markdown, and what repetitions say of it."""
    head, cells = comparison(rows)
    lines = markdown_table(head, cells, head.index("jobs"))
    repeated = repeats_of(rows)
    if repeated:
        lines += ["", f"Ratios and tests are to the first policy; {STATISTICS}.", ""]
        lines += markdown_table(HEAD, [one.cells() for one in repeated], WORDS)
    replace_file(path, "".join(f"{line}\n" for line in lines).encode())
