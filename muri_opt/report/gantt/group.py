"""The Gantt chart of a group that was decided: whose stages use which resource when."""

from __future__ import annotations

from pathlib import Path

from muri_opt.report.gantt.png import gantt_png
from muri_opt.report.gantt.svg import gantt_svg
from muri_opt.report.gantt.text import gantt_text
from muri_opt.rounds import Result, Round
from muri_opt.systems.muri.interleaving import Interleaving, best_period

Chart = tuple[list[tuple[float, ...]], Interleaving, tuple[str, ...]]


def shared_chart(round_: Round, result: Result, job: str) -> Chart | None:
    """Return stage times, interleaving and names of the group a job shares GPUs with, ``None`` if it runs alone."""
    groups = [] if result.decision is None else [group.jobs for group in result.decision.assignments]
    names = next((jobs for jobs in groups if job in jobs and len(jobs) > 1), None)
    if names is None:
        return None
    stages = [round_.jobs[round_.job_index[name]].stage_seconds or () for name in names]
    pattern, worst = result.rules.get("pattern", "cyclic"), result.rules.get("ordering") == "worst"
    return stages, best_period(stages, pattern, worst=worst), names


def chart_text(round_: Round, chart: Chart) -> str:
    """Return the chart for a terminal."""
    return gantt_text(*chart, resources=round_.resources)


def write_chart(path: str, round_: Round, chart: Chart) -> str | None:
    """Return the chart as SVG text, or write it as PNG where the name ends so and return ``None``."""
    if Path(path).suffix.lower() != ".png":
        return gantt_svg(*chart, resources=round_.resources)
    gantt_png(path, *chart, resources=round_.resources)
    return None
