"""When jobs have their turn in the queue, and groups with the first of their jobs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from muri_opt.rounds.memoise import recalled
from muri_opt.systems.muri.periods import Group

T = TypeVar("T", bound=Hashable)


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


def who_is_in(line: Iterable[T], some: Iterable[T]) -> tuple[bool, ...]:
    """Return of each in the line whether it is one of some: of two such tuples the larger serves the earlier ones.

    >>> who_is_in("abc", "ab") > who_is_in("abc", "ac")
    True
    """
    inside = set(some)
    return tuple(one in inside for one in line)
