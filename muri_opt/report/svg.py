"""The few SVG elements a picture is drawn with: escaped text, rectangles, tooltips, colours."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr
from zlib import crc32

from muri_opt.report.format import cut, printable, width

# Paul Tol's light scheme, made for labelled cells with dark text and distinct to colour-blind readers, and each of its
# colours once more, mixed with an equal part of white. The others are for pictures of more jobs: one after another that
# of all soft colours which lies farthest from those before, to readers with and without red and green; all of them
# carry dark text at a contrast of 5 or more.
_PALETTE = (
    *("#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#99ddff", "#44bb99", "#bbcc33", "#aaaa00"),
    *("#bbd4ee", "#f6c3b2", "#f6eec3", "#ffd4dd", "#ccefff", "#a1ddcc", "#dde599", "#d4d480"),
    *("#cc88bb", "#ccaaff", "#999988", "#bbbb99", "#ffbbff", "#99ffcc", "#eeaa66", "#66ccdd"),
    *("#bbaacc", "#77cc88", "#cc9999", "#66ffff", "#aa88dd", "#88aa66", "#88bbff", "#ee99cc"),
    *("#ddbbdd", "#ddffaa", "#bb9966", "#bbbb66", "#99dd99", "#9999bb", "#66aaaa", "#ff9988"),
)
_OWN = 16
MOST_COLOURS = len(_PALETTE)
# What the eight colours look like side by side: there are two blues and two olives among them.
_LOOK = ("blue", "orange", "yellow", "pink", "blue", "green", "olive", "olive")

INK = "#1f2933"
SOFT = "#5f6b7a"
LINE = "#c9d1da"
PALE = "#f3f5f7"
FILL = "#7b8794"
SAME = "#e8ecf0"
TILE = "#0b5394"

GROUND = "#ffffff"
_SMALLEST = 9.0
_STRIPE = "#dde3e9"
_DARK = {
    INK: "#e6eaee",
    SOFT: "#a9b4c0",
    LINE: "#3a444f",
    PALE: "#1f262d",
    SAME: "#2a323a",
    TILE: "#7fb2f0",
    GROUND: "#14181d",
    _STRIPE: "#2d363f",
}

HATCH = (
    '<defs><pattern id="free" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    f'<rect width="6" height="6" fill="{PALE}"/><line x1="0" y1="0" x2="0" y2="6" stroke="{_STRIPE}" stroke-width="2"/>'
    "</pattern></defs>"
)


def distinct_colours(jobs: Sequence[str]) -> list[str]:
    """Return a colour for each job of one picture: its own, or the next that is not like one given already.

    No two of the first :data:`MOST_COLOURS` jobs have the same one; of more, each has its own again.
    """
    given: set[int] = set()
    colours = []
    for job in jobs:
        own = crc32(job.encode()) % _OWN
        turns = [*((own + turn) % _OWN for turn in range(_OWN)), *range(_OWN, MOST_COLOURS)]
        looks = {_LOOK[place % len(_LOOK)] for place in given if place < _OWN}
        unlike = [place for place in turns[:_OWN] if _LOOK[place % len(_LOOK)] not in looks]
        place = (unlike or [place for place in turns if place not in given] or turns)[0]
        given.add(place)
        colours.append(_PALETTE[place])
    return colours


def dark_style() -> str:
    """Return the style by which a picture turns dark where its reader prefers that; labels on jobs stay as they are."""
    rules = [f'[{name}="{light}"]{{{name}:{dark}}}' for light, dark in _DARK.items() for name in ("fill", "stroke")]
    on_jobs = f".block text,.bar text,.differs text{{fill:{INK}}}"
    return element("style", "@media (prefers-color-scheme:dark){", *rules, on_jobs, "}")


def element(tag: str, *children: str, **attributes: str | float) -> str:
    """Return one element; underscores in the names of attributes become hyphens, ``kind`` becomes ``class``."""
    said = "".join(f" {_name(name)}={quoteattr(_value(value))}" for name, value in attributes.items())
    return f"<{tag}{said}>{''.join(children)}</{tag}>" if children else f"<{tag}{said}/>"


def rect(x: float, y: float, w: float, h: float, **attributes: str | float) -> str:
    """Return a rectangle."""
    return element("rect", x=x, y=y, width=max(0.0, w), height=max(0.0, h), **attributes)


def text(x: float, y: float, words: str, size: float = 12, **attributes: str | float) -> str:
    """Return a line of text that begins at ``x`` on the base line ``y``."""
    attributes.setdefault("fill", INK)
    return element("text", escape(printable(words)), x=x, y=y, font_size=size, **attributes)


def tooltip(words: str) -> str:
    """Return what a viewer shows when the pointer rests on the element around it."""
    return element("title", escape(printable(words)))


def fitted(words: str, space: float, size: float) -> str:
    """Return as much of the words as fits into ``space``; nothing where less than three characters would."""
    columns = int(space / (0.6 * size))
    shown = printable(words)
    if width(shown) <= columns:
        return shown
    return cut(shown, columns) if columns >= 3 else ""


def wrapped(words: str, space: float, size: float, most: int) -> list[str]:
    """Return the words in lines that fit into ``space``, at most so many; the last one is cut where there are more."""
    lines = textwrap.wrap(printable(words), max(3, int(space / (0.6 * size))))
    return lines if len(lines) <= most else [*lines[: most - 1], fitted(" ".join(lines[most - 1 :]), space, size)]


def shrunk(words: str, space: float, size: float) -> tuple[str, float]:
    """Return as much of the words as fits, in smaller letters before any are left out, and their size."""
    needed = 0.6 * max(1, width(printable(words)))
    size = max(min(size, _SMALLEST), min(size, space / needed))
    return fitted(words, space + 0.01, size), size


def document(wide: float, high: float, title: str, parts: Iterable[str]) -> str:
    """Return the whole picture on a white ground, or a dark one where the reader prefers that."""
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_value(wide)}" height="{_value(high)}" '
        f'viewBox="0 0 {_value(wide)} {_value(high)}" role="img" '
        'font-family="Inter, &quot;Segoe UI&quot;, &quot;DejaVu Sans&quot;, Helvetica, Arial, sans-serif">\n'
        f"{tooltip(title)}\n{dark_style()}\n{HATCH}\n{rect(0, 0, wide, high, fill=GROUND)}\n{body}\n</svg>\n"
    )


def _name(name: str) -> str:
    return "class" if name == "kind" else name.replace("_", "-")


def _value(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
