"""A figure of predicted against measured rates: a point for every job of every group, and the line where both agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.on_a_gpu.measurements import Point
from muri_opt.report.svg import INK, LINE, PALE, SOFT, document, element, rect, text

WIDE, HIGH = 520, 500
LEFT, RIGHT, TOP, BOTTOM = 64, 500, 70, 440
MOST = 1.2
COLOURS = ("#4477aa", "#ee6677")


def figure(title: str, points: Mapping[str, Sequence[Point]]) -> str:
    """Return the figure as SVG text."""
    return document(WIDE, HIGH, title, [*_ground(title), *_marks(points), *_keys(points)])


def _x(rate: float) -> float:
    return LEFT + (RIGHT - LEFT) * min(rate, MOST) / MOST


def _y(rate: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * min(rate, MOST) / MOST


def _ground(title: str) -> Iterator[str]:
    yield rect(0, 0, WIDE, HIGH, fill="#ffffff")
    yield text(LEFT, 28, title, 15, font_weight="bold", fill=INK)
    yield rect(LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP, fill=PALE)
    ends = [(0.0, 0.0), (MOST / 1.1, MOST), (MOST, MOST), (MOST, MOST / 1.1)]
    corners = " ".join(f"{_x(measured):.1f},{_y(predicted):.1f}" for measured, predicted in ends)
    yield element("polygon", points=corners, fill="#e4e9ee")
    for step in range(7):
        rate = step / 5
        yield element("line", x1=LEFT, x2=RIGHT, y1=_y(rate), y2=_y(rate), stroke=LINE, stroke_width=0.6)
        yield text(LEFT - 8, _y(rate) + 4, f"{rate:.1f}", 11, text_anchor="end", fill=SOFT)
        yield text(_x(rate), BOTTOM + 16, f"{rate:.1f}", 11, text_anchor="middle", fill=SOFT)
    yield element("line", x1=_x(0), y1=_y(0), x2=_x(MOST), y2=_y(MOST), stroke=SOFT, stroke_width=1)
    yield text(RIGHT, BOTTOM + 34, "measured", 12, text_anchor="end", fill=INK)
    yield text(LEFT - 40, TOP - 10, "predicted; grey: within 10 %", 12, fill=INK)


def _marks(points: Mapping[str, Sequence[Point]]) -> Iterator[str]:
    for some, colour in zip(points.values(), COLOURS, strict=True):
        for point in some:
            place = {"cx": _x(point.measured), "cy": _y(point.predicted)}
            yield element("circle", r=3.2, fill=colour, fill_opacity=0.65, **place)


def _keys(points: Mapping[str, Sequence[Point]]) -> Iterator[str]:
    for place, (name, colour) in enumerate(zip(points, COLOURS, strict=True)):
        x = LEFT + 210 * place
        yield element("circle", cx=x + 5, cy=HIGH - 14, r=4, fill=colour, fill_opacity=0.65)
        yield text(x + 16, HIGH - 10, name, 12, fill=INK)
