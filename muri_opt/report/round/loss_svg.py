"""Where a published grouping loses, as a picture: from its value up to the optimum, rule by rule that is lifted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from muri_opt.report.format import integer, printable
from muri_opt.report.svg import FILL, LINE, SOFT, document, element, fitted, rect, text, tooltip
from muri_opt.studies.explain import CAUSES, GroupingLoss

_WIDE, _MARGIN, _LEFT, _TOP, _ROW, _GAP = 1080.0, 28.0, 490.0, 96.0, 26.0, 10.0
_RIGHT = _WIDE - _MARGIN - 150.0
_GAIN = "#ee8866"


class _Bar(NamedTuple):
    """A line of the picture: from which value to which, and whether that is a gain."""

    name: str
    start: int
    end: int
    gain: bool


def loss_picture(loss: GroupingLoss) -> str:
    """Return the picture as SVG text, with a tooltip on every bar."""
    share = f", {100 * loss.loss / loss.optimum:.2f} % of the optimum" if loss.optimum > 0 else ""
    title = f"Where {printable(loss.policy)} loses: {integer(loss.loss)}{share}"
    parts = [
        text(_MARGIN, 44, fitted(title, _WIDE - 2 * _MARGIN, 20), 20, font_weight="bold"),
        text(_MARGIN, 68, fitted(printable(loss.value_unit), _WIDE - 2 * _MARGIN, 13), 13, fill=SOFT),
    ]
    bars = _bars(loss)
    most = max(1, *(bar.end for bar in bars))
    for place, bar in enumerate(bars):
        parts += _drawn(bar, _TOP + place * (_ROW + _GAP), most)
    return document(_WIDE, _TOP + len(bars) * (_ROW + _GAP) + _MARGIN, title, parts)


def _bars(loss: GroupingLoss) -> list[_Bar]:
    bars = [_Bar("the published algorithm", 0, loss.heuristic, gain=False)]
    reached = loss.heuristic
    for step in loss.steps:
        sure = "" if step.optimal else ", at least"
        bars.append(_Bar(CAUSES[step.cause] + sure, reached, step.value, gain=True))
        reached = step.value
    return [*bars, _Bar("the optimum without these rules", 0, loss.optimum, gain=False)]


def _drawn(bar: _Bar, y: float, most: int) -> Iterator[str]:
    x, end = (_LEFT + (_RIGHT - _LEFT) * value / most for value in (bar.start, bar.end))
    worth = f"+{integer(bar.end - bar.start)}" if bar.gain else integer(bar.end)
    weight = {} if bar.gain else {"font_weight": "bold"}
    yield text(_MARGIN, y + 18, fitted(bar.name, _LEFT - _MARGIN - 12, 11.5), 11.5, **weight)
    yield element("line", x1=_LEFT, x2=_RIGHT, y1=y + _ROW + _GAP / 2, y2=y + _ROW + _GAP / 2, stroke=LINE)
    shape = rect(x, y, max(1.5, end - x), _ROW, fill=_GAIN if bar.gain else FILL)
    yield element("g", tooltip(f"{bar.name}: {worth}"), shape, kind="bar")
    yield text(max(x, end) + 8, y + 18, worth, 11.5)
