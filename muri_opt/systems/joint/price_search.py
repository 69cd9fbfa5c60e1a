"""The joint round by the price of a GPU: who shares and how many GPUs they get, decided together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.job_model import Floats
from muri_opt.systems.joint.offers import Offers
from muri_opt.systems.joint.partners import Block, best_pairs, heaviest_first
from muri_opt.systems.joint.sizes import best_sizes

_BLOCK = 192
"""Jobs that are looked at as partners of each other."""
_FEW_JOBS = 2_000
"""Jobs up to which blocks are large, pairs are exact where there are no triples, and groups are improved at last."""
_SMALL_BLOCK = 96
_PASSES = 7
_FEW_PASSES = 3
"""For more jobs."""
_PER_GPU = 3
"""Jobs that are looked at for each GPU there is, those of the most value for a GPU: no more can run on them."""
_KEPT = (1.0, 0.6)
"""Which part of the pairs waits for a third job, in turn."""
_TURNS = 6
Group = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """Groups with their GPUs, what all of them add, and the price of a GPU at which they were found.

    ``shared`` are all groups of several jobs that were formed, those without GPUs too.
    """

    groups: tuple[Group, ...]
    gpus: Ints
    value: float
    price: float
    shared: list[Ints]


def search(offers: Offers, gpus: int) -> Found:
    """Return the best of the joint rounds at some prices of a GPU, by bisection on the price.

    At a price every job and pair knows its best size; they share where that gains, and all get GPUs. Where they ask for
    more than there is, the price was too low for who should share, else too high.
    """
    jobs = np.arange(len(offers.kind))
    alone = offers.alone(jobs)
    density = (alone[:, 1:] / offers.counts[1:]).max(axis=1, initial=0.0)
    order = np.lexsort((jobs, offers.submitted, -density))
    order = order[density[order] > 0][: max(_BLOCK, _PER_GPU * gpus)]
    alone = alone[order]
    best = _sized(offers, order, alone, [], gpus)
    few = len(order) <= _FEW_JOBS
    size = _BLOCK if few else _SMALL_BLOCK
    # Where a third job may join, the best pairs are no better cores than those of the largest gains.
    pairing = best_pairs if few and offers.most_jobs == 2 else heaviest_first
    blocks = [Block(offers, order[at : at + size], pairing) for at in range(0, len(order), size)]
    low, high, price = 0.0, float("inf"), best.price
    for turn in range(_PASSES if few else _FEW_PASSES):
        groups = [some for block in blocks for some in block.groups(price, _KEPT[turn % len(_KEPT)])]
        found = _sized(offers, order, alone, groups, gpus)
        best = max(best, found, key=lambda one: one.value)
        if found.price > price:
            low = price
        else:
            high = price
        middle = (low + high) / 2 if high < float("inf") else 2 * price
        price = found.price if low < found.price < high else middle
        if not groups or (high < float("inf") and high - low <= 1e-3 * high):
            break
    if few:
        best = _improved(offers, order, alone, blocks, best, gpus)
    return best


def _improved(offers: Offers, order: Ints, alone: Floats, blocks: list[Block], best: Found, gpus: int) -> Found:
    """Return the groups with members exchanged as long as that adds anything."""
    of = np.full(len(offers.kind), -1, dtype=np.int64)
    for number, block in enumerate(blocks):
        of[block.jobs] = number
    failed = 0
    for turn in range(_TURNS):
        groups = []
        for number, block in enumerate(blocks):
            mine = [some[of[some[:, 0]] == number] for some in best.shared]
            mine = [some for some in mine if len(some)]
            groups += block.regrouped(mine, best.price, turn) if mine else []
        found = _sized(offers, order, alone, groups, gpus)
        failed = 0 if found.value > best.value else failed + 1
        best = max(best, found, key=lambda one: one.value)
        if failed == offers.most_jobs or not groups:
            break
    return best


def _sized(offers: Offers, order: Ints, alone: Floats, groups: list[Ints], gpus: int) -> Found:
    """Return the best sizes of groups and of all other jobs alone."""
    free = np.ones(len(offers.kind), dtype=np.bool_)
    for some in groups:
        free[some] = False
    rows = free[order]
    parts = [*groups, order[rows, None]]
    value = np.concatenate([*(offers.groups(some) for some in groups), alone[rows]])
    sizes, price = best_sizes(value, offers.counts, gpus)
    run = np.flatnonzero(sizes)
    members = [tuple(row) for part in parts for row in part.tolist()]
    return Found(
        groups=tuple(members[place] for place in run.tolist()),
        gpus=offers.counts[sizes[run]],
        value=float(value[run, sizes[run]].sum()),
        price=price,
        shared=groups,
    )
