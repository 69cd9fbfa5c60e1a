"""Replays of one workload beside each other, each as a multiple of the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from muri_opt.errors import InputError
from muri_opt.replay.metrics.summary import Summary, summary
from muri_opt.replay.outcome import Outcome

RATIOS: Final = ("mean", "p50", "p95", "p99", "makespan", "waiting", "utilisation", "rho_mean")
"""The figures that are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """One replay: its figures, and of those in ``RATIOS`` how many times the first replay's they are.

    ``None`` where the first replay's figure is 0.
    """

    policy: str
    clock: str
    seed: int
    summary: Summary
    ratios: Mapping[str, float | None]


def compared(outcomes: Sequence[Outcome]) -> tuple[ComparisonRow, ...]:
    """Return a row for every replay, in order; all must be of the same jobs on as many GPUs."""
    rows: list[ComparisonRow] = []
    for position, outcome in enumerate(outcomes):
        _check_same(position, outcome, outcomes[0])
        figures = summary(outcome)
        first = rows[0].summary if rows else figures
        rows.append(
            ComparisonRow(
                policy=outcome.policy,
                clock=outcome.clock,
                seed=outcome.seed,
                summary=figures,
                ratios={name: _ratio(getattr(figures, name), getattr(first, name)) for name in RATIOS},
            )
        )
    return tuple(rows)


def _ratio(value: float, first: float) -> float | None:
    return value / first if first else None


def _check_same(position: int, outcome: Outcome, first: Outcome) -> None:
    if outcome.jobs.ids != first.jobs.ids:
        found = f"other jobs ({outcome.workload!r}) than of the first replay"
        raise InputError(f"outcomes[{position}]", found, f"replays of one workload, {first.workload!r}")
    if outcome.total_gpus != first.total_gpus:
        raise InputError(f"outcomes[{position}].total_gpus", str(outcome.total_gpus), f"{first.total_gpus}, as before")
