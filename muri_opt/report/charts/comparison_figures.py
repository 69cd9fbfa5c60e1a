"""``write_figures()``: the charts of a gap study as SVG and PNG files drawn by matplotlib, for papers and slides."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from muri_opt.errors import InputError
from muri_opt.report.charts.comparison_series import (
    ACROSS,
    UP,
    LossAxis,
    Run,
    Spreads,
    loss_axis,
    runs_of,
    spreads_by_policy,
    spreads_by_size,
)
from muri_opt.report.charts.figure_files import (
    HIGH,
    WIDE,
    empty_figure,
    figure_folder,
    name_above,
    save_figures,
    step_line,
)
from muri_opt.report.charts.scales import duration, log_ticks, power_ticks
from muri_opt.report.charts.style import LIGHT, series_of, shape_of
from muri_opt.report.format import amount, printable
from muri_opt.studies.compare.pairs import Pair, pairs_of
from muri_opt.studies.compare.profile import ended, profile, reached
from muri_opt.studies.compare.rows import CompareRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SLOT = 0.7
_LANE = 0.11


def write_figures(rows: Sequence[CompareRow], folder: str | os.PathLike[str]) -> list[Path]:
    """Write ``profile``, ``loss_time``, ``loss_size`` and ``loss_policy``, each as SVG and PNG; return the files."""
    if not rows:
        raise InputError("rows", "none", "at least one run")
    return save_figures(_drawn(pairs_of(rows)), figure_folder(folder))


def _drawn(pairs: Sequence[Pair]) -> Iterator[tuple[str, Figure]]:
    runs = runs_of(pairs)
    axis = loss_axis(run.loss for mine in runs.values() for run in mine)
    yield "profile", _profiles(pairs)
    yield "loss_time", _time(runs, axis)
    yield "loss_size", _size(runs, axis)
    yield "loss_policy", _policy(pairs, runs, axis)


def _profiles(pairs: Sequence[Pair]) -> Figure:
    figure, panels = empty_figure(across=2, wide=1.5 * WIDE)
    for axes, solved, title in zip(panels, (reached, ended), ("best value found", "solved to the end"), strict=True):
        told = profile(pairs, solved)
        marks = power_ticks(told.largest)
        for place in range(len(told.methods)):
            ratios, parts = told.curve(place)
            x = np.concatenate([[1.0], ratios, [marks[-1]]])
            step_line(axes, place, x, np.concatenate([[0.0], parts, parts[-1:] if len(parts) else [0.0]]))
        axes.set_xscale("log")
        axes.set_xlim(marks[0], marks[-1])
        axes.set_xticks(marks, [amount(mark) for mark in marks])
        axes.minorticks_off()
        axes.set_title(title, fontsize=9, loc="left")
        axes.set_xlabel("times the time of the fastest")
    panels[0].set_ylim(0.0, 1.02)
    panels[0].set_ylabel("part of the pairs")
    name_above(figure, panels[0], told.methods)
    return figure


def _time(runs: Mapping[str, Sequence[Run]], axis: LossAxis) -> Figure:
    figure, (axes,) = empty_figure()
    every = [run.seconds for mine in runs.values() for run in mine]
    ticks = log_ticks(min(every), max(every)) if every else [0.1, 1.0]
    for place, mine in enumerate(runs.values()):
        lane = (place + 0.5) / len(runs)
        _marks(axes, place, [run.seconds for run in mine], [axis.place(run.loss, lane) for run in mine])
    axes.set_xscale("log")
    axes.set_xlim(ticks[0], ticks[-1])
    axes.set_xticks(ticks, [duration(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("time of the run")
    _loss_up(axes, axis)
    name_above(figure, axes, list(runs))
    return figure


def _size(runs: Mapping[str, Sequence[Run]], axis: LossAxis) -> Figure:
    figure, (axes,) = empty_figure()
    found = spreads_by_size(runs)
    apart = _SLOT / max(1, len(runs))
    for place in range(len(runs)):
        at, near, far = _spreads(found, place, axis)
        x = [number + apart * (place - (len(runs) - 1) / 2) for number in at]
        axes.vlines(x, near, far, colors=LIGHT[series_of(place)[0]], linewidth=1.1)
        _marks(axes, place, x, near)
    axes.set_xticks(range(len(found)), [spreads.label for spreads in found], fontsize=7)
    axes.set_xlabel("jobs of the round")
    _loss_up(axes, axis)
    name_above(figure, axes, list(runs))
    return figure


def _policy(pairs: Sequence[Pair], runs: Mapping[str, Sequence[Run]], axis: LossAxis) -> Figure:
    found = spreads_by_policy(pairs, runs)
    figure, (axes,) = empty_figure(high=max(HIGH, 0.9 + (_LANE * len(runs) + 0.1) * len(found)))
    apart = _SLOT / max(1, len(runs))
    for place in range(len(runs)):
        at, near, far = _spreads(found, place, axis)
        y = [number + apart * (place - (len(runs) - 1) / 2) for number in at]
        axes.hlines(y, near, far, colors=LIGHT[series_of(place)[0]], linewidth=1.1)
        _marks(axes, place, near, y)
    axes.set_yticks(range(len(found)), [printable(spreads.label) for spreads in found], parse_math=False)
    axes.set_ylim(max(1, len(found)) - 0.5, -0.5)
    axes.axvspan(*axis.band, color="#f3f5f7", zorder=0)
    axes.set_xlim(0.0, 1.0)
    axes.set_xticks(*zip(*axis.marks(ACROSS), strict=True))
    axes.set_xlabel("loss")
    name_above(figure, axes, list(runs))
    return figure


def _spreads(found: Sequence[Spreads], place: int, axis: LossAxis) -> tuple[list[int], list[float], list[float]]:
    """Return which of the spreads a method has, where their medians lie, and where their worst."""
    mine = [(number, spread) for number, spreads in enumerate(found) if (spread := spreads.of[place]) is not None]
    medians, worst = ([axis.place(getattr(spread, name)) for _, spread in mine] for name in ("median", "worst"))
    return [number for number, _ in mine], medians, worst


def _marks(axes: Axes, place: int, x: Sequence[float], y: Sequence[float]) -> None:
    colour = LIGHT[series_of(place)[0]]
    axes.plot(x, y, linestyle="", marker=shape_of(place), markersize=3.4, color=colour, alpha=0.75, markeredgewidth=0.0)


def _loss_up(axes: Axes, axis: LossAxis) -> None:
    """Make the axis on the left that of losses, with a ground for those of nothing."""
    axes.axhspan(*axis.band, color="#f3f5f7", zorder=0)
    axes.set_ylim(0.0, 1.0)
    axes.set_yticks(*zip(*axis.marks(UP), strict=True))
    axes.set_ylabel("loss")
