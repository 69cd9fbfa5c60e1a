"""The joint round by the price of a GPU: who shares and how many GPUs they get, decided together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.job_model import Floats
from muri_opt.systems.joint.offers import Offers
from muri_opt.systems.joint.partners import Block
from muri_opt.systems.joint.sizes import best_sizes

_BLOCK = 192
"""Jobs that are looked at as partners of each other."""
_SMALL_BLOCK = 96
_SMALL_FROM = 2000
_PASSES = 7
_PER_GPU = 3
"""Jobs that are looked at for each GPU there is, those of the most value for a GPU: no more can run on them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """Groups with their GPUs, what all of them add, and the price of a GPU at which they were found."""

    groups: tuple[tuple[int, ...], ...]
    gpus: Ints
    value: float
    price: float


def search(offers: Offers, gpus: int) -> Found:
    """Return the best of the joint rounds at some prices of a GPU, by bisection on the price.

    At a price every job and pair knows its best size; they share where that gains, and all get GPUs. Where they ask for
    more than there is, the price was too low for who should share, else too high.
    """
    jobs = np.arange(len(offers.kind))
    alone = offers.alone(jobs)
    counts = np.arange(1, alone.shape[1])
    density = (alone[:, 1:] / counts).max(axis=1, initial=0.0)
    order = np.lexsort((jobs, -density))
    order = order[density[order] > 0][: max(_BLOCK, _PER_GPU * gpus)]
    alone = alone[order]
    sizes, price = best_sizes(alone, gpus)
    best = _found(order[:, None], alone, sizes, price)
    size = _BLOCK if len(order) <= _SMALL_FROM else _SMALL_BLOCK
    blocks = [Block(offers, order[at : at + size]) for at in range(0, len(order), size)]
    low, high, price = 0.0, float("inf"), best.price
    for _ in range(_PASSES):
        groups = [some for block in blocks for some in block.groups(price)]
        found = _sized(offers, order, alone, groups, gpus)
        if found.value > best.value:
            best = found
        if found.price > price:
            low = price
        else:
            high = price
        middle = (low + high) / 2 if high < float("inf") else 2 * price
        price = found.price if low < found.price < high else middle
        if not groups or (high < float("inf") and high - low <= 1e-3 * high):
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
    sizes, price = best_sizes(value, gpus)
    members = [tuple(row) for part in parts for row in part.tolist()]
    return _kept(members, value, sizes, price)


def _found(jobs: Ints, value: Floats, sizes: Ints, price: float) -> Found:
    return _kept([tuple(row) for row in jobs.tolist()], value, sizes, price)


def _kept(members: list[tuple[int, ...]], value: Floats, sizes: Ints, price: float) -> Found:
    run = np.flatnonzero(sizes)
    return Found(
        groups=tuple(members[place] for place in run.tolist()),
        gpus=sizes[run],
        value=float(value[run, sizes[run]].sum()),
        price=price,
    )
