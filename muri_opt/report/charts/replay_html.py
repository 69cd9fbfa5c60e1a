"""``write_report()``: replays beside each other as one HTML file that needs no network and runs no script."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from muri_opt import __version__
from muri_opt.replay.metrics.comparison import RATIOS
from muri_opt.replay.outcome import Outcome
from muri_opt.replay.studies.repeats import HEAD, Repeats
from muri_opt.report.charts.frame import escaped
from muri_opt.report.charts.html_page import figures_html, folded, line_html, page_html, table_html, write_page
from muri_opt.report.charts.replay_charts import completion_chart, queue_chart, use_chart, waiting_chart
from muri_opt.report.charts.replay_groups import Group, groups_of
from muri_opt.report.charts.replay_heat import heat_maps, heat_style
from muri_opt.report.charts.scales import time_unit
from muri_opt.report.format import amount, count
from muri_opt.studies.runner.intervals import STATISTICS

_TIMES: Final = {
    "mean": "mean JCT",
    "p50": "median JCT",
    "p95": "95th JCT",
    "p99": "99th JCT",
    "makespan": "makespan",
    "waiting": "waiting",
}
_PLAIN: Final = {"utilisation": "GPUs used", "rho_mean": "fairness rho"}


def write_report(outcomes: Sequence[Outcome], path: str | os.PathLike[str], repeats: Sequence[Repeats] = ()) -> None:
    """Write the report of replays to an HTML file, which appears whole or not at all."""
    write_page(report_html(outcomes, repeats), path)


def report_html(outcomes: Sequence[Outcome], repeats: Sequence[Repeats] = ()) -> str:
    """Return the report of replays: a section for all of the same jobs on the same cluster with the same seed.

    What their repetitions say comes first. The same outcomes make the same text.
    """
    groups = groups_of(outcomes)
    title = f"Replay: {', '.join(dict.fromkeys(_name(group) for group in groups))}"
    sections = _repeated(repeats) + "\n".join(_section(place, group) for place, group in enumerate(groups, 1))
    about = f"{count(len(outcomes), 'replay')}, muri-opt {__version__}"
    return page_html(title, about, sections, style=heat_style())


def _repeated(repeats: Sequence[Repeats]) -> str:
    """Return the section of means with their intervals; nothing where nothing was repeated."""
    if not repeats:
        return ""
    caption = f"Times in seconds; ratios and tests are to the first policy; {STATISTICS}."
    cells = [one.cells() for one in repeats]
    lines = [line_html(first, map(escaped, more)) for first, *more in cells]
    return f"<section>\n<h2>Repetitions</h2>\n{table_html('repeats', caption, HEAD, lines)}\n</section>\n"


def _section(place: int, group: Group) -> str:
    figures = [completion_chart(group), use_chart(group), queue_chart(group), waiting_chart(group), *heat_maps(group)]
    return (
        f'<section>\n<h2>{escaped(_name(group))}</h2>\n<p class="about">{escaped(_about(group))}</p>\n'
        f"{_compared(group)}\n{_all_figures(group)}\n{figures_html(figures, f'f{place}')}\n</section>"
    )


def _name(group: Group) -> str:
    return group.outcomes[0].workload or "workload without a name"


def _about(group: Group) -> str:
    first = group.outcomes[0]
    clocks = ", ".join(dict.fromkeys(outcome.clock for outcome in group.outcomes))
    cluster = f"cluster {first.cluster} with " if first.cluster else ""
    return (
        f"{count(len(first.jobs.ids), 'job')} on {cluster}{count(first.total_gpus, 'GPU')}, "
        f"clock {clocks}, seed {first.seed}"
    )


def _compared(group: Group) -> str:
    """Return the table of the figures that are compared, with how many times those of the first replay they are."""
    units = {name: time_unit(max(getattr(row.summary, name) for row in group.rows)) for name in _TIMES}
    heads = ["replay", *(f"{_TIMES[name]}, {units[name].sign}" if name in _TIMES else _PLAIN[name] for name in RATIOS)]
    lines = []
    for name, row in zip(group.names, group.rows, strict=True):
        cells = []
        for figure in RATIOS:
            value, ratio = getattr(row.summary, figure), row.ratios[figure]
            shown = units[figure].shown(value) if figure in units else f"{value:.3f}"
            shown = f"{value:.1%}" if figure == "utilisation" else shown
            cells.append(f"{shown} <small>({'-' if ratio is None else f'{ratio:.3f}'})</small>")
        lines.append(line_html(name, cells))
    caption = f"In brackets: how many times that of {group.names[0]}. JCT is the job completion time."
    return table_html("compared", caption, heads, lines)


def _all_figures(group: Group) -> str:
    """Return all figures of all replays as a table, which says in numbers what the pictures show."""
    columns = [row.summary.as_dict() for row in group.rows]
    names = list(dict.fromkeys(name for column in columns for name in column))
    lines = [line_html(name, [_number(column.get(name)) for column in columns]) for name in names]
    table = table_html("figures", "Times in seconds.", ["figure", *group.names], lines)
    return folded("All figures", table)


def _number(value: float | None) -> str:
    return "-" if value is None else amount(value)
