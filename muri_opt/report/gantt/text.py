"""One period of a group in the terminal: a letter for each job, a line for each resource."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase

from muri_opt.report.format import cut, width
from muri_opt.report.gantt.chart import Chart, Row
from muri_opt.report.tables import table
from muri_opt.systems.muri.interleaving import Interleaving

_NAME = 24
_BUSY = len("  100 % busy")
_NARROWEST = 20


def gantt_text(
    stage_seconds: Sequence[Sequence[float]],
    interleaving: Interleaving,
    names: Sequence[str],
    *,
    resources: Sequence[str] | None = None,
    columns: int = 80,
) -> str:
    """Return one period as text: a letter for each job, a line for each resource, and what the letters mean.

    A stage too short for a column still gets one, unless a shorter one needs it.
    """
    chart = Chart.of(stage_seconds, interleaving, names, resources)
    rows = chart.rows()
    margin = max(width(cut(resource, _NAME)) for resource in chart.resources) + 2
    wide = max(_NARROWEST, columns - margin - _BUSY)
    lines = [cut(chart.title(), columns), *chart.subtitles(), "", " " * margin + _ruler(chart, wide)]
    for row in rows:
        name = cut(row.resource, _NAME) if row.first else ""
        lines.append(name + " " * (margin - width(name)) + _bars(chart, row, wide) + f"{100 * row.busy:5.0f} % busy")
    end = chart.time(chart.period)
    lines += [" " * margin + "0" + end.rjust(wide - 1), ""]
    head = ("", "job", "slot", *(cut(resource, _NAME) for resource in chart.resources), f"total, {chart.unit()[1]}")
    body = [
        (
            _letter(job),
            cut(chart.names[job], _NAME),
            str(interleaving.slots[job]),
            *map(chart.number, chart.stages[job]),
            chart.number(sum(chart.stages[job])),
        )
        for job in interleaving.order
    ]
    return "\n".join([*lines, *table(head, body, right=range(2, len(head)))]) + "\n"


def _letter(job: int) -> str:
    return ascii_uppercase[job]  # a group never has more than ten jobs


def _ruler(chart: Chart, wide: int) -> str:
    """Return the number of each slot where it begins; of slots of no length the last one counts."""
    marks = [" "] * wide
    for slot, (start, _) in enumerate(chart.slot_spans()):
        at = min(wide - 1, round(start / chart.period * wide)) if chart.period else 0
        marks[at] = str(slot)[-1]
    return "".join(marks).rstrip() + "  slot" if chart.period else "slots of no length"


def _bars(chart: Chart, row: Row, wide: int) -> str:
    cells = ["·"] * wide
    pieces = sorted(row.pieces(chart.period, 1), key=lambda piece: piece[1] - piece[2])
    for bar, start, end in pieces:  # the shortest last: it has one cell, its neighbours can spare it
        first = min(wide - 1, round(start / chart.period * wide))
        last = max(first + 1, round(end / chart.period * wide))
        cells[first:last] = _letter(bar.job) * (last - first)
    return "".join(cells)
