"""What the charts of a gap study show: losses on an axis that keeps 0 apart, runs by method, spreads by size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, log10
from statistics import median
from typing import Final

from muri_opt.studies.compare.pairs import Pair
from muri_opt.studies.compare.profile import SHORTEST, methods_of
from muri_opt.studies.compare.rows import CompareRow

_BAND: Final = 0.2
_ABOVE: Final = 0.26
UP: Final = 7
"""Steps of the axis of losses where it goes up."""
ACROSS: Final = 4
"""Steps of the axis of losses where it goes to the right, and what it says needs more room."""
_MOST_ZEROS: Final = 3
_MOST_CLASSES: Final = 7
_STEPS: Final = ((1, 2, 5), (1, 3), (1,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run whose loss is known: of which pair, the row itself, and its loss."""

    pair: Pair
    row: CompareRow
    loss: float

    @property
    def seconds(self) -> float:
        """The time of the solve, as long as a logarithm needs it to be."""
        return max(SHORTEST, self.row.solve_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossAxis:
    """Where losses lie between 0 and 1: those of nothing in a band at the bottom, the others by their logarithm.

    ``low`` and ``high`` are the powers of ten that enclose the losses above 0.
    """

    low: int
    high: int

    @property
    def band(self) -> tuple[float, float]:
        """Where the band of losses of nothing begins and ends."""
        return 0.0, _BAND

    def marks(self, steps: int) -> list[tuple[float, str]]:
        """Return where marks lie, and what they say; at most so many steps between those above 0."""
        every = -(-(self.high - self.low) // steps)
        powers = range(self.high, self.low - 1, -every)
        return [
            (_BAND / 2, "0 %"),
            *((self.place(10.0**power), _percents(power + 2)) for power in powers),
        ]

    def place(self, loss: float, lane: float = 0.5) -> float:
        """Return where a loss lies; ``lane``, between 0 and 1, spreads those of nothing over their band."""
        if loss <= 0:
            return _BAND * lane
        return _ABOVE + (1 - _ABOVE) * (log10(loss) - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The losses of some runs: how many, the median, the worst."""

    runs: int
    median: float
    worst: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Spreads:
    """The spreads of all methods over the runs that have something in common; ``None`` for a method without any."""

    label: str
    of: tuple[Spread | None, ...]


def runs_of(pairs: Sequence[Pair]) -> dict[str, list[Run]]:
    """Return the runs of each method whose loss is known; a method without any has an empty list.

    Where a value lies above a bound no loss of the pair is known.
    """
    found: dict[str, list[Run]] = {method: [] for method in methods_of(pairs)}
    for pair in pairs:
        for row in pair.rows:
            loss = None if pair.contradiction else pair.loss(row)
            if loss is not None:
                found[row.method].append(Run(pair=pair, row=row, loss=loss))
    return found


def loss_axis(losses: Iterable[float]) -> LossAxis:
    """Return the axis for some losses; from 0.01 % to 1 % where all are 0."""
    above = [loss for loss in losses if loss > 0]
    if not above:
        return LossAxis(low=-4, high=-2)
    low, high = floor(log10(min(above))), floor(log10(max(above))) + 1
    return LossAxis(low=low, high=high)


def size_classes(jobs: Iterable[int]) -> list[range]:
    """Return classes of sizes, each with a round in it: every size its own where they are few, else round numbers."""
    sizes = sorted(set(jobs))
    if len(sizes) <= _MOST_CLASSES:
        return [range(size, size + 1) for size in sizes]
    for steps in _STEPS:
        found = [entry for entry in _classes(sizes[-1], steps) if any(size in entry for size in sizes)]
        if len(found) <= _MOST_CLASSES:
            break
    return found


def _percents(power: int) -> str:
    """Return a power of ten with its sign; without a row of zeros nobody counts."""
    return f"{10.0**power:,.{max(0, -power)}f} %" if abs(power) <= _MOST_ZEROS else f"1e{power} %"


def _classes(largest: int, steps: Sequence[int]) -> list[range]:
    edges = [0, *(step * 10**power for power in range(len(str(largest)) + 1) for step in steps)]
    return [range(first, after) for first, after in pairwise(edges)]


def spreads_by_size(runs: Mapping[str, Sequence[Run]]) -> list[Spreads]:
    """Return how far losses spread by the number of jobs of the round."""
    return [
        Spreads(
            label=f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]}–{sizes[-1]}",
            of=tuple(_spread([run.loss for run in mine if run.row.jobs in sizes]) for mine in runs.values()),
        )
        for sizes in size_classes(run.row.jobs for mine in runs.values() for run in mine)
    ]


def spreads_by_policy(pairs: Sequence[Pair], runs: Mapping[str, Sequence[Run]]) -> list[Spreads]:
    """Return how far losses spread by policy, in the order of the study; policies without a known loss are left out."""
    known = {run.row.policy for mine in runs.values() for run in mine}
    return [
        Spreads(
            label=policy,
            of=tuple(_spread([run.loss for run in mine if run.row.policy == policy]) for mine in runs.values()),
        )
        for policy in dict.fromkeys(pair.policy for pair in pairs if pair.policy in known)
    ]


def _spread(losses: Sequence[float]) -> Spread | None:
    return Spread(runs=len(losses), median=median(losses), worst=max(losses)) if losses else None
