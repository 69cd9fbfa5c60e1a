"""The efficiency of the union of each two groups: the weights of a matching, and those of rounds before.

From one round to the next most groups are as they were, and so is what they are worth together. The last matrices are
kept, and only pairs with a group that is not in the one with most in common are worked out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.muri.interleaving import SLOWDOWN, periods_of_rows, slot_count, weights_ppm
from muri_opt.systems.muri.options import GroupingOptions

PARTS_PER_BILLION: Final = 10**9
_FINER: Final = 1000
"""Edges are weighed in parts per billion, so that groups of nearly equal efficiency are told apart."""
KEPT: Final = 6
"""Matrices that are kept: as many buckets of one round."""
FEW: Final = 64
"""Groups below which all pairs are worked out, which takes no longer than to look for them."""


def efficiencies(stages: Ints, groups: Ints, options: GroupingOptions) -> Ints:
    """Return the efficiency of groups of one size, a row of jobs each, in parts per billion and slowed down by size.

    Of groups that may run freely it is that by their rates, or the better of both. A row of ``stages`` then has the
    number of the job's model at its end, if models were measured together.
    """
    ways = options.ways
    kinds = stages.shape[1] - bool(ways.models)
    slots = slot_count(options.pattern, kinds)
    freely = None if ways.run == "lock-step" else ways.efficiencies(stages[groups], slots, PARTS_PER_BILLION)
    if freely is not None and ways.run == "free":
        return freely
    periods = periods_of_rows(stages[:, :kinds], groups, options.pattern, worst=options.worst_order)
    totals = stages[:, :kinds].sum(axis=1).take(groups.T).sum(axis=0)
    slowdown = SLOWDOWN[options.slowdown][groups.shape[1]]
    in_step = weights_ppm(totals * _FINER, periods, slots, slowdown)
    return in_step if freely is None else np.maximum(in_step, freely)


class PairWeights:
    """The last matrices of weights, by how pairs are weighed."""

    def __init__(self) -> None:
        self._kept: deque[tuple[tuple[int, GroupingOptions], dict[bytes, int], Ints]] = deque(maxlen=KEPT)

    def of(self, members: Sequence[bytes], stages: int, options: GroupingOptions) -> Ints:
        """Return the weight of each two groups, on the diagonal of a group and one like it; 0: no edge.

        ``members`` are the stage times of each group, so many to a job.
        """
        if len(members) < FEW:
            return _weights(members, np.ones(len(members), dtype=np.bool_), stages, options)
        how = (stages, options)
        known, before = self._most_alike(members, how)
        old = np.array([known.get(group, -1) for group in members], dtype=np.int64)
        weights = _weights(members, old < 0, stages, options)
        same = np.flatnonzero(old >= 0)
        weights[np.ix_(same, same)] = before[np.ix_(old[same], old[same])]
        self._kept.append((how, {group: place for place, group in enumerate(members)}, weights.copy()))
        return weights

    def _most_alike(self, members: Sequence[bytes], how: tuple[int, GroupingOptions]) -> tuple[dict[bytes, int], Ints]:
        """Return the groups, by their places, and the weights of the matrix that has most of these groups."""
        mine = set(members)
        able = [(known, weights) for same, known, weights in tuple(self._kept) if same == how]
        nothing: tuple[dict[bytes, int], Ints] = ({}, np.zeros((0, 0), dtype=np.int64))
        return max(able, key=lambda one: len(mine & one[0].keys()), default=nothing)


def sizes_of(members: Sequence[bytes], stages: int) -> Ints:
    """Return how many jobs each group has, given the stage times of groups, so many to a job."""
    return np.array([len(group) for group in members], dtype=np.int64) // (stages * np.dtype(np.int64).itemsize)


def stages_of(members: Sequence[bytes], stages: int) -> Ints:
    """Return the stage times of the jobs of all groups, one after another, a row per job."""
    return np.frombuffer(b"".join(members), dtype=np.int64).reshape(-1, stages)


class _Groups:
    """Groups of jobs by their stage times: all jobs one after another, and which of them are those of a group."""

    def __init__(self, members: Sequence[bytes], stages: int, options: GroupingOptions) -> None:
        self.options, self.sizes = options, sizes_of(members, stages)
        self._jobs = stages_of(members, stages)
        starts = np.cumsum(self.sizes) - self.sizes
        self._table = np.arange(options.largest_group) + starts[:, None]

    def together(self, first: Ints, second: Ints) -> Ints:
        """Return the weight of the union of each group of ``first`` with that of ``second``; 0: no edge."""
        options, weights, sizes = self.options, np.zeros(len(first), dtype=np.int64), np.unique(self.sizes).tolist()
        for p, q in product(sizes, repeat=2):
            at = np.arange(len(first))
            if len(sizes) > 1:
                at = np.flatnonzero((self.sizes[first] == p) & (self.sizes[second] == q))
            if p + q <= options.largest_group and len(at):
                unions = np.hstack([self._table[first[at], :p], self._table[second[at], :q]])
                efficiency = efficiencies(self._jobs, unions, options)
                floor = options.least_weight * (p + q) / 4 * PARTS_PER_BILLION
                weights[at] = np.where(efficiency > floor, efficiency, 0)
        return weights


def _weights(members: Sequence[bytes], new: NDArray[np.bool_], stages: int, options: GroupingOptions) -> Ints:
    """Return the weights of all pairs with a group that is ``new``, and 0 for the others."""
    first, second = np.nonzero(np.triu(new[:, None] | new))
    weights = np.zeros((len(members), len(members)), dtype=np.int64)
    weights[first, second] = _Groups(members, stages, options).together(first, second)
    return np.maximum(weights, weights.T)


def weights_in_blocks(
    members: Sequence[bytes], blocks: Sequence[Ints], stages: int, options: GroupingOptions
) -> list[Ints]:
    """Return the weight of each two groups of every block, all worked out at once; no group is paired with itself.

    A block is the places of its groups among the ``members``, in ascending order.
    """
    pairs = [_all_pairs(len(block)) for block in blocks]
    first, second = (
        np.concatenate([block[pair[side]] for block, pair in zip(blocks, pairs, strict=True)]) for side in (0, 1)
    )
    worth = _Groups(members, stages, options).together(first, second)
    found, start = list[Ints](), 0
    for block, pair in zip(blocks, pairs, strict=True):
        end = start + len(pair[0])
        weights = np.zeros((len(block), len(block)), dtype=np.int64)
        weights[pair] = weights.T[pair] = worth[start:end]
        found.append(weights)
        start = end
    return found


@lru_cache(maxsize=4)
def _all_pairs(groups: int) -> tuple[Ints, Ints]:
    """Return each two of so many groups."""
    first, second = np.triu_indices(groups, 1)
    return first, second


PAIR_WEIGHTS: Final = PairWeights()
"""Those of this process."""
