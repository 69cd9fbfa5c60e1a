"""Borda's order: jobs by the sum of their ranks."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np

from muri_opt.algorithms.ranking.rankings import Rankings
from muri_opt.modelling import Ints


def borda_scores(rankings: Rankings, *, normalised: bool = True, average: bool = False) -> tuple[Fraction, ...]:
    """Return the score of each job, lower is better: its ranks in the lists that name it, times their weights, added.

    A rank counts from 1; ``normalised``, it is divided by the length of the list plus 1, so that the middle of every
    list scores one half. With ``average`` the sum is divided by the weight of the lists that name the job: a job in
    one list of two counts as if that list were both, the rule by which AITurbo counts the service rank of
    unpredictable jobs twice. A job in no list scores 0.

    >>> borda_scores(Rankings.of([[0, 1, 2], [1, 0, 2]]))
    (Fraction(3, 4), Fraction(3, 4), Fraction(3, 2))
    """
    top, bottom = _scores(rankings, normalised, average)
    return tuple(Fraction(score, bottom) for score in top)


def borda_order(rankings: Rankings, *, normalised: bool = True, average: bool = False) -> tuple[int, ...]:
    """Return all jobs by :func:`borda_scores`, ties by position; jobs in no list come last.

    >>> borda_order(Rankings.of([[0, 1, 2], [1, 0, 2], [0, 2, 1]]))
    (0, 1, 2)
    """
    scores, _ = _scores(rankings, normalised, average)
    nowhere = (rankings.ranked == 0).tolist()
    return tuple(sorted(range(rankings.jobs), key=lambda job: (nowhere[job], scores[job])))


def _scores(rankings: Rankings, normalised: bool, average: bool) -> tuple[list[int], int]:
    """Return the scores as whole numbers over one denominator."""
    lengths = rankings.lengths.tolist() if normalised else []
    unit = lcm(*(length + 1 for length in lengths))
    shares = lcm(*set(rankings.ranked[rankings.ranked > 0].tolist())) if average else 1
    ranks = np.arange(len(rankings.entries)) - np.repeat(rankings.starts[:-1], rankings.lengths) + 1
    factors = [
        weight * (unit // (length + 1 if normalised else 1))
        for weight, length in zip(rankings.weights.tolist(), rankings.lengths.tolist(), strict=True)
    ]
    if sum(factors) * shares * (rankings.jobs + 1) < 1 << 62:
        totals: Ints = np.zeros(rankings.jobs, dtype=np.int64)
        np.add.at(totals, rankings.entries, ranks * np.repeat(np.array(factors, dtype=np.int64), rankings.lengths))
        scores: list[int] = totals.tolist()
    else:  # many lists of many lengths: whole numbers of any size
        scores = [0] * rankings.jobs
        owner = np.repeat(np.arange(len(rankings)), rankings.lengths).tolist()
        for job, rank, place in zip(rankings.entries.tolist(), ranks.tolist(), owner, strict=True):
            scores[job] += rank * factors[place]
    if average:
        by = [shares // max(1, ranked) for ranked in rankings.ranked.tolist()]
        scores = [score * each for score, each in zip(scores, by, strict=True)]
    return scores, unit * shares
