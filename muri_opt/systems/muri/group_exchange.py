"""Groups of a decision made better by exchanging members between all of them at once.

A group is cut in two at random: one member and the others, or two and two. Which part goes with which is an assignment
problem, solved exactly: no choice of parts is worth more, so that the value never falls. Cutting again and again, and
elsewhere, is local search in a neighbourhood of as many decisions as there are permutations of the groups. It needs no
prices, but it ends higher where it begins with a relaxation that was rounded.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from muri_opt.rounds import Budget
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.muri.program_types import GroupTypes

PER_GROUP: Final = 1.2e-6
"""Work to look at a group."""
AT_ONCE: Final = 64
"""Groups that exchange members at once; with more, only some of them do, each time others."""
_HALVES: Final = 4
"""Every so many times groups are cut into halves."""
_VAIN: Final = 60
"""Times without a gain after which no better one is looked for."""


def exchanged(types: GroupTypes, groups: Ints, spare: Ints, budget: Budget) -> Ints:
    """Return groups of types, all on as many GPUs, that are worth no less than those given.

    Types that are ``spare`` take the place of members where that is better, and members may be left out.
    """
    if len(groups) < 2 or types.largest < 2:
        return groups
    draw = np.random.default_rng(len(groups))
    groups, worth = groups.copy(), _worth(types, groups)
    patience = _VAIN * -(-len(groups) // AT_ONCE)
    vain = turn = 0
    while vain < patience and not budget.over():
        some = np.sort(draw.permutation(len(groups))[:AT_ONCE])
        cut = draw.permuted(np.tile(np.arange(types.largest), (len(some), 1)), axis=1)
        mixed = np.take_along_axis(groups[some], cut, axis=1)
        size = types.largest // 2 if turn % _HALVES == _HALVES - 1 else 1
        stay, parts = mixed[:, size:], _parts(mixed, spare, size)
        budget.spend(PER_GROUP * len(stay) * len(parts))
        found, value, taken = _assigned(types, stay, parts)
        vain = 0 if int(value.sum()) > int(worth[some].sum()) else vain + 1
        turn += 1
        groups[some], worth[some] = found, value
        if size == 1:
            left = np.delete(parts[:, 0], taken)
            spare = left[left >= 0]
    return groups


def _parts(mixed: Ints, spare: Ints, size: int) -> Ints:
    """Return the parts that go to another group: those cut off and, of one member, spare types or none."""
    parts = mixed[:, :size]
    if size > 1:
        return parts
    none = np.full(len(mixed), -1)
    return np.concatenate([parts[:, 0], spare, none])[:, None]


def _assigned(types: GroupTypes, stay: Ints, parts: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the best groups of what stays with one part each, what they are worth, and which parts these are."""
    from scipy.optimize import linear_sum_assignment

    different, same = np.unique(parts, axis=0, return_inverse=True)
    every = np.concatenate([np.repeat(stay, len(different), axis=0), np.tile(different, (len(stay), 1))], axis=1)
    worth: Any = _worth(types, every).reshape(len(stay), len(different))[:, same.reshape(-1)]
    row, part = linear_sum_assignment(worth, maximize=True)
    return np.concatenate([stay[row], parts[part]], axis=1), worth[row, part], np.asarray(part)


def _worth(types: GroupTypes, groups: Ints) -> Ints:
    """Return what groups are worth that change their jobs; one without any job nothing."""
    line = in_order(groups, len(types.g))
    worth = np.zeros(len(groups), dtype=np.int64)
    some = line[:, 0] >= 0
    worth[some] = types.values(line[some], np.full(int(some.sum()), -1))[0]
    return worth


def in_order(groups: Ints, kinds: int) -> Ints:
    """Return groups of so many kinds of jobs with their types in ascending order, and no job last."""
    line = np.sort(np.where(groups < 0, kinds, groups), axis=1)
    return np.where(line == kinds, -1, line)
