"""``write_report()``: replays beside each other as one HTML file that needs no network and runs no script."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from muri_opt import __version__
from muri_opt.errors import InputError
from muri_opt.replay.metrics.comparison import RATIOS
from muri_opt.replay.outcome import Outcome
from muri_opt.replay.studies.outcome_files import replace_file
from muri_opt.report.labels import amount, count
from muri_opt.report.replay_charts import completion_chart, queue_chart, use_chart, waiting_chart
from muri_opt.report.replay_groups import Group, groups_of
from muri_opt.report.replay_heat import heat_maps
from muri_opt.report.replay_scales import time_unit
from muri_opt.report.replay_style import style_sheet
from muri_opt.report.replay_svg import escaped, figure_html

_TIMES: Final = {
    "mean": "mean JCT",
    "p50": "median JCT",
    "p95": "95th JCT",
    "p99": "99th JCT",
    "makespan": "makespan",
    "waiting": "waiting",
}
_PLAIN: Final = {"utilisation": "GPUs used", "rho_mean": "fairness rho"}
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What the page may do: nothing but its own style. A browser holds it to that, whatever names contain."""


def write_report(outcomes: Sequence[Outcome], path: str | os.PathLike[str]) -> None:
    """Write the report of replays to an HTML file, which appears whole or not at all."""
    data = report_html(outcomes).encode()
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)  # a device or a pipe is written to, never replaced
        else:
            replace_file(target, data)
    except OSError as error:
        raise InputError(str(path), error.strerror or str(error), "a file that can be written") from None


def report_html(outcomes: Sequence[Outcome]) -> str:
    """Return the report of replays: a section for all of the same jobs on the same cluster with the same seed.

    The same outcomes make the same text.
    """
    groups = groups_of(outcomes)
    title = f"Replay: {', '.join(dict.fromkeys(_name(group) for group in groups))}"
    sections = "\n".join(_section(place, group) for place, group in enumerate(groups, 1))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>\n{style_sheet()}\n</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{escaped(title)}</h1>\n<p class="about">{count(len(outcomes), "replay")}, muri-opt {__version__}</p>\n'
        f"{sections}\n</main>\n</body>\n</html>\n"
    )


def _section(place: int, group: Group) -> str:
    figures = [completion_chart(group), use_chart(group), queue_chart(group), waiting_chart(group), *heat_maps(group)]
    drawn = "\n".join(figure_html(figure, f"f{place}-{number}") for number, figure in enumerate(figures, 1))
    return (
        f'<section>\n<h2>{escaped(_name(group))}</h2>\n<p class="about">{escaped(_about(group))}</p>\n'
        f'{_compared(group)}\n{_all_figures(group)}\n<div class="figures">\n{drawn}\n</div>\n</section>'
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
            cells.append(f"<td>{shown} <small>({'-' if ratio is None else f'{ratio:.3f}'})</small></td>")
        lines.append(f'<tr><th scope="row">{escaped(name)}</th>{"".join(cells)}</tr>')
    caption = f"In brackets: how many times that of {group.names[0]}. JCT is the job completion time."
    return _table("compared", caption, heads, lines)


def _all_figures(group: Group) -> str:
    """Return all figures of all replays as a table, which says in numbers what the pictures show."""
    columns = [row.summary.as_dict() for row in group.rows]
    names = list(dict.fromkeys(name for column in columns for name in column))
    lines = []
    for name in names:
        cells = "".join(f"<td>{_number(column.get(name))}</td>" for column in columns)
        lines.append(f'<tr><th scope="row">{escaped(name)}</th>{cells}</tr>')
    table = _table("figures", "Times in seconds.", ["figure", *group.names], lines)
    return f"<details>\n<summary>All figures</summary>\n{table}\n</details>"


def _table(kind: str, caption: str, heads: Iterable[str], lines: Iterable[str]) -> str:
    head = "".join(f'<th scope="col">{escaped(word)}</th>' for word in heads)
    body = "\n".join(lines)
    return (
        f'<div class="wide"><table class="{kind}">\n<caption>{escaped(caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>"
    )


def _number(value: float | None) -> str:
    return "-" if value is None else amount(value)
