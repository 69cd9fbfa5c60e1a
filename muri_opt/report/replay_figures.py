"""``write_figures()``: the charts of replays as SVG and PNG files drawn by matplotlib, for papers and slides."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from muri_opt.errors import InputError, RefusalError
from muri_opt.replay.outcome import Floats, Outcome
from muri_opt.replay.studies.outcome_files import replace_file
from muri_opt.report.replay_groups import Group, groups_of
from muri_opt.report.replay_scales import duration, log_ticks, time_unit
from muri_opt.report.replay_series import Steps, distribution, heat, steps
from muri_opt.report.replay_style import LIGHT, series_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDE, _HIGH = 4.6, 2.9
_MAP_HIGH = 1.5
_DPI = 200


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


def write_figures(outcomes: Sequence[Outcome], folder: str | os.PathLike[str]) -> list[Path]:
    """Write ``jct_cdf``, ``utilisation``, ``queue`` and, where nodes are known, ``heat_map``; return the files.

    Each is an SVG and a PNG file. Where replays are not all of the same jobs, cluster and seed, a number in the name
    says to which group of them a figure belongs.
    """
    groups = groups_of(outcomes)
    place = figure_folder(folder)
    from matplotlib import rc_context

    written: list[Path] = []
    # A fixed salt makes the same figure the same file; letters stay letters, which an editor can change.
    with rc_context({"font.size": 9.0, "svg.hashsalt": "muri-opt", "svg.fonttype": "none"}):
        for number, group in enumerate(groups, 1):
            end = f"-{number}" if len(groups) > 1 else ""
            for name, draw in _DRAWN.items():
                drawn = draw(group)
                written += [] if drawn is None else _saved(drawn, place / f"{name}{end}")
    return written


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


def _empty(high: float = _HIGH) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDE, high), dpi=_DPI, layout="constrained")
    axes = figure.add_subplot()
    axes.grid(visible=True, color="#dde3e9", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _completion(group: Group) -> Figure:
    figure, axes = _empty()
    found = [distribution(outcome.jobs.completion) for outcome in group.outcomes]
    for place, (times, parts) in enumerate(found):
        _line(axes, place, np.concatenate([times[:1], times]), np.concatenate([np.zeros_like(parts[:1]), parts]))
    every = np.concatenate([times for times, _ in found])
    if len(every):
        marks = log_ticks(float(every.min()), float(every.max()))
        axes.set_xscale("log")
        axes.set_xlim(marks[0], marks[-1])
        axes.set_xticks(marks, [duration(mark) for mark in marks])
        axes.minorticks_off()
    axes.set_ylim(0.0, 1.02)
    axes.set_xlabel("job completion time")
    axes.set_ylabel("part of the jobs")
    _legend(axes, group)
    return figure


def _utilisation(group: Group) -> Figure:
    found = [steps(o.timeline, o.timeline.busy / max(1, o.total_gpus)) for o in group.outcomes]
    figure, axes = _over_time(group, found, "part of the GPUs in use")
    axes.set_ylim(0.0, 1.02)
    return figure


def _queue(group: Group) -> Figure:
    figure, axes = _over_time(group, [steps(o.timeline, o.timeline.queue) for o in group.outcomes], "jobs that wait")
    axes.set_ylim(bottom=0.0)
    return figure


def _over_time(group: Group, found: Sequence[Steps], label: str) -> tuple[Figure, Axes]:
    figure, axes = _empty()
    begin, end = group.span
    unit = time_unit(end - begin)
    for place, series in enumerate(found):
        _line(axes, place, (series.edges - begin) / unit.seconds, np.append(series.values, series.values[-1:]))
    axes.set_xlabel(f"{unit.name} since the beginning")
    axes.set_ylabel(label)
    _legend(axes, group)
    return figure, axes


def _heat_map(group: Group) -> Figure | None:
    """Return the heat maps of all replays that know their nodes, one above the other; none if no replay does."""
    begin, end = group.span
    found = [(name, heat(o.timeline, begin, end)) for name, o in zip(group.names, group.outcomes, strict=True)]
    found = [(name, entry) for name, entry in found if entry.rows]
    if not found:
        return None
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDE, 0.5 + _MAP_HIGH * len(found)), dpi=_DPI, layout="constrained")
    unit = time_unit(end - begin)
    every = figure.subplots(len(found), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (name, entry) in zip(every, found, strict=True):
        image = axes.imshow(
            entry.values,
            aspect="auto",
            interpolation="nearest",
            cmap="Blues",
            vmin=0.0,
            vmax=max(1.0, group.most_gpus_of_a_node),
            extent=(0.0, (end - begin) / unit.seconds, entry.rows[-1].stop - 0.5, -0.5),
        )
        axes.set_title(name, parse_math=False, fontsize=9, loc="left")
        axes.set_ylabel("node")
        axes.yaxis.get_major_locator().set_params(integer=True)
    every[-1].set_xlabel(f"{unit.name} since the beginning")
    figure.colorbar(image, ax=list(every), label="GPUs in use")
    return figure


def _line(axes: Axes, place: int, x: Floats, y: Floats) -> None:
    colour, dashes = series_of(place)
    shown = (0, tuple(float(part) / 2 for part in dashes.split())) if dashes else "-"
    axes.plot(x, y, drawstyle="steps-post", color=LIGHT[colour], linestyle=shown, linewidth=1.3)


def _legend(axes: Axes, group: Group) -> None:
    """Name the lines; the names come last, so that none is read as a formula or, after ``_``, as no name at all."""
    legend = axes.legend(axes.lines, list(map(str, range(len(group.names)))), fontsize=8, frameon=False)
    for words, name in zip(legend.get_texts(), group.names, strict=True):
        words.set_parse_math(False)
        words.set_text(name)


_DRAWN: Final[dict[str, Callable[[Group], Figure | None]]] = {
    "jct_cdf": _completion,
    "utilisation": _utilisation,
    "queue": _queue,
    "heat_map": _heat_map,
}
