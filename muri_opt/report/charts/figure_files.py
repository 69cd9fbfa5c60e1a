"""Figures for papers: an empty one, lines and legends in the colours of the reports, SVG and PNG files of each."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from muri_opt.errors import InputError, RefusalError
from muri_opt.replay.outcome import Floats
from muri_opt.report.charts.style import LIGHT, series_of
from muri_opt.report.format import printable
from muri_opt.studies.runner.atomic_write import replace_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

WIDE, HIGH = 4.6, 2.9
"""Inches of a figure with one panel."""
_DPI = 200
_COLUMNS = 4


def figure_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the folder for figures, made if need be; refused before any work where they could not be written."""
    try:
        import_module("matplotlib.figure")
    except ImportError:
        raise RefusalError(
            "figures", "figures to write, and matplotlib is not installed", "pip install 'muri-opt[pictures]'"
        ) from None
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(str(folder), error.strerror or str(error), "a folder that can be written to") from None
    return place


def save_figures(drawn: Iterable[tuple[str, Figure]], folder: Path) -> list[Path]:
    """Write each figure as an SVG and a PNG file under its name; return the files. ``drawn`` may draw as it goes."""
    from matplotlib import rc_context

    # A fixed salt makes the same figure the same file; letters stay letters, which an editor can change.
    with rc_context({"font.size": 9.0, "svg.hashsalt": "muri-opt", "svg.fonttype": "none"}):
        return [path for name, figure in drawn for path in _saved(figure, folder / name)]


def empty_figure(
    *, down: int = 1, across: int = 1, wide: float = WIDE, high: float = HIGH, grid: bool = True
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels: below each other with one axis of x, or beside each other with one of y."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(wide, high), dpi=_DPI, layout="constrained")
    panels = list(figure.subplots(down, across, sharex=down > 1, sharey=across > 1, squeeze=False).flat)
    for axes in panels if grid else ():
        axes.grid(visible=True, color="#dde3e9", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels


def step_line(axes: Axes, place: int, x: Floats, y: Floats) -> None:
    """Draw the steps of the series at a place, in its colour and dashes."""
    colour, dashes = series_of(place)
    shown = (0, tuple(float(part) / 2 for part in dashes.split())) if dashes else "-"
    axes.plot(x, y, drawstyle="steps-post", color=LIGHT[colour], linestyle=shown, linewidth=1.3)


def name_above(figure: Figure, axes: Axes, names: Sequence[str]) -> None:
    """Add a legend of the lines of a panel above the whole figure, where it covers no mark.

    To look for the emptiest place within the panel takes seconds where there are many points.
    """
    looks = {"fontsize": 8, "frameon": False, "ncols": min(len(names), _COLUMNS)}
    _name(figure.legend(axes.lines, _numbers(names), loc="outside upper left", **looks), names)


def _numbers(names: Sequence[str]) -> list[str]:
    return list(map(str, range(len(names))))


def _name(legend: Legend, names: Sequence[str]) -> None:
    """Write the names last, so that none is read as a formula or, after ``_``, as no name at all."""
    for words, name in zip(legend.get_texts(), names, strict=True):
        words.set_parse_math(False)
        words.set_text(printable(name))


def _saved(figure: Figure, stem: Path) -> Iterator[Path]:
    for kind, about in (("svg", {"Date": None}), ("png", {"Software": None})):
        data = BytesIO()
        figure.savefig(data, format=kind, metadata=about, bbox_inches="tight")
        path = stem.with_name(f"{stem.name}.{kind}")
        try:
            replace_file(path, data.getvalue())
        except OSError as error:
            raise InputError(str(path), error.strerror or str(error), "a file that can be written") from None
        yield path
