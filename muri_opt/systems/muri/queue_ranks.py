"""When jobs have their turn in the queue, and groups with the first of their jobs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muri_opt.rounds.memoise import recalled
from muri_opt.systems.muri.periods import Group


@recalled
def ranks(line: Sequence[int]) -> list[int]:
    """Return the turn of every job, given all of them in the order of the queue, which must not be changed later."""
    found = [0] * len(line)
    for turn, job in enumerate(line):
        found[job] = turn
    return found


def first_ranks(line: Sequence[int], groups: Iterable[Group]) -> list[int]:
    """Return the turn of each group: that of the first of its jobs.

    >>> first_ranks([2, 0, 1], [(0, 1), (2,)])
    [1, 0]
    """
    rank = ranks(line)
    return [rank[group[0]] if len(group) == 1 else min([rank[job] for job in group]) for group in groups]


def in_turn(line: Sequence[int], groups: Sequence[Group]) -> list[Group]:
    """Return groups in the order of the queue.

    >>> in_turn([2, 0, 1], [(0, 1), (2,)])
    [(2,), (0, 1)]
    """
    turns = first_ranks(line, groups)
    return [groups[place] for place in sorted(range(len(groups)), key=turns.__getitem__)]
