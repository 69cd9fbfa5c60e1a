"""Which new groups may join which others: pairs of groups of as many GPUs that are not too large together."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds.amounts import Ints


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
