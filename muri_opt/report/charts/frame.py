"""The frame of a chart: axes with marks, lines with tooltips, a key; words escaped, colours by class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from muri_opt.report.charts.style import SHAPES, series_of, shape_of
from muri_opt.report.format import printable
from muri_opt.report.svg import element, rect, text, tooltip

WIDTH = 568.0
HEIGHT = 300.0
LEFT, RIGHT = 62.0, WIDTH - 22.0
TOP, BOTTOM = 12.0, HEIGHT - 44.0

Place = Callable[[float], float]
Marks = Sequence[tuple[float, str]]
"""Where marks lie on an axis, in the units of the picture, and what they say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A picture with its title, what it shows in a sentence, and the key of its colours."""

    kind: str
    title: str
    caption: str
    high: float
    parts: tuple[str, ...]
    key: str = ""


def figure_html(figure: Figure, name: str) -> str:
    """Return a figure for a page; ``name`` is one no other figure of the page has, plain letters and digits."""
    size = f"0 0 {WIDTH:g} {figure.high:g}"
    picture = element(
        "svg",
        element("title", escaped(figure.title), id=f"{name}-title"),
        element("desc", escaped(figure.caption), id=f"{name}-about"),
        *figure.parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=size,
        role="img",
        aria_labelledby=f"{name}-title",
        aria_describedby=f"{name}-about",
        kind=f"chart {figure.kind}",
    )
    caption = f"<figcaption><h3>{escaped(figure.title)}</h3>{escaped(figure.caption)}</figcaption>"
    return f"<figure>{caption}\n{picture}\n{figure.key}</figure>"


def line(place: int, path: str, words: str) -> str:
    """Return the line of the series at a place, in its colour and dashes."""
    colour, dashes = series_of(place)
    return element("path", tooltip(words), d=path, kind=f"line s{colour}", **_dashed(dashes))


def line_key(names: Iterable[str]) -> str:
    """Return which line is whose."""
    entries = []
    for place, name in enumerate(names):
        colour, dashes = series_of(place)
        stroke = element("path", d="M0 5H28", kind=f"line s{colour}", **_dashed(dashes))
        entries.append((swatch(stroke), name))
    return key(entries)


def mark(place: int, x: float, y: float, words: str) -> str:
    """Return a mark of the series at a place, in its colour and shape."""
    return element("path", tooltip(words), d=f"M{x:.1f} {y:.1f}{SHAPES[shape_of(place)]}", kind=_marked(place))


def mark_key(names: Iterable[str]) -> str:
    """Return which marks are whose."""
    return key(
        (swatch(element("path", d=f"M14 5{SHAPES[shape_of(place)]}", kind=_marked(place))), name)
        for place, name in enumerate(names)
    )


def bar_key(colours: Iterable[tuple[int, str]]) -> str:
    """Return what the colours of bars stand for."""
    return key((swatch(rect(0, 0, 28, 10, kind=f"f{colour}")), name) for colour, name in colours)


def key(entries: Iterable[tuple[str, str]]) -> str:
    """Return a list of small pictures with their names."""
    return f'<ul class="key">{"".join(f"<li>{drawn}{escaped(name)}</li>" for drawn, name in entries)}</ul>\n'


def axes(x: Marks, y: Marks, label: str, *, bottom: float = BOTTOM) -> Iterator[str]:
    """Yield a grid with what its lines stand for; ``label`` says what lies along the lower edge."""
    across = "".join(f"M{LEFT:g} {spot:.1f}H{RIGHT:g}" for spot, _ in y)
    down = "".join(f"M{spot:.1f} {TOP:g}V{bottom:g}" for spot, _ in x)
    yield element("path", d=across + down, kind="grid")
    for spot, words in y:
        yield text(LEFT - 8, spot + 4, words, text_anchor="end")
    for spot, words in x:
        yield text(spot, bottom + 17, words, text_anchor="middle")
    yield text((LEFT + RIGHT) / 2, bottom + 36, label, text_anchor="middle")


def stairs(x: Sequence[float], y: Sequence[float]) -> str:
    """Return the path of a step function: from each x to the next at one y, one x more than there are y."""
    pieces = [f"M{x[0]:.1f} {y[0]:.1f}"]
    for after, high, following in zip(x[1:], y, (*y[1:], y[-1]), strict=True):
        pieces.append(f"H{after:.1f}" + (f"V{following:.1f}" if following != high else ""))
    return "".join(pieces)


def swatch(drawn: str) -> str:
    """Return a small picture for a key, 28 units wide and 10 high."""
    return element("svg", drawn, viewBox="0 0 28 10", aria_hidden="true")


def _marked(place: int) -> str:
    return f"mark f{series_of(place)[0]}"


def _dashed(dashes: str) -> dict[str, str | float]:
    return {"stroke_dasharray": dashes} if dashes else {}


def escaped(words: str) -> str:
    """Return words as they may stand between tags, whatever is in them."""
    return escape(printable(words))
