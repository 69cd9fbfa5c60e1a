"""A bound on the efficiency of any grouping, from prices of jobs and GPUs, in exact integers."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement, permutations

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.instance import Job, Round
from muri_opt.solution import LinearDuals
from muri_opt.verification.rulebook import Rules
from muri_opt.verification.sharing import stages_of

Ints = NDArray[np.int64]
PARTS = 1_000_000
_INT64 = 1 << 63
MOST_GROUPS = 3_000_000
"""Groups beyond which they are not all looked at, and no bound is given."""


def sharing_bound(round_: Round, rules: Rules, duals: LinearDuals) -> int | None:
    """Return the largest total efficiency that prices of jobs (``once``) and GPUs (``gpus``) allow any grouping.

    If every group paid at least its efficiency, the price of all jobs and all GPUs would bound the total. Where groups
    pay up to ``short`` too little, a grouping has at most as many groups as jobs, and as GPUs over the smallest job,
    so that many times ``short`` is added. Every group of jobs of equal GPU count is looked at; jobs larger than the
    cluster are left out. ``None`` for four slots, and where a job has no GPUs or no stage times to share.
    """
    if rules.sharing is None or rules.sharing.four_slots:
        return None
    once, gpus = duals.multipliers.get("once", ()), duals.multipliers.get("gpus", ())
    if len(once) != len(round_.jobs) or len(gpus) != 1 or min((*once, *gpus)) < 0 or duals.denominator < 1:
        found = f"{len(once)} and {len(gpus)} numbers"
        raise InputError("multipliers", found, f"{len(round_.jobs)} and 1 whole numbers of at least 0")
    if any(job.gpus < 1 or job.stage_seconds is None for job in round_.jobs):
        return None
    total = round_.cluster.total_gpus
    buckets: dict[int, list[tuple[Job, int]]] = {}
    able = [(job, price) for job, price in zip(round_.jobs, once, strict=True) if job.gpus <= total]
    for job, price in able:
        buckets.setdefault(job.gpus, []).append((job, price))
    short = 0
    for size, members in buckets.items():
        worst = _most_unpaid(members, size * gpus[0], duals.denominator, rules.largest_group)
        if worst is None:
            return None
        short = max(short, worst)
    groups = min(len(able), total // min(buckets, default=1))
    return (sum(price for _, price in able) + gpus[0] * total + groups * short) // duals.denominator


def _most_unpaid(members: list[tuple[Job, int]], gpu_price: int, scale: int, largest: int) -> int | None:
    """Return by how much the efficiency of any group of the members exceeds what it pays, at most; at least 0."""
    kinds = Counter(
        (tuple(stages), price) for (_, price), stages in zip(members, stages_of([j for j, _ in members]), strict=True)
    )
    longest, dearest = max(max(stages, default=0) for stages, _ in kinds), max(price for _, price in kinds)
    slots = len(next(iter(kinds))[0])
    most = max(PARTS * largest * slots * longest, PARTS * scale + largest * dearest + gpu_price)
    exact = np.int64 if most < _INT64 else object  # prices are anybody's: they may be too large for a machine word
    times = np.array([stages for stages, _ in kinds], dtype=exact)
    prices = np.array([price for _, price in kinds], dtype=exact)
    count = np.array(list(kinds.values()), dtype=np.int64)
    worst = 0
    for size in range(1, min(largest, len(members), times.shape[1]) + 1):
        groups = _groups(len(count), size)
        if groups is None:
            return None
        for block in np.array_split(groups, len(groups) // 200_000 + 1):
            allowed = block[_within(block, count)]
            unpaid = _efficiency_ppm(times[allowed]) * scale - prices[allowed].sum(axis=1) - gpu_price
            worst = max(worst, int(unpaid.max(initial=0)))
    return worst


def _groups(kinds: int, size: int) -> Ints | None:
    total = 1
    for i in range(size):
        total = total * (kinds + i) // (i + 1)
    if total > MOST_GROUPS:
        return None
    flat = (kind for group in combinations_with_replacement(range(kinds), size) for kind in group)
    return np.fromiter(flat, dtype=np.int64, count=total * size).reshape(total, size)


def _within(groups: Ints, count: Ints) -> NDArray[np.bool_]:
    """Return which groups take no kind more often than there are jobs of it."""
    used = (groups[:, :, None] == groups[:, None, :]).sum(axis=2)
    return np.asarray((used <= count[groups]).all(axis=1))


def _efficiency_ppm(stages: Ints) -> Ints:
    """Return the efficiency of groups, ``stages[g, j, r]``, in their best seating, in whole parts per million."""
    _, size, slots = stages.shape
    best: Ints | None = None
    for later in permutations(range(1, slots), size - 1):
        seats = (0, *later)
        period = np.zeros(len(stages), dtype=stages.dtype)
        for i in range(slots):
            period += np.max([stages[:, j, (i - s) % slots] for j, s in enumerate(seats)], axis=0)
        best = period if best is None else np.minimum(best, period)
    total = stages.sum(axis=(1, 2))
    least = total if best is None else best
    return np.where(least > 0, PARTS * total // (slots * np.maximum(least, 1)), 0)
