"""The same policies over several workloads or seeds: means with intervals, and each policy against the first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, Final

import numpy as np

from muri_opt.replay.studies.runs import RunRow
from muri_opt.studies.runner.intervals import LEAST, Interval, Paired, interval_of, paired, ratio_of

FIGURES: Final = {"mean": "mean JCT", "p95": "95th", "p99": "99th", "makespan": "makespan"}
"""The figures that are compared, by what tables call them."""
HEAD: Final = (
    "figure",
    "policy",
    "method",
    "repeats",
    "mean",
    "interval",
    "ratio",
    "interval",
    "shorter",
    "longer",
    "p",
)
WORDS: Final = 3
"""So many of the first columns hold words, the others numbers."""
_VARIED: Final = ("workload", "policy", "method", "seed")

Line = tuple[str, str]
"""A policy and a method."""
Figures = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """One figure of one policy and method over all repetitions, and beside that of the first policy of the study.

    A repetition is a workload, its seeds averaged; where there is one workload only, a seed. ``ratio`` is the geometric
    mean of the ratios to the first on the same repetition, and ``None`` for the first itself, as is ``against``.
    """

    figure: str
    policy: str
    method: str
    repetitions: int
    value: Interval
    ratio: Interval | None
    against: Paired | None

    def cells(self) -> list[str]:
        """Return the line of the table; a time is no less than 0, so its interval is cut there."""
        words = [f"{FIGURES[self.figure]}, s", self.policy, self.method, f"{self.repetitions:,}"]
        ratio = ["-", "-"] if self.ratio is None else [f"{self.ratio.mean:.3f}", _ends(self.ratio, ".3f")]
        test = ["-", "-", "-"]
        if self.against is not None:
            chance = "-" if self.against.p is None else f"{self.against.p:.3g}"
            test = [f"{self.against.smaller:,}", f"{self.against.larger:,}", chance]
        return [*words, f"{self.value.mean:,.1f}", _ends(self.value, ",.1f"), *ratio, *test]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)


def repeats_of(rows: Sequence[RunRow]) -> list[Repeats]:
    """Return what repetitions say, figure by figure; nothing where nothing was repeated.

    Runs are repetitions of each other if they differ in nothing but workload and seed. Where one workload is replayed
    with several seeds, those that change nothing under any policy are no repetitions, and count once.
    """
    groups: dict[str, list[RunRow]] = {}
    for row in rows:
        groups.setdefault(_settings(row), []).append(row)
    found: list[Repeats] = []
    for group in groups.values():
        lines = _by_repetition(group)
        if max(map(len, lines.values())) >= LEAST:
            found += [_repeats(figure, line, lines) for figure in FIGURES for line in lines]
    return found


def _settings(row: RunRow) -> str:
    """Return all that is set of a run, beside what a study varies."""
    return repr([(name, value) for name, value in asdict(row.run).items() if name not in _VARIED])


def _by_repetition(rows: Iterable[RunRow]) -> dict[Line, dict[str, Figures]]:
    """Return the figures of every policy and method by repetition."""
    runs: dict[Line, dict[tuple[str, int], Figures]] = {}
    for row in rows:
        line = runs.setdefault((row.run.policy, row.run.method), {})
        line[row.run.workload, row.run.seed] = {name: float(row.figures[name]) for name in FIGURES}
    places = dict.fromkeys(place for line in runs.values() for place in line)
    workloads = dict.fromkeys(workload for workload, _ in places)
    if len(workloads) > 1:
        return {line: _averaged(figures) for line, figures in runs.items()}
    different: dict[str, tuple[str, int]] = {}
    for place in places:
        different.setdefault(repr([figures.get(place) for figures in runs.values()]), place)
    return {
        line: {str(place): figures[place] for place in different.values() if place in figures}
        for line, figures in runs.items()
    }


def _averaged(runs: Mapping[tuple[str, int], Figures]) -> dict[str, Figures]:
    """Return the figures of every workload, on average of its seeds."""
    by_workload: dict[str, list[Figures]] = {}
    for (workload, _), figures in runs.items():
        by_workload.setdefault(workload, []).append(figures)
    return {
        workload: {name: fmean(one[name] for one in every) for name in FIGURES}
        for workload, every in by_workload.items()
    }


def _repeats(figure: str, line: Line, lines: Mapping[Line, Mapping[str, Figures]]) -> Repeats:
    """Return what is known of a line; the ratio and the test are of repetitions that the first line has too."""
    first = next(iter(lines))
    values = {unit: figures[figure] for unit, figures in lines[line].items()}
    firsts = {unit: figures[figure] for unit, figures in lines[first].items() if unit in values}
    mine = [values[unit] for unit in firsts]
    # Ranks are of ratios, as workloads may be of any length: so nothing is said where a figure is 0.
    comparable = line != first and min([*mine, *firsts.values()], default=0.0) > 0
    return Repeats(
        figure=figure,
        policy=line[0],
        method=line[1],
        repetitions=len(values),
        value=interval_of(list(values.values())),
        ratio=ratio_of(mine, list(firsts.values())) if comparable else None,
        against=paired(np.log(mine).tolist(), np.log([*firsts.values()]).tolist()) if comparable else None,
    )


def _ends(interval: Interval, form: str) -> str:
    if interval.low is None or interval.high is None:
        return "-"
    return f"{max(0.0, interval.low):{form}} to {interval.high:{form}}"
