"""New groups that join each other, or running ones, where the least is lost, until all fit the GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.muri.group_worth import GroupWorth
from muri_opt.systems.muri.periods import Group

MOST_UNIONS: Final = 20_000
"""Pairs of groups that are looked at together before one joins the other."""
_EXACT: Final = 1 << 50
"""Values below this, and their sums, are exact in floats."""
_DIGITS: Final = 64
"""Binary digits of quotients by numbers of GPUs that tell any two of them apart."""


def join_groups(
    worth: GroupWorth,
    running: Sequence[Group],
    new: Sequence[Group],
    over: int,
    largest: int,
    unions: int = MOST_UNIONS,
) -> tuple[list[Group], list[Group]] | None:
    """Return the running groups that stay as they are, and all others; ``None`` if too many GPUs are asked for.

    They ask for ``over`` GPUs more than there are. One group after another joins with the least loss for each GPU that
    is spared, all unions, or so many ``unions``, being looked at together and then those that are still possible, and
    so on.
    """
    groups, stays = [*running, *new], np.arange(len(running) + len(new)) < len(running)
    values = worth.of_groups(groups, stays.tolist())
    gpus = worth.members.gpus[[group[0] for group in groups]] if groups else np.zeros(0, dtype=np.int64)
    while over > 0:
        look_at_clock()
        sizes = np.array([len(group) for group in groups], dtype=np.int64)
        first, second = pairs_to_join(sizes, gpus, np.flatnonzero(~stays), largest, unions)
        joint = worth.of_unions(groups, first, second)
        line = _from_least_loss(values, joint, first, second, gpus)
        made: list[tuple[int, int, int]] = []
        spent, spares = [False] * len(groups), gpus.tolist()
        for one, other, value in zip(*(some[line].tolist() for some in (first, second, joint)), strict=True):
            if spent[one] or spent[other]:
                continue
            spent[one] = spent[other] = True
            made.append((one, other, value))
            over -= spares[one]
            if over <= 0:
                break
        if not made:
            return None
        rest = [place for place, gone in enumerate(spent) if not gone]
        groups = [*(groups[place] for place in rest), *(groups[one] + groups[other] for one, other, _ in made)]
        values = [*(values[place] for place in rest), *(value for _, _, value in made)]
        gpus = gpus[[*rest, *(one for one, _, _ in made)]]
        stays = np.append(stays[rest], np.zeros(len(made), dtype=np.bool_))
    kept = stays.tolist()
    return [group for group, stay in zip(groups, kept, strict=True) if stay], [
        group for group, stay in zip(groups, kept, strict=True) if not stay
    ]


def _from_least_loss(values: Sequence[int], joint: Ints, first: Ints, second: Ints, gpus: Ints) -> Ints:
    """Return unions of two groups, by their places, from the one that loses least for each GPU that it spares.

    ``values`` is what all groups are worth, and ``joint`` all unions.
    """
    largest = max(max(map(abs, values), default=0), int(np.abs(joint).max(initial=0)))
    word = np.int64 if largest < _EXACT else object
    worth, spared = np.array(values, dtype=word), gpus.astype(word)[first]
    lost = worth[first] + worth[second] - joint.astype(word)
    if largest < _EXACT:
        return np.argsort(lost / spared, kind="stable")
    return np.argsort((lost << _DIGITS) // spared, kind="stable")  # beyond floats where jobs have many priorities


def pairs_to_join(sizes: Ints, gpus: Ints, new: Ints, largest: int, most: int) -> tuple[Ints, Ints]:
    """Return pairs of a new group and another, by their places, new group by new group.

    Group v has ``sizes[v]`` jobs on ``gpus[v]`` GPUs, and no group may have more than ``largest`` jobs. Two new groups
    are one pair. If they would be more than ``most`` pairs, each new group is paired with some, each with others.

    >>> pairs_to_join(np.array([1, 2, 1]), np.array([1, 1, 1]), np.array([2]), 2, 10)
    (array([2]), array([0]))
    """
    each = max(1, most // max(1, len(new)))
    recent = np.zeros(len(sizes), dtype=np.bool_)
    recent[new] = True
    found: list[tuple[Ints, Ints, Ints]] = []
    for size in np.unique(gpus[new]).tolist():
        turns = np.flatnonzero(gpus[new] == size)
        able = np.flatnonzero((gpus == size) & (sizes < largest))
        if not len(able):
            continue
        starts = turns * each % len(able) if len(able) > each else np.zeros_like(turns)
        others = able[(starts[:, None] + np.arange(min(each, len(able)))) % len(able)]
        one = new[turns][:, None]
        may = (sizes[others] + sizes[one] <= largest) & (~recent[others] | (one < others))
        row, column = np.nonzero(may)
        found.append((turns[row], new[turns[row]], others[row, column]))
    if not found:
        none = np.zeros(0, dtype=np.int64)
        return none, none
    turn, first, second = (np.concatenate(some) for some in zip(*found, strict=True))
    line = np.argsort(turn, kind="stable")
    return first[line], second[line]
