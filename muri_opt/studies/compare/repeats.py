"""Losses over many rounds: means with intervals, and each policy and method against the first of the study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from muri_opt.rounds.percent import percent
from muri_opt.studies.compare.pairs import Pair
from muri_opt.studies.runner.intervals import LEAST, Interval, Paired, interval_of, paired

HEAD: Final = (
    "policy",
    "method",
    "rounds",
    "mean loss",
    "interval",
    "difference",
    "interval",
    "smaller",
    "equal",
    "larger",
    "p",
)
WORDS: Final = 2
"""So many of the first columns hold words, the others numbers."""

Line = tuple[str, str]
"""A policy and a method."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossRepeats:
    """The losses of one policy and method, and beside those of the first line of the study on the same rounds.

    ``difference`` is the mean of loss minus the first line's loss; ``None``, as ``against`` is, for the first itself
    and where no round has both.
    """

    policy: str
    method: str
    rounds: int
    loss: Interval
    difference: Interval | None
    against: Paired | None

    def cells(self) -> list[str]:
        """Return the line of the table; a loss is no less than 0, so its interval is cut there."""
        low, high = self.loss.low, self.loss.high
        ends = "-" if low is None or high is None else f"{percent(max(0.0, low))} to {percent(high)}"
        cells = [self.policy, self.method, f"{self.rounds:,}", percent(self.loss.mean), ends]
        if self.difference is None or self.against is None:
            return [*cells, *["-"] * (len(HEAD) - len(cells))]
        low, high = self.difference.low, self.difference.high
        ends = "-" if low is None or high is None else f"{100 * low:+.2f} to {100 * high:+.2f}"
        counts = [f"{number:,}" for number in (self.against.smaller, self.against.equal, self.against.larger)]
        chance = "-" if self.against.p is None else f"{self.against.p:.3g}"
        return [*cells, f"{100 * self.difference.mean:+.2f}", ends, *counts, chance]


def loss_repeats(pairs: Iterable[Pair]) -> tuple[LossRepeats, ...]:
    """Return what many rounds say of losses, line by line; nothing where no line has losses on two rounds."""
    lines: dict[Line, dict[str, float]] = {}
    for pair in pairs:
        for row in pair.rows:
            line = lines.setdefault((row.policy, row.method), {})
            loss = pair.loss(row)
            if loss is not None:
                line[pair.instance] = loss
    known = {line: losses for line, losses in lines.items() if losses}
    if max(map(len, known.values()), default=0) < LEAST:
        return ()
    return tuple(_repeats(line, known) for line in known)


def _repeats(line: Line, lines: Mapping[Line, Mapping[str, float]]) -> LossRepeats:
    first = next(iter(lines))
    losses = lines[line]
    both = [(loss, lines[first][name]) for name, loss in losses.items() if name in lines[first]]
    comparable = line != first and bool(both)
    return LossRepeats(
        policy=line[0],
        method=line[1],
        rounds=len(losses),
        loss=interval_of(list(losses.values())),
        difference=interval_of([loss - base for loss, base in both]) if comparable else None,
        against=paired([loss for loss, _ in both], [base for _, base in both]) if comparable else None,
    )
