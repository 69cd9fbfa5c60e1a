"""Jobs that share freely, by the formulas of mean value analysis in exact fractions, set by set."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache


def exact_rates(stages: Sequence[Sequence[int]], own: Sequence[bool]) -> list[Fraction]:
    """Return the rate of each job against running alone: x_j(S) times the sum of its stages, S being all jobs."""
    everybody = frozenset(range(len(stages)))

    def residence(job: int, some: frozenset[int]) -> list[Fraction]:
        queue = lengths(some - {job})
        return [
            Fraction(time) if own[r] else time * (1 + queue[r]) for r, time in enumerate(stages[job])
        ]  # R_jr(S) = t_jr (1 + q_r(S - j)) at a station, t_jr at a delay

    @cache
    def lengths(some: frozenset[int]) -> list[Fraction]:
        total = [Fraction(0)] * len(own)
        for job in some:
            spent = residence(job, some)
            if sum(spent):
                total = [so_far + one / sum(spent) for so_far, one in zip(total, spent, strict=True)]
        return total

    return [
        Fraction(sum(stages[job])) / sum(residence(job, everybody)) if sum(stages[job]) else Fraction(1)
        for job in range(len(stages))
    ]
