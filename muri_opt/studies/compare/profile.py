"""Performance profiles after Dolan and Moré (2002): which part of the pairs a method solves within tau times the least.

The time of a method on a pair is divided by that of the fastest method that solves the pair. Two things may be meant by
solved: the best known value is reached, or the method ran to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.studies.compare.pairs import Pair
from muri_opt.studies.compare.rows import CompareRow

SHORTEST: Final = 1e-4
"""Seconds: what is shorter counts as this long, as it says more about the machine than about a method."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profile:
    """``ratios[p, m]`` is how many times the least time of pair p method m took; infinite where it did not solve it."""

    methods: tuple[str, ...]
    ratios: Floats

    @property
    def largest(self) -> float:
        """The largest finite ratio: beyond it no part changes; 1 where nothing is solved."""
        return float(self.ratios.max(initial=1.0, where=np.isfinite(self.ratios)))

    def parts(self, tau: float) -> Floats:
        """Return for each method which part of the pairs it solves within ``tau`` times the least; 0 without pairs."""
        return np.asarray(np.count_nonzero(self.ratios <= tau, axis=0) / max(1, len(self.ratios)))

    def curve(self, method: int) -> tuple[Floats, Floats]:
        """Return where the part of a method rises, in order, and to what; it is 0 before the first of these ratios."""
        mine = self.ratios[:, method]
        found, counts = np.unique(mine[np.isfinite(mine)], return_counts=True)
        return found, np.cumsum(counts) / max(1, len(mine))


def reached(pair: Pair, row: CompareRow) -> bool:
    """Return whether a method found the best value that is known of the pair."""
    return row.value is not None and row.value == pair.best


def ended(pair: Pair, row: CompareRow) -> bool:
    """Return whether a value meets what its own method proves or claims; none does where a pair contradicts itself."""
    return row.ended and not pair.contradiction


def methods_of(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Return the methods in the order in which they first appear."""
    return tuple(dict.fromkeys(row.method for pair in pairs for row in pair.rows))


def profile(pairs: Sequence[Pair], solved: Callable[[Pair, CompareRow], bool]) -> Profile:
    """Return the profile of all methods; ``solved`` is ``reached`` or ``ended``.

    A pair that no method solves counts as one that none solves in time. One that every method refuses does not count.
    """
    methods = methods_of(pairs)
    place = {method: number for number, method in enumerate(methods)}
    taken = [pair for pair in pairs if not all(row.refused for row in pair.rows)]
    seconds = np.full((len(taken), len(methods)), np.inf)
    for line, pair in zip(seconds, taken, strict=True):
        for row in pair.rows:
            if not row.refused and solved(pair, row):
                line[place[row.method]] = min(line[place[row.method]], max(SHORTEST, row.solve_seconds))
    least = seconds.min(axis=1, keepdims=True, initial=np.inf)
    # Where nobody solves a pair the least is infinite, and infinity over infinity would be no number.
    return Profile(methods=methods, ratios=seconds / np.where(np.isfinite(least), least, 1.0))
