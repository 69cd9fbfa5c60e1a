"""The charts of replays beside each other: completion times, use of the cluster, the queue, why jobs wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from muri_opt.report.charts.frame import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    Figure,
    Marks,
    Place,
    axes,
    bar_key,
    line,
    line_key,
    stairs,
)
from muri_opt.report.charts.replay_groups import Group
from muri_opt.report.charts.replay_series import Steps, distribution, steps
from muri_opt.report.charts.scales import Unit, duration, log_ticks, logarithmic, straight, ticks, time_unit
from muri_opt.report.format import amount, count
from muri_opt.report.svg import element, fitted, rect, text, tooltip

_WAITING = {"fairness": 3, "fragmentation": 1, "capacity": 0}  # why jobs wait, and which colour says so
_PARTS = (0.0, 0.25, 0.5, 0.75, 1.0)
_BAR = 24.0
_NAMES = 150.0


def completion_chart(group: Group) -> Figure:
    """Return which part of the jobs was done within which time."""
    found = [distribution(outcome.jobs.completion) for outcome in group.outcomes]
    every = np.concatenate([times for times, _ in found])
    marks = log_ticks(float(every.min(initial=np.inf)), float(every.max(initial=0.0))) if len(every) else [1.0, 10.0]
    x = logarithmic(marks[0], marks[-1], LEFT, RIGHT)
    y = straight(0.0, 1.0, BOTTOM, TOP)
    lines = []
    for place, (name, row, (times, parts)) in enumerate(zip(group.names, group.rows, found, strict=True)):
        if len(times):
            path = f"M{x(times[0]):.1f} {y(0.0):.1f}V{y(parts[0]):.1f}" + "".join(
                f"H{x(time):.1f}V{y(part):.1f}" for time, part in zip(times[1:], parts[1:], strict=True)
            )
            told = row.summary
            words = f"{name}: half within {duration(told.p50)}, 99 % within {duration(told.p99)}"
            lines.append(line(place, path, words))
    return Figure(
        kind="completion",
        title="Job completion times",
        caption="Part of the jobs that were done within a time of their submission.",
        high=HEIGHT,
        parts=(
            *axes([(x(mark), duration(mark)) for mark in marks], _percents(y), "completion time, logarithmic"),
            *lines,
        ),
        key=line_key(group.names),
    )


def use_chart(group: Group) -> Figure:
    """Return which part of the GPUs was in use over time."""
    found = [steps(o.timeline, o.timeline.busy / max(1, o.total_gpus)) for o in group.outcomes]
    y = straight(0.0, 1.0, BOTTOM, TOP)
    told = [
        f"{name}: {row.summary.utilisation:.1%} on average" for name, row in zip(group.names, group.rows, strict=True)
    ]
    return _over_time(group, found, y, _percents(y), told, "use", "GPUs in use", "Part of the GPUs in use over time")


def queue_chart(group: Group) -> Figure:
    """Return how many jobs waited over time."""
    found = [steps(o.timeline, o.timeline.queue) for o in group.outcomes]
    top = max([1.0, *(float(series.values.max(initial=0.0)) for series in found)])
    y = straight(0.0, top, BOTTOM, TOP)
    told = [
        f"{name}: {amount(row.summary.queue_mean, 1)} on average, at most {row.summary.queue_most:,}"
        for name, row in zip(group.names, group.rows, strict=True)
    ]
    marks = [(y(mark), amount(mark)) for mark in ticks(top, 5)]
    return _over_time(group, found, y, marks, told, "queue", "Jobs that wait", "Number of waiting jobs over time")


def waiting_chart(group: Group) -> Figure:
    """Return why jobs waited: the mean seconds of a job by reason, one bar for each replay."""
    longest = max(sum(getattr(row.summary, reason) for reason in _WAITING) for row in group.rows)
    unit = time_unit(longest)
    left, bottom = LEFT + _NAMES, TOP + _BAR * len(group.rows)
    x = straight(0.0, max(longest, unit.seconds), left, RIGHT)
    parts = list(
        axes(_times(x, max(longest, unit.seconds), unit, 5), (), f"{unit.name} of a job, on average", bottom=bottom)
    )
    for place, (name, row) in enumerate(zip(group.names, group.rows, strict=True)):
        top, begun = TOP + _BAR * place, 0.0
        parts.append(text(left - 8, top + 16, fitted(name, left - 16, 11), text_anchor="end", kind="name"))
        for reason, colour in _WAITING.items():
            seconds = getattr(row.summary, reason)
            words = tooltip(f"{name}, {reason}: {duration(seconds)}")
            wide = x(seconds) - left
            parts.append(element("g", words, rect(x(begun), top + 4, wide, _BAR - 8, kind=f"f{colour}"), kind="part"))
            begun += seconds
    return Figure(
        kind="waiting",
        title="Why jobs wait",
        caption="Quota of the tenant, enough GPUs in the wrong places, or too few of them.",
        high=bottom + 44.0,
        parts=tuple(parts),
        key=bar_key((colour, reason) for reason, colour in _WAITING.items()),
    )


def _over_time(
    group: Group,
    found: Sequence[Steps],
    y: Place,
    marks: Marks,
    told: Sequence[str],
    kind: str,
    title: str,
    caption: str,
) -> Figure:
    begin, end = group.span
    unit = time_unit(end - begin)
    x = straight(begin, end, LEFT, RIGHT)
    lines = [
        line(place, stairs(list(map(x, series.edges)), list(map(y, series.values))), words)
        for place, (series, words) in enumerate(zip(found, told, strict=True))
        if len(series.values)
    ]
    shown = [(x(begin + mark * unit.seconds), amount(mark)) for mark in ticks((end - begin) / unit.seconds, 8)]
    shortened = any(len(s.values) < len(o.timeline.seconds) - 1 for s, o in zip(found, group.outcomes, strict=True))
    means = f", as means of {count(max(len(series.values) for series in found), 'part')}" if shortened else ""
    return Figure(
        kind=kind,
        title=title,
        caption=f"{caption}{means}.",
        high=HEIGHT,
        parts=(*axes(shown, marks, f"{unit.name} since the beginning"), *lines),
        key=line_key(group.names),
    )


def _times(x: Callable[[float], float], top: float, unit: Unit, most: int) -> Marks:
    return [(x(mark * unit.seconds), amount(mark)) for mark in ticks(top / unit.seconds, most)]


def _percents(y: Place) -> Marks:
    return [(y(part), f"{part:.0%}") for part in _PARTS]
