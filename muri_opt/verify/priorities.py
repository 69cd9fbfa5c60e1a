"""What priorities make of values: those of a larger priority outweigh all of smaller ones."""

from __future__ import annotations

from collections.abc import Sequence

from muri_opt.rounds import Round

MOST_LEVELS = 100
"""How many priorities count apart; those of all smaller ones count as one."""


def level_of_each(round_: Round) -> dict[int, int]:
    """Return the level of each priority that jobs have: 0 for the largest, 1 for the next one, and so on."""
    ranks = sorted({job.priority for job in round_.jobs}, reverse=True)
    return {priority: min(rank, MOST_LEVELS - 1) for rank, priority in enumerate(ranks)}


def weights_of(round_: Round, most: Sequence[int]) -> tuple[int, ...]:
    """Return what a unit of each job's value counts, ``most`` being the most that each job is worth by itself.

    For the smallest priority that is 1, for any other one more than everything of smaller priorities together.
    """
    level = level_of_each(round_)
    if len(level) <= 1:
        return (1,) * len(round_.jobs)
    together = dict.fromkeys(level.values(), 0)
    for job, worth in zip(round_.jobs, most, strict=True):
        together[level[job.priority]] += worth
    weight, unit = dict[int, int](), 1
    for place in sorted(together, reverse=True):
        weight[place] = unit
        unit *= 1 + together[place]
    return tuple(weight[level[job.priority]] for job in round_.jobs)
