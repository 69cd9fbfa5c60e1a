"""The tables of a gap study: what is wrong or open, the summary, what was refused, and all pairs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from muri_opt.report.charts.frame import escaped
from muri_opt.report.charts.html_page import folded, line_html, table_html
from muri_opt.report.charts.scales import duration
from muri_opt.report.format import count, integer
from muri_opt.rounds import Proof
from muri_opt.studies.compare.pairs import Pair
from muri_opt.studies.compare.profile import methods_of
from muri_opt.studies.compare.repeats import HEAD as REPEATS_HEAD
from muri_opt.studies.compare.rows import CompareRow
from muri_opt.studies.compare.summary import HEAD, Summary, summary_of
from muri_opt.studies.runner.intervals import STATISTICS

_FEW: Final = 12
"""A list or table of more lines is folded."""
_WHICH: Final = re.compile(r"\[\d+\](?: \('[^']*'\))?")
"""Which job it was that a policy does not take: ``[3] ('job-3')``."""
_FOUND: Final = re.compile(r"found '[^']*'")


def known_html(summary: Summary) -> str:
    """Return what is known of the pairs: sentences, what cannot be true as an alarm, and what is left open."""
    said = "".join(f"<li>{escaped(line)}</li>" for line in summary.lines())
    parts = [f"<ul>{said}</ul>"]
    for what, entries in summary.lists().items():
        if entries and entries is summary.open:
            parts.append(
                folded(f"Left open: {count(len(entries), 'pair')}", _list(entries), unfolded=len(entries) <= _FEW)
            )
        elif entries:
            parts.append(f'<div class="alarm" role="alert">\n<h3>{what.capitalize()}</h3>\n{_list(entries)}\n</div>')
    return "\n".join(parts)


def summary_html(rows: Sequence[CompareRow], summary: Summary) -> str:
    """Return how each method did over all policies and under each."""
    lines = list(summary.methods)
    if len({one.policy for one in lines}) > 1:
        # With policy and round as its name every pair stays one, and the policy is the same of all.
        lines[:0] = summary_of(
            [replace(row, instance=repr((row.instance, row.policy)), policy="all policies") for row in rows]
        ).methods
    caption = (
        "Optimal: the value meets the bound of the method itself. Claimed: it meets only what one solver claims. Best: "
        "no method found more. Loss: what the value falls short of the least bound of all methods, as a part of it."
    )
    cells = [one.cells() for one in lines]
    return table_html("summary", caption, HEAD, [line_html(first, map(escaped, more)) for first, *more in cells])


def repeats_html(summary: Summary) -> str:
    """Return the mean losses with their intervals, and how they compare with those of the first line."""
    if not summary.repeats:
        return "<p>No method has losses on two rounds.</p>"
    caption = f"Differences, in points, and tests are to the first line; {STATISTICS}."
    cells = [one.cells() for one in summary.repeats]
    lines = [line_html(first, map(escaped, more)) for first, *more in cells]
    return table_html("repeats", caption, REPEATS_HEAD, lines)


def refusals_html(rows: Iterable[CompareRow]) -> str:
    """Return what was refused, by reason: under which policies, by which methods, how often."""
    groups: dict[str, list[CompareRow]] = {}
    for row in rows:
        if row.refused:
            groups.setdefault(_reason(row), []).append(row)
    if not groups:
        return "<p>No method refused a round.</p>"
    lines = [
        line_html(
            why,
            [
                escaped(", ".join(dict.fromkeys(row.policy for row in mine))),
                escaped(", ".join(dict.fromkeys(row.method for row in mine))),
                f"{len(mine):,}",
                f"{len({row.instance for row in mine}):,}",
                escaped(mine[0].instance),
            ],
        )
        for why, mine in sorted(groups.items(), key=lambda group: -len(group[1]))
    ]
    heads = ["why", "policies", "methods", "runs", "rounds", "one of them"]
    number = sum(map(len, groups.values()))
    table = table_html(
        "refused", "The most frequent first. … stands for what differs: a job, a name, a policy.", heads, lines
    )
    title = f"{count(number, 'run')} refused, for {count(len(groups), 'reason')}"
    return folded(title, table, unfolded=len(groups) <= _FEW)


def pairs_html(pairs: Sequence[Pair]) -> str:
    """Return all pairs that some method takes, with what every method made of them, folded."""
    methods = methods_of(pairs)
    taken = [pair for pair in pairs if not all(row.refused for row in pair.rows)]
    lines = []
    for pair in taken:
        mine = {row.method: row for row in pair.rows}
        proof = "contradiction" if pair.contradiction else "open" if pair.proof is None else Proof(pair.proof).words
        known = [f"{pair.rows[0].jobs:,}", _whole(pair.best), _whole(pair.bound), escaped(proof)]
        found = [_cell(pair, mine.get(method)) for method in methods]
        lines.append(line_html(pair.instance, [escaped(pair.policy), *known, *found]))
    heads = ["instance", "policy", "jobs", "best value", "bound", "proof", *methods]
    caption = "Of each method: value (time). Values in bold are the best of the pair."
    return folded(f"{count(len(taken), 'pair')} of round and policy", table_html("pairs", caption, heads, lines))


def _reason(row: CompareRow) -> str:
    """Return why a run was refused, without what differs between rounds and policies."""
    return _FOUND.sub("found '…'", _WHICH.sub("[…]", row.detail)).replace(f"'{row.policy}'", "'…'")


def _list(lines: Iterable[str]) -> str:
    return f'<ul class="lines">{"".join(f"<li>{escaped(line)}</li>" for line in lines)}</ul>'


def _cell(pair: Pair, row: CompareRow | None) -> str:
    if row is None or row.refused:
        return "-" if row is None else "refused"
    best = row.value is not None and row.value == pair.best
    value = f"<b>{_whole(row.value)}</b>" if best else _whole(row.value)
    return f"{value} <small>({duration(row.solve_seconds)})</small>"


def _whole(number: int | None) -> str:
    return "-" if number is None else integer(number)
