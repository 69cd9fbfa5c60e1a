"""``write_figures()``: the charts of replays as SVG and PNG files drawn by matplotlib, for papers and slides."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from muri_opt.replay.outcome import Outcome
from muri_opt.report.charts.figure_files import empty_figure, figure_folder, name_above, save_figures, step_line
from muri_opt.report.charts.replay_groups import Group, groups_of
from muri_opt.report.charts.replay_series import Steps, distribution, heat, steps
from muri_opt.report.charts.scales import duration, log_ticks, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAP_HIGH = 1.5


def write_figures(outcomes: Sequence[Outcome], folder: str | os.PathLike[str]) -> list[Path]:
    """Write ``jct_cdf``, ``utilisation``, ``queue`` and, where nodes are known, ``heat_map``; return the files.

    Each is an SVG and a PNG file. Where replays are not all of the same jobs, cluster and seed, a number in the name
    says to which group of them a figure belongs.
    """
    groups = groups_of(outcomes)
    return save_figures(_drawn(groups), figure_folder(folder))


def _drawn(groups: Sequence[Group]) -> Iterator[tuple[str, Figure]]:
    for number, group in enumerate(groups, 1):
        end = f"-{number}" if len(groups) > 1 else ""
        for name, draw in _DRAWN.items():
            drawn = draw(group)
            if drawn is not None:
                yield f"{name}{end}", drawn


def _completion(group: Group) -> Figure:
    figure, (axes,) = empty_figure()
    found = [distribution(outcome.jobs.completion) for outcome in group.outcomes]
    for place, (times, parts) in enumerate(found):
        step_line(axes, place, np.concatenate([times[:1], times]), np.concatenate([np.zeros_like(parts[:1]), parts]))
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
    name_above(figure, axes, group.names)
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
    figure, (axes,) = empty_figure()
    begin, end = group.span
    unit = time_unit(end - begin)
    for place, series in enumerate(found):
        step_line(axes, place, (series.edges - begin) / unit.seconds, np.append(series.values, series.values[-1:]))
    axes.set_xlabel(f"{unit.name} since the beginning")
    axes.set_ylabel(label)
    name_above(figure, axes, group.names)
    return figure, axes


def _heat_map(group: Group) -> Figure | None:
    """Return the heat maps of all replays that know their nodes, one above the other; none if no replay does."""
    begin, end = group.span
    found = [(name, heat(o.timeline, begin, end)) for name, o in zip(group.names, group.outcomes, strict=True)]
    found = [(name, entry) for name, entry in found if entry.rows]
    if not found:
        return None
    figure, every = empty_figure(down=len(found), high=0.5 + _MAP_HIGH * len(found), grid=False)
    unit = time_unit(end - begin)
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
        axes.locator_params(axis="y", integer=True)
    every[-1].set_xlabel(f"{unit.name} since the beginning")
    figure.colorbar(image, ax=every, label="GPUs in use")
    return figure


_DRAWN: Final[dict[str, Callable[[Group], Figure | None]]] = {
    "jct_cdf": _completion,
    "utilisation": _utilisation,
    "queue": _queue,
    "heat_map": _heat_map,
}
