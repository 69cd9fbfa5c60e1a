"""Prices to begin with where jobs are many: those of a sample of them, and of the others by what jobs near them pay.

Column generation needs the more programs the more jobs there are, and with many jobs alike its prices jump from one to
the next. Of a sample of some hundred jobs, each of which stands for some others, prices are close in seconds. The price
of a job is a smooth function of its stage times for the most part, so that a linear fit over the nearest jobs of the
sample tells it for every job. These prices bound nothing and need not.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Budget, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.muri.coarse_prices import apart, bucket_of, clustered, features, standing_for
from muri_opt.systems.muri.group_pricing import GroupPricing
from muri_opt.systems.muri.program_master import Master, Prices
from muri_opt.systems.muri.program_types import GroupTypes

Floats = NDArray[np.float64]
SAMPLED: Final = 200
"""Types of a sample."""
MANY: Final = 400
"""Types from which on a sample is taken."""
_CLUSTERS: Final = 24
"""Clusters of which equal parts are in the sample."""
_NEAR: Final = 24
"""Types of the sample from which the price of another is told."""
_STIFF: Final = 1e-3
"""What keeps the slopes of a fit small where the near types say nothing of them."""


def sample_prices(master: Master, budget: Budget) -> Prices | None:
    """Return prices of all jobs of a round from those of a sample, or ``None`` where jobs are too few for one."""
    if np.count_nonzero(master.able) < MANY:
        return None
    types, chosen = sample_of(master.round_, master.types)
    sample = Master(master.program, master.round_, types, master.relax)
    sample.pricing = GroupPricing(types, np.minimum(sample.able, 1))  # as with different jobs
    alone = np.full((len(chosen), types.largest), -1, dtype=np.int64)
    alone[:, 0] = np.arange(len(chosen))
    sample.take(alone)
    sample.rising = sample.looking = budget
    prices = dict(sample.priced(budget))
    told = spread(master.types, master.able, chosen, prices["once"][types.first_job])
    return prices | {"once": told[master.types.type_of]}


def sample_of(round_: Round, types: GroupTypes) -> tuple[GroupTypes, Ints]:
    """Return a sample as types, each as often as there are jobs that it stands for; and the type in it of each type."""
    able = np.flatnonzero(types.able(round_) > 0)
    bucket = bucket_of(types)
    chosen, of = np.zeros(0, dtype=np.int64), np.zeros(len(types.g), dtype=np.int64)
    for one in np.unique(bucket[able]).tolist():
        kinds = able[bucket[able] == one]
        cluster = clustered(features(types, kinds), types.count[kinds], _CLUSTERS)[1]
        line = kinds[np.argsort(cluster, kind="stable")]
        parts = max(1, round(SAMPLED * len(kinds) / len(able)))
        part = np.arange(len(line)) * min(parts, len(line)) // len(line)
        of[line] = len(chosen) + part
        chosen = np.append(chosen, line[np.searchsorted(part, np.arange(part[-1] + 1))])
    return standing_for(round_, types, chosen, of), chosen


def spread(types: GroupTypes, able: Ints, chosen: Ints, prices: Floats) -> Floats:
    """Return the price of every type that is able, from those of the ones in the sample."""
    bucket, found = bucket_of(types), np.zeros(len(types.g))
    for one in np.unique(bucket[chosen]).tolist():
        kinds = np.flatnonzero((bucket == one) & (able > 0))
        known = np.flatnonzero(bucket[chosen] == one)
        points = features(types, kinds)
        sample = points[np.searchsorted(kinds, chosen[known])]
        found[kinds] = _fitted(points, sample, prices[known])
    return np.maximum(0.0, found)


def _fitted(points: Floats, sample: Floats, prices: Floats) -> Floats:
    """Return what a linear fit over the nearest of a sample says of points."""
    distance = apart(points, sample)
    most = min(_NEAR, len(sample))
    near = np.argpartition(distance, most - 1, axis=1)[:, :most]
    mean, level = sample[near].mean(axis=1), prices[near].mean(axis=1)
    away = sample[near] - mean[:, None]
    square = np.einsum("pnf,png->pfg", away, away)
    square += (_STIFF * np.trace(square, axis1=1, axis2=2)[:, None, None] + 1e-12) * np.eye(points.shape[1])
    slope = np.linalg.solve(square, np.einsum("pnf,pn->pf", away, prices[near] - level[:, None])[:, :, None])[:, :, 0]
    fitted: Floats = level + ((points - mean) * slope).sum(axis=1)
    return fitted
