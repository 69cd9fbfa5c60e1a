"""How far rules for elastic shares are from the optimum, as a table."""

from __future__ import annotations

from muri_opt.report.tables import indented, table
from muri_opt.report.text.result import header, labelled
from muri_opt.rounds import Round
from muri_opt.studies.explain import ElasticGap


def elastic_text(round_: Round, gap: ElasticGap) -> str:
    """Return the optimum, who proved it, and the average completion time of every rule beside it."""
    said = (
        "proved over all finishing orders and checked in exact rationals"
        if gap.proved
        else f"best found in time; no schedule is below {gap.bound_seconds:.6f}, checked in exact rationals"
    )
    rows = [
        (outcome.rule, f"{outcome.mean_seconds:.6f}", f"{_ratio(outcome.mean_seconds, gap.optimum_seconds):.4f}")
        for outcome in gap.outcomes
    ]
    lines = [
        header(round_),
        "",
        *labelled([("optimum", f"{gap.optimum_seconds:.6f} s on average"), ("proof", said)]),
        "",
        *indented(table(("rule, asked at every completion", "average seconds", "of the optimum"), rows, right=(1, 2))),
    ]
    return "\n".join(lines) + "\n"


def _ratio(seconds: float, optimum: float) -> float:
    return seconds / optimum if optimum else 1.0
