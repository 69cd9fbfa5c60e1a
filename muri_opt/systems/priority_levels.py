"""Priorities of jobs as levels: a job of a larger priority outweighs all jobs of smaller ones together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints

MOST_LEVELS: Final = 100
"""How many levels are told apart; all smaller priorities are the last one, or values would have thousands of digits."""


def levels_of(round_: Round) -> Ints:
    """Return the level of each job: 0 for the largest priority that any has, 1 for the next one, and so on."""
    if "job.priority" not in round_.used_fields:
        return np.zeros(len(round_.jobs), dtype=np.int64)
    _, place = np.unique(-round_.priorities, return_inverse=True)
    return np.minimum(place.reshape(-1), MOST_LEVELS - 1)


def level_weights(level: Ints, best: Sequence[int]) -> tuple[int, ...]:
    """Return what a unit of value counts on each level, ``best`` being the most that each job is worth by itself.

    On the last level that is 1, and on every other one more than all below it can add up to.
    """
    most = [0] * (int(level.max(initial=0)) + 1)
    if len(most) == 1:
        return (1,)
    for place, worth in zip(level.tolist(), best, strict=True):
        most[place] += worth
    weights = [1]
    for total in reversed(most[1:]):
        weights.append(weights[-1] * (1 + total))
    return tuple(reversed(weights))
