"""``write_comparison_report()``: a gap study as one HTML file that needs no network and runs no script."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from muri_opt import __version__
from muri_opt.errors import InputError
from muri_opt.report.charts.comparison_charts import comparison_charts
from muri_opt.report.charts.comparison_tables import known_html, pairs_html, refusals_html, repeats_html, summary_html
from muri_opt.report.charts.html_page import figures_html, page_html, write_page
from muri_opt.report.format import count
from muri_opt.studies.compare.pairs import pairs_of
from muri_opt.studies.compare.profile import methods_of
from muri_opt.studies.compare.rows import CompareRow
from muri_opt.studies.compare.summary import summary_of

_STYLE: Final = """\
.alarm{border:2px solid var(--c1);padding:.6em 1em;margin:1em 0}.alarm h3{color:var(--c1)}
ul.lines{font-size:.93em;overflow-wrap:anywhere}
tr>:nth-child(2),table.refused tr>:nth-child(3){text-align:left}
table.refused tbody tr>:nth-child(-n+3){white-space:normal;min-width:12em;overflow-wrap:anywhere;font-weight:normal}"""


def write_comparison_report(rows: Sequence[CompareRow], path: str | os.PathLike[str]) -> None:
    """Write the report of a gap study to an HTML file, which appears whole or not at all."""
    write_page(comparison_html(rows), path)


def comparison_html(rows: Sequence[CompareRow]) -> str:
    """Return the report of a gap study; the same rows make the same text."""
    if not rows:
        raise InputError("rows", "none", "at least one run")
    pairs = pairs_of(rows)
    summary = summary_of(rows)
    policies = len({row.policy for row in rows})
    about = (
        f"{count(len({row.instance for row in rows}), 'round')}, {count(len(methods_of(pairs)), 'method')}, "
        f"{policies:,} {'policy' if policies == 1 else 'policies'}, {count(len(rows), 'run')}; muri-opt {__version__}"
    )
    sections = {
        "What is known": known_html(summary),
        "Pictures": figures_html(comparison_charts(pairs), "f"),
        "Methods": summary_html(rows, summary),
        "Intervals": repeats_html(summary),
        "Refused": refusals_html(rows),
        "Pairs": pairs_html(pairs),
    }
    body = "\n".join(f"<section>\n<h2>{title}</h2>\n{part}\n</section>" for title, part in sections.items())
    return page_html("Gap study", about, body, style=_STYLE)
