"""Pictures as PNG: the SVG text that is drawn anyway, rendered by resvg at twice its size."""

from __future__ import annotations

from muri_opt.errors import InputError
from muri_opt.report.svg import document, text

_ZOOM = 2.0
"""Pixels of the PNG for each unit of the SVG, so that letters stay sharp on a slide."""


def check_png() -> None:
    """Refuse a PNG where nothing can render one, or where no font is installed and all labels would be missing."""
    try:
        import resvg_py  # noqa: F401 - whether it is there
    except ImportError:
        raise InputError("picture", "a PNG without resvg", "an SVG, or pip install 'muri-opt[png]'") from None
    if png_of(document(40, 20, "", [text(2, 15, "Mm")])) == png_of(document(40, 20, "", [])):
        allowed = "an SVG, or a font for its labels: on Debian apt-get install fonts-dejavu-core"
        raise InputError("picture", "a PNG without a font", allowed)


def png_of(svg: str) -> bytes:
    """Return a picture as PNG, on the light ground of its SVG."""
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=_ZOOM))
