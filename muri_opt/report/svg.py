"""The few SVG elements a picture is drawn with: escaped text, rectangles, tooltips, colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr
from zlib import crc32

from muri_opt.report.format import cut, printable, width

# Paul Tol's light scheme, made for labelled cells with dark text and distinct to colour-blind readers, and each of its
# colours once more, mixed with an equal part of white.
_PALETTE = (
    *("#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#99ddff", "#44bb99", "#bbcc33", "#aaaa00"),
    *("#bbd4ee", "#f6c3b2", "#f6eec3", "#ffd4dd", "#ccefff", "#a1ddcc", "#dde599", "#d4d480"),
)
# What the eight colours look like side by side: there are two blues and two olives among them.
_LOOK = ("blue", "orange", "yellow", "pink", "blue", "green", "olive", "olive")

INK = "#1f2933"
SOFT = "#5f6b7a"
LINE = "#c9d1da"
PALE = "#f3f5f7"
FILL = "#7b8794"

HATCH = (
    '<defs><pattern id="free" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    f'<rect width="6" height="6" fill="{PALE}"/><line x1="0" y1="0" x2="0" y2="6" stroke="#dde3e9" stroke-width="2"/>'
    "</pattern></defs>"
)


def colour(job: str) -> str:
    """Return the colour of a job: the same in every picture."""
    return _PALETTE[crc32(job.encode()) % len(_PALETTE)]


def distinct_colours(jobs: Sequence[str]) -> list[str]:
    """Return a colour for each job of one picture: its own, or the next that is not like one given already."""
    given: list[int] = []
    for job in jobs:
        own = crc32(job.encode()) % len(_PALETTE)
        turns = [(own + turn) % len(_PALETTE) for turn in range(len(_PALETTE))]
        looks = {_LOOK[place % len(_LOOK)] for place in given}
        unlike = [place for place in turns if _LOOK[place % len(_LOOK)] not in looks]
        given.append((unlike or [place for place in turns if place not in given] or turns)[0])
    return [_PALETTE[place] for place in given]


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


def document(wide: float, high: float, title: str, parts: Iterable[str]) -> str:
    """Return the whole picture on a white ground."""
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_value(wide)}" height="{_value(high)}" '
        f'viewBox="0 0 {_value(wide)} {_value(high)}" role="img" '
        'font-family="Inter, &quot;Segoe UI&quot;, &quot;DejaVu Sans&quot;, Helvetica, Arial, sans-serif">\n'
        f"{tooltip(title)}\n{HATCH}\n{rect(0, 0, wide, high, fill='#ffffff')}\n{body}\n</svg>\n"
    )


def _name(name: str) -> str:
    return "class" if name == "kind" else name.replace("_", "-")


def _value(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
