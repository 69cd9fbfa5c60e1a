"""Two periods of a group as PNG, drawn by matplotlib: for papers and slides."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muri_opt.errors import InputError
from muri_opt.report.gantt.chart import PERIODS, Chart, Row
from muri_opt.report.svg import INK, LINE, PALE, SOFT, distinct_colours, fitted
from muri_opt.systems.muri.interleaving import Interleaving

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# All lengths are inches from the upper left corner; the sizes of letters are points.
_WIDTH, _MARGIN = 10.8, 0.28
_LEFT, _RIGHT = 1.28, 9.76
_TOP, _ROW, _GAP, _TIGHT = 1.22, 0.44, 0.12, 0.02
_KEY = 2.5
_DPI = 160
_POINTS = 72.0
_HATCH = "#dde3e9"


def gantt_png(
    path: str | Path,
    stage_seconds: Sequence[Sequence[float]],
    interleaving: Interleaving,
    names: Sequence[str],
    *,
    resources: Sequence[str] | None = None,
) -> None:
    """Write two periods of a group to a PNG file."""
    _check_matplotlib()
    chart = Chart.of(stage_seconds, interleaving, names, resources)
    placed = _placed(chart.rows())
    bottom = placed[-1][1] + _ROW
    figure, axes = _sheet(bottom + 0.75 + 0.24 * -(-len(names) // _across()), chart.title(), chart.subtitles())
    colours = distinct_colours(chart.names)
    for row, y in placed:
        _draw_row(axes, chart, row, y, colours)
    _draw_slots(axes, chart, bottom)
    _draw_axis(axes, chart, bottom)
    _draw_keys(axes, chart, colours, bottom + 0.68)
    save(path, figure)


def figure_of(
    title: str,
    subtitles: Sequence[str],
    rows: Sequence[tuple[str, Sequence[float], str]],
    keys: Sequence[str],
    colours: Sequence[str],
) -> Figure:
    """Return a figure of resources, by whom and how much of the time they are used; parts are from 0 to 1."""
    _check_matplotlib()
    bottom = _TOP + len(rows) * (_ROW + _GAP)
    figure, axes = _sheet(bottom + 0.5 + 0.24 * len(keys), title, subtitles)
    for place, (resource, parts, busy) in enumerate(rows):
        x, y, right = _LEFT, _TOP + place * (_ROW + _GAP), _RIGHT - 1.0
        _words(axes, _MARGIN, y + 0.26, resource, 9.5, _LEFT - _MARGIN - 0.1, weight="bold")
        _words(axes, right + 0.1, y + 0.26, busy, 8.5, 2.0, color=SOFT)
        _box(axes, x, y, right - x, _ROW, facecolor=PALE, edgecolor=_HATCH, hatch="////", linewidth=0)
        for part, colour in zip(parts, colours, strict=True):
            w = (right - _LEFT) * part
            _box(axes, x, y, w, _ROW, facecolor=colour, edgecolor=SOFT, linewidth=0.5, zorder=2)
            x += w
    for place, (key, colour) in enumerate(zip(keys, colours, strict=True)):
        line = bottom + 0.3 + 0.24 * place
        _box(axes, _MARGIN, line - 0.11, 0.2, 0.13, facecolor=colour, edgecolor=SOFT, linewidth=0.5)
        _words(axes, _MARGIN + 0.28, line, key, 9, _WIDTH - 2 * _MARGIN)
    return figure


def save(path: str | Path, figure: Figure) -> None:
    """Write a figure to a PNG file."""
    drawn = BytesIO()
    figure.savefig(drawn, format="png")
    try:
        Path(path).write_bytes(drawn.getvalue())
    except OSError as error:
        raise InputError(str(path), error.strerror or str(error), "a file that can be written") from None


def _check_matplotlib() -> None:
    """Refuse a PNG where nothing can draw one."""
    try:
        import matplotlib.figure  # noqa: F401 - whether it is there
    except ImportError:
        raise InputError("picture", "a PNG without matplotlib", "an SVG, or pip install 'muri-opt[pictures]'") from None


def _sheet(high: float, title: str, subtitles: Sequence[str]) -> tuple[Figure, Axes]:
    """Return a white sheet with its title and what is below it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, high), dpi=_DPI, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, _WIDTH), ylim=(high, 0))
    axes.set_axis_off()
    _words(axes, _MARGIN, 0.42, title, 15, _WIDTH - 2 * _MARGIN, weight="bold")
    for line, y in zip(subtitles, (0.68, 0.88), strict=True):
        _words(axes, _MARGIN, y, line, 9.5, _WIDTH - 2 * _MARGIN, color=SOFT)
    return figure, axes


def _placed(rows: Sequence[Row]) -> list[tuple[Row, float]]:
    """Return each row with its upper edge; rows of one resource lie close together."""
    y = _TOP
    placed = [(rows[0], y)]
    for row in rows[1:]:
        y += _ROW + (_GAP if row.first else _TIGHT)
        placed.append((row, y))
    return placed


def _x(chart: Chart, seconds: float) -> float:
    span = PERIODS * chart.period
    return _LEFT + (_RIGHT - _LEFT) * (seconds / span if span else 0.0)


def _words(axes: Axes, x: float, y: float, words: str, size: float, space: float, **style: Any) -> None:
    """Write as much as fits; a dollar sign in a name is a dollar sign, not the beginning of a formula."""
    shown = fitted(words, _POINTS * space, size)
    axes.text(x, y, shown, size=size, **{"color": INK, "parse_math": False, **style})


def _box(axes: Axes, x: float, y: float, w: float, h: float, **style: Any) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), w, h, **style))


def _draw_row(axes: Axes, chart: Chart, row: Row, y: float, colours: Sequence[str]) -> None:
    if row.first:
        _words(axes, _MARGIN, y + 0.26, row.resource, 9.5, _LEFT - _MARGIN - 0.1, weight="bold")
    _words(axes, _RIGHT + 0.1, y + 0.26, f"{100 * row.busy:.0f} % busy", 8.5, 1.0, color=SOFT)
    _box(axes, _LEFT, y, _RIGHT - _LEFT, _ROW, facecolor=PALE, edgecolor=_HATCH, hatch="////", linewidth=0)
    for bar, start, end in row.pieces(chart.period, PERIODS):
        x, w = _x(chart, start), max(0.012, _x(chart, end) - _x(chart, start))
        _box(axes, x, y, w, _ROW, facecolor=colours[bar.job], edgecolor=SOFT, linewidth=0.5, zorder=2)
        _words(axes, x + 0.05, y + 0.19, chart.names[bar.job], 8.5, w - 0.07)
        time = chart.time(bar.seconds)
        if fitted(time, _POINTS * (w - 0.07), 7.5) == time:
            _words(axes, x + 0.05, y + 0.35, time, 7.5, w - 0.07, alpha=0.75)


def _draw_slots(axes: Axes, chart: Chart, bottom: float) -> None:
    """Draw the veil over the second period and, beneath the bars, the slots: a number above, a line at the start."""
    if not chart.period:
        return
    middle = _x(chart, chart.period)
    _box(axes, middle, _TOP, _RIGHT - middle, bottom - _TOP, facecolor="white", alpha=0.55, linewidth=0, zorder=4)
    for turn in range(PERIODS):
        for slot, (start, end) in enumerate(chart.slot_spans()):
            left, right = (_x(chart, time + turn * chart.period) for time in (start, end))
            first = slot == 0
            axes.plot(
                [left, left],
                [_TOP - (0.2 if first else 0.06), bottom + 0.06],
                color=INK if first else SOFT,
                linewidth=1.0 if first else 0.6,
                linestyle="-" if first else "--",
                zorder=1.5,
            )
            words = f"slot {slot}" if right - left > 0.45 else str(slot) if right - left > 0.1 else ""
            _words(axes, (left + right) / 2, _TOP - 0.08, words, 8, 1.0, color=SOFT, ha="center")


def _draw_axis(axes: Axes, chart: Chart, bottom: float) -> None:
    y = bottom + 0.06
    axes.plot([_LEFT, _RIGHT], [y, y], color=LINE, linewidth=0.8)
    for tick in chart.ticks(PERIODS * chart.period, 10):
        x = _x(chart, tick)
        axes.plot([x, x], [y, y + 0.05], color=SOFT, linewidth=0.8)
        _words(axes, x, y + 0.2, chart.number(tick), 8, 1.0, color=SOFT, ha="center")
    _words(axes, _RIGHT + 0.1, y + 0.2, chart.unit()[1], 8, 1.0, color=SOFT)


def _across() -> int:
    return int((_WIDTH - 2 * _MARGIN) / _KEY)


def _draw_keys(axes: Axes, chart: Chart, colours: Sequence[str], y: float) -> None:
    for place, job in enumerate(chart.interleaving.order):
        down, right = divmod(place, _across())
        x, line = _MARGIN + right * _KEY, y + 0.24 * down
        _box(axes, x, line - 0.11, 0.2, 0.13, facecolor=colours[job], edgecolor=SOFT, linewidth=0.5)
        told = f"{chart.names[job]}, {chart.time(sum(chart.stages[job]))}"
        _words(axes, x + 0.28, line, told, 9, _KEY - 0.35)
