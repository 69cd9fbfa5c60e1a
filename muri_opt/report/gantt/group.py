"""The chart of a group that was decided: whose stages use which resource when or, if it runs freely, how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from msgspec import UNSET

from muri_opt.report.gantt.chart import Chart
from muri_opt.report.gantt.free_chart import FreeChart
from muri_opt.report.gantt.groups_svg import Block, Lane, groups_svg
from muri_opt.report.gantt.svg import gantt_svg
from muri_opt.report.gantt.text import gantt_text
from muri_opt.rounds import Assignment, Result, Round
from muri_opt.systems.muri.interleaving import Interleaving, best_period


class GroupChart(Protocol):
    """How a group shares its GPUs, for people."""

    def as_text(self) -> str:
        """Return the chart for a terminal."""

    def as_svg(self) -> str:
        """Return the chart as SVG text."""

    def block(self) -> Block:
        """Return the group as one of many in a picture."""


@dataclass(frozen=True, slots=True)
class StepChart:
    """A group in lock step: stage times, interleaving and names."""

    stages: tuple[tuple[float, ...], ...]
    interleaving: Interleaving
    names: tuple[str, ...]
    resources: tuple[str, ...]

    def as_text(self) -> str:
        """Return one period for a terminal."""
        return gantt_text(self.stages, self.interleaving, self.names, resources=self.resources)

    def as_svg(self) -> str:
        """Return two periods as SVG text."""
        return gantt_svg(self.stages, self.interleaving, self.names, resources=self.resources)

    def block(self) -> Block:
        """Return one period."""
        chart = Chart.of(self.stages, self.interleaving, self.names, self.resources)
        lanes = []
        for row in chart.rows():
            pieces = row.pieces(chart.period, 1) if chart.period else ()
            parts = tuple((bar.job, start / chart.period, end / chart.period) for bar, start, end in pieces)
            lanes.append(Lane(resource=row.resource if row.first else "", pieces=parts, busy=row.busy))
        runs = f"period {chart.time(self.interleaving.period_seconds)}"
        return Block(names=chart.names, runs=runs, efficiency=self.interleaving.efficiency, lanes=tuple(lanes))


def shared_chart(round_: Round, result: Result, job: str) -> GroupChart | None:
    """Return the chart of the group that a job shares GPUs with, ``None`` if it runs alone."""
    groups = () if result.decision is None else result.decision.assignments
    group = next((one for one in groups if job in one.jobs and len(one.jobs) > 1), None)
    return None if group is None else _chart(round_, result, group)


def groups_picture(round_: Round, result: Result) -> str:
    """Return all groups of a decision as one SVG picture."""
    runs = () if result.decision is None else result.decision.assignments
    groups = [_chart(round_, result, one) for one in runs if len(one.jobs) > 1]
    return groups_svg([group.block() for group in groups], alone=len(runs) - len(groups))


def _chart(round_: Round, result: Result, group: Assignment) -> GroupChart:
    """Return the chart of a group by the way in which it runs."""
    members = [round_.jobs[round_.job_index[name]] for name in group.jobs]
    if group.rates is not UNSET:
        return FreeChart.of(members, group.rates, round_.resources, result.rules.get("own", "cpu").split("+"))
    stages = tuple(member.stage_seconds or () for member in members)
    pattern, worst = result.rules.get("pattern", "cyclic"), result.rules.get("ordering") == "worst"
    return StepChart(stages, best_period(stages, pattern, worst=worst), group.jobs, round_.resources)
