"""Two periods of a group as SVG: one lane per resource, a tooltip on every bar, the stage times below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muri_opt.report.gantt.chart import PERIODS, Chart, Row
from muri_opt.report.svg import INK, LINE, SOFT, distinct_colours, document, element, fitted, rect, text, tooltip
from muri_opt.systems.muri.interleaving import Interleaving

WIDTH = 1080.0
MARGIN = 28.0

_LEFT = 128.0
_RIGHT = WIDTH - MARGIN - 76.0
_TOP = 128.0
_ROW = 44.0
_GAP = 12.0
_TIGHT = 2.0


def gantt_svg(
    stage_seconds: Sequence[Sequence[float]],
    interleaving: Interleaving,
    names: Sequence[str],
    *,
    resources: Sequence[str] | None = None,
) -> str:
    """Return two periods as SVG text, with a tooltip on every bar."""
    chart = Chart.of(stage_seconds, interleaving, names, resources)
    colours = distinct_colours(chart.names)
    wide = WIDTH - 2 * MARGIN
    parts = [text(MARGIN, 44, fitted(chart.title(), wide, 22), 22, font_weight="bold")]
    parts += [
        text(MARGIN, 68 + 20 * place, fitted(line, wide, 11.5), 13, fill=SOFT)
        for place, line in enumerate(chart.subtitles())
    ]
    placed, bottom = _placed(chart.rows())
    parts += [part for row, y in placed for part in _lane(row, y)]
    parts += _slots(chart, bottom)
    parts += [part for row, y in placed for part in _bars(chart, row, colours, y)]
    if chart.period:  # the veil over the second period
        middle = _x(chart, chart.period)
        cover: dict[str, str | float] = {"fill": "#ffffff", "fill_opacity": 0.55, "pointer_events": "none"}
        parts.append(rect(middle, _TOP, _RIGHT - middle, bottom - _TOP, **cover))
    parts += _axis(chart, bottom)
    y, legend = _legend(chart, colours, bottom + 66)
    return document(WIDTH, y + MARGIN, chart.title(), [*parts, *legend])


def _x(chart: Chart, seconds: float) -> float:
    span = PERIODS * chart.period
    return _LEFT + (_RIGHT - _LEFT) * (seconds / span if span else 0.0)


def _placed(rows: Sequence[Row]) -> tuple[list[tuple[Row, float]], float]:
    """Return each row with its upper edge, and where the last one ends; rows of one resource lie close together."""
    placed: list[tuple[Row, float]] = []
    y = _TOP
    for row in rows:
        if placed:
            y += _GAP if row.first else _TIGHT
        placed.append((row, y))
        y += _ROW
    return placed, y


def _lane(row: Row, y: float) -> Iterator[str]:
    middle = y + _ROW / 2 + 4
    busy = f"{100 * row.busy:.0f} % busy"
    if row.first:
        yield text(MARGIN, middle, fitted(row.resource, _LEFT - MARGIN - 8, 12), 12, font_weight="bold")
    ground = rect(_LEFT, y, _RIGHT - _LEFT, _ROW, fill="url(#free)")
    yield element("g", tooltip(f"{row.resource}: {busy}"), ground, kind="lane")
    yield text(_RIGHT + 10, middle, busy, 11.5, fill=SOFT)


def _bars(chart: Chart, row: Row, colours: Sequence[str], y: float) -> Iterator[str]:
    for bar, start, end in row.pieces(chart.period, PERIODS):
        x, w = _x(chart, start), max(1.5, _x(chart, end) - _x(chart, start))
        name, time = fitted(chart.names[bar.job], w - 9, 12), chart.time(bar.seconds)
        frame: dict[str, str | float] = {"fill": colours[bar.job], "stroke": "#000000", "stroke_opacity": 0.25}
        yield element(
            "g",
            tooltip(chart.story(bar)),
            rect(x, y, w, _ROW, rx=min(4.0, w / 3), **frame),
            *([text(x + 5, y + 19, name, 12)] if name else []),
            *([text(x + 5, y + 34, time, 10.5, fill_opacity=0.75)] if fitted(time, w - 9, 10.5) == time else []),
            kind="bar",
        )


def _slots(chart: Chart, bottom: float) -> Iterator[str]:
    """Yield the slots, which lie beneath the bars: a number above, a line where each begins."""
    for turn in range(PERIODS if chart.period else 0):
        for slot, (start, end) in enumerate(chart.slot_spans()):
            left, right = (_x(chart, time + turn * chart.period) for time in (start, end))
            line: dict[str, str | float] = {"x1": left, "x2": left, "y2": bottom + 6, "pointer_events": "none"}
            if slot == 0:
                yield element("line", y1=_TOP - 22, stroke=INK, stroke_opacity=0.8, **line)
            else:
                yield element("line", y1=_TOP - 6, stroke=SOFT, stroke_width=0.8, stroke_dasharray="3 3", **line)
            words = f"slot {slot}" if right - left >= 40 else str(slot) if right - left >= 10 else ""
            if words:
                yield text((left + right) / 2, _TOP - 9, words, 11, fill=SOFT, text_anchor="middle")


def _axis(chart: Chart, y: float) -> Iterator[str]:
    yield element("line", x1=_LEFT, y1=y + 6, x2=_RIGHT, y2=y + 6, stroke=LINE)
    ends = _RIGHT
    for tick in chart.ticks(PERIODS * chart.period, 10):
        x, number = _x(chart, tick), chart.number(tick)
        yield element("line", x1=x, y1=y + 6, x2=x, y2=y + 11, stroke=SOFT)
        yield text(x, y + 24, number, 11, fill=SOFT, text_anchor="middle")
        ends = max(ends, x + 0.3 * 11 * len(number))
    yield text(ends + 6, y + 24, chart.unit()[1], 11, fill=SOFT)


def _legend(chart: Chart, colours: Sequence[str], y: float) -> tuple[float, list[str]]:
    """Return the jobs by slot with their stage times, and where the picture ends."""
    heads = ("begins in slot", *chart.resources, "total")
    first = MARGIN + 250.0
    step = min(120.0, (WIDTH - MARGIN - first) / len(heads))
    ends = [first + step * (place + 1) for place in range(len(heads))]
    parts = [text(MARGIN, y, f"job, times in {chart.unit()[1]}", 12, fill=SOFT)]
    parts += [
        text(x, y, fitted(head, step - 6, 11), 12, fill=SOFT, text_anchor="end")
        for x, head in zip(ends, heads, strict=True)
    ]
    parts.append(element("line", x1=MARGIN, y1=y + 7, x2=ends[-1], y2=y + 7, stroke=LINE))
    y += 6
    for job in chart.interleaving.order:
        y += 22
        parts.append(
            rect(MARGIN, y - 11, 22, 14, rx=3, fill=colours[job], stroke="#000000", stroke_opacity=0.25, kind="key")
        )
        parts.append(text(MARGIN + 30, y, fitted(chart.names[job], first - MARGIN - 40, 12), 12, font_weight="bold"))
        cells = (
            str(chart.interleaving.slots[job]),
            *map(chart.number, chart.stages[job]),
            chart.number(sum(chart.stages[job])),
        )
        parts += [text(x, y, cell, 12, text_anchor="end") for x, cell in zip(ends, cells, strict=True)]
    return y, parts
