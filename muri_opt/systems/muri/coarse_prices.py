"""Prices to begin with where groups are too many to list: those of a round whose jobs are a few kinds of similar ones.

Column generation that begins without prices first takes up groups that all want the same jobs, and needs many programs
until these cost what they are worth. Similar jobs have similar prices: jobs are put together into a few clusters, each
of which stands for as many jobs of the type in its middle, so that all groups of clusters can be listed. The prices of
that small program are close to those of the large one; they bound nothing and need not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.muri.program_columns import GroupColumns
from muri_opt.systems.muri.program_kept import KeptColumns
from muri_opt.systems.muri.program_types import GroupTypes, all_groups

Floats = NDArray[np.float64]
CLUSTERS: Final = 24
"""Clusters of all jobs that may share; a program of as many has 20,474 groups."""
_LEAST: Final = 4
"""Clusters of each GPU count, if it has as many types."""
_MOVES: Final = 6
"""Times that clusters are made anew around the mean of their types."""


def coarse_columns(round_: Round, types: GroupTypes) -> GroupColumns:
    """Return all groups of clusters of similar types, with the values of the types in their middles."""
    able = np.flatnonzero(types.able(round_) > 0)
    bucket = bucket_of(types)
    buckets = [able[bucket[able] == one] for one in np.unique(bucket[able]).tolist()]
    each = max(_LEAST, CLUSTERS // max(1, len(buckets)))
    middle = np.zeros(0, dtype=np.int64)
    of = np.zeros(len(types.g), dtype=np.int64)
    for kinds in buckets:
        found, cluster = clustered(features(types, kinds), types.count[kinds], each)
        of[kinds] = len(middle) + cluster
        middle = np.append(middle, kinds[found])
    coarse = standing_for(round_, types, middle, of)
    return GroupColumns.of_types(coarse, all_groups(bucket[middle], coarse.count, types.largest))


def bucket_of(types: GroupTypes) -> Ints:
    """Return a number for each type: those of one number may share."""
    return types.g if types.rules.sizes == "equal" else np.zeros_like(types.g)


def standing_for(round_: Round, types: GroupTypes, middle: Ints, of: Ints) -> GroupTypes:
    """Return some types that stand for all that are able, type t for that at ``of[t]``; nothing goes on as it is."""
    count = np.zeros(len(middle), dtype=np.int64)
    np.add.at(count, of, types.able(round_))
    return replace(
        types,
        type_of=of[types.type_of],
        count=count,
        stages=types.stages[middle],
        g=types.g[middle],
        c=types.c[middle],
        m=types.m[middle],
        tenant=types.tenant[middle],
        alone=types.alone[middle],
        weight=types.weight[middle],
        priority=types.priority[middle],
        place=types.place[middle],
        restart=types.restart[middle],
        model=types.model[middle],
        kept=KeptColumns.none(round_, len(middle), types.largest),
    )


def features(types: GroupTypes, kinds: Ints) -> Floats:
    """Return what makes types similar: stage times, GPUs and weight, each by how much it differs."""
    traits = np.column_stack([types.stages[kinds], types.g[kinds], types.weight[kinds], 4 * types.priority[kinds]])
    values = traits.astype(np.float64)
    spread = values.std(axis=0)
    spread[: types.stages.shape[1]] = spread[: types.stages.shape[1]].max(initial=0.0)  # stages are in one unit
    scaled: Floats = values / np.where(spread > 0, spread, 1.0)
    return scaled


def clustered(points: Floats, count: Ints, most: int) -> tuple[Ints, Ints]:
    """Return the point in the middle of each cluster, and the cluster of each point.

    The first middles are far from each other (Gonzalez 1985), then they move to the means (Lloyd 1982).
    """
    chosen = [int(np.argmax(count))]
    distance = apart(points, points[chosen])[:, 0]
    while len(chosen) < most and distance.max() > 0:
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, apart(points, points[chosen[-1:]])[:, 0])
    means = points[chosen]
    for _ in range(_MOVES):
        cluster = apart(points, means).argmin(axis=1)
        total = np.bincount(cluster, count, minlength=len(means))
        sums = np.column_stack([np.bincount(cluster, count * one, minlength=len(means)) for one in points.T])
        means = np.where(total[:, None] > 0, sums / np.maximum(total, 1)[:, None], means)
    middle = np.unique(apart(points, means).argmin(axis=0))
    return middle, apart(points, points[middle]).argmin(axis=1)


def apart(points: Floats, others: Floats) -> Floats:
    """Return the squared distance of each point to each other one."""
    squares: Floats = ((points[:, None] - others) ** 2).sum(axis=2)
    return squares
