"""The joint round by the price of a GPU: who shares and how many GPUs they get, decided together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.groups.pair_reach import Reach
from muri_opt.systems.joint.groups.partners import Blocks, best_pairs, heaviest_first
from muri_opt.systems.joint.groups.sizes import best_sizes, price_of
from muri_opt.systems.joint.jobs.job_model import Floats

BLOCK = 192
"""Jobs that are all looked at as partners of each other; more are looked at in smaller blocks."""
_SMALLER_BLOCKS = (64, 48, 32)
"""How many these are: usually the first. It is the next where jobs pay for more than GPUs, as fewer to choose from find
as much there; the next again for a rough answer that is wanted soon; and again where few may share for such a one."""
_PASSES = 7
_PER_GPU = 3
"""Jobs that are looked at for each GPU there is, those of the most value for a GPU: hardly more can run on them."""
_KEPT = (1.0, 0.6, 0.35)
"""Which part of the pairs waits for further jobs, in turn; the last only for a fourth, and of very many jobs at once
``_KEPT_AT_ONCE``."""
_KEPT_AT_ONCE = 0.5
DEARER = 1.4
"""How much dearer than without sharing GPUs are with it, as a first guess, if nothing but GPUs is scarce."""
_TURNS = 6
_ROUNDING = 1e-9
Group = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """Groups with their GPUs, what each and all of them add, and the price of a GPU at which they were found.

    What they add is less by what their jobs pay besides the price. The groups are in ``parts``, arrays with the jobs of
    one in each row. ``shared`` are all groups of several jobs that were formed, those without GPUs too. They are
    ``rough`` if a search that is not quick would have gone on.
    """

    parts: list[Ints]
    gpus: Ints
    values: Floats
    value: float
    price: float
    shared: list[Ints]
    rough: bool = False

    def groups(self) -> tuple[Group, ...]:
        """Return the groups, the jobs of each in the order of the round."""
        return tuple(map(tuple, chain.from_iterable(np.sort(part, axis=1).tolist() for part in self.parts)))

    def sizes(self) -> dict[Group, int]:
        """Return the GPUs of each group."""
        return dict(zip(self.groups(), self.gpus.tolist(), strict=True))

    def each_gpu(self) -> list[float]:
        """Return what each group adds for each of its GPUs."""
        each: list[float] = (self.values / self.gpus).tolist()
        return each


def search(
    offers: Offers,
    gpus: int,
    among: Ints | None = None,
    groups: list[Ints] | None = None,
    *,
    dearer: float = DEARER,
    quick: bool = False,
) -> Found:
    """Return the best of the joint rounds at some prices of a GPU, by bisection on the price.

    At a price every job and pair knows its best size; they share where that gains, and all get GPUs. Where they ask for
    more than there is, the price was too low for who should share, else too high. Only jobs ``among`` some are looked
    at, all if none are named. ``groups`` are those of another search, to be improved instead. Very many jobs are looked
    at with one price only, that without sharing times ``dearer``; by a ``quick`` search so are few.
    """
    look_at_clock()
    jobs = np.arange(len(offers.kind)) if among is None else among
    alone = offers.alone(jobs)
    density = (alone[:, 1:] / offers.float_counts[1:]).max(axis=1, initial=0.0)
    line = np.lexsort((jobs, offers.submitted[jobs], -density))
    line = line[density[line] > 0][: max(BLOCK, _PER_GPU * gpus)]
    order, alone = jobs[line], alone[line]
    enough = offers.full and int(offers.counts[alone.argmax(axis=1)].sum()) <= gpus  # nobody gains by sharing
    if enough or not gpus or len(order) < 2 or offers.most_jobs < 2:
        return sized(offers, order, alone, [], gpus)
    if groups is None and (quick or len(order) > BLOCK):
        return replace(_at_once(offers, order, alone, gpus, dearer), rough=len(order) <= BLOCK)
    best = sized(offers, order, alone, [], gpus)
    if groups is not None:
        best = max(best, sized(offers, order, alone, groups, gpus), key=lambda one: one.value)
        block = Blocks(offers, order[None], heaviest_first)
        return _improved(offers, order, alone, block, best, gpus) if len(order) <= BLOCK else best
    # Where a third job may join, the best pairs are no better cores than those of the largest gains.
    block = Blocks(offers, order[None], best_pairs if offers.most_jobs == 2 else heaviest_first)
    if not block.share:
        return best
    low, high, price = 0.0, float("inf"), best.price
    for turn in range(_PASSES):
        groups = block.groups(price, _KEPT[turn % max(2, offers.most_jobs - 1)])
        found = sized(offers, order, alone, groups, gpus)
        best = max(best, found, key=lambda one: one.value)
        if found.price > price:
            low = price
        else:
            high = price
        middle = (low + high) / 2 if high < float("inf") else 2 * price
        price = found.price if low < found.price < high else middle
        if high < float("inf") and high - low <= 1e-3 * high:
            break
    return _improved(offers, order, alone, block, best, gpus)


def _at_once(offers: Offers, order: Ints, alone: Floats, gpus: int, dearer: float) -> Found:
    """Return the groups of very many jobs at one price of a GPU, in blocks of jobs of about the same period.

    Jobs that ask for certain nodes share only if one of them may start wherever the other may: in a group that none of
    its jobs alone would have confined so much, they would crowd few nodes. Where most pay more for all else than for
    GPUs, no third job joins: each would take as much of that.
    """
    cheapest, chosen = price_of(alone, offers.counts, gpus)
    price = dearer * cheapest
    profit = alone[:, 1:] - price * offers.counts[1:]
    wanted = profit.argmax(axis=1) + 1
    never = np.flatnonzero(alone[np.arange(len(order)), wanted] <= 0)
    wanted[never] = (alone[never, 1:] / offers.counts[1:]).argmax(axis=1) + 1
    members = 2 if np.median(offers.charge[order]) > cheapest else offers.most_jobs
    coarse = replace(offers, grid=offers.coarse_grid, confined=True, most_jobs=members)
    gained = np.zeros(len(offers.kind))
    gained[order] = np.maximum(0.0, profit.max(axis=1))
    reach = Reach.at(price, coarse, rows_of_similar_periods(offers, order, wanted), gained)
    blocks = Blocks(coarse, reach.jobs, heaviest_first, reach)
    groups = blocks.groups(price, _KEPT_AT_ONCE if members > 2 else 1.0)
    found = sized(offers, order, alone, groups, gpus)
    gains = alone[np.arange(len(order)), chosen] - cheapest * offers.counts[chosen]
    most_alone = (cheapest * gpus + gains.sum()) * (1 + _ROUNDING)
    if not groups or found.value > most_alone:
        return found
    return max(sized(offers, order, alone, [], gpus), found, key=lambda one: one.value)


def rows_of_similar_periods(offers: Offers, order: Ints, wanted: Ints) -> Ints:
    """Return jobs in rows, -1 where the last has fewer, by their periods on the counts of GPUs at places ``wanted``.

    Jobs that take turns wait for the slowest, so that partners are of similar periods: those of a factor of two go
    together, of these those that ask for the same nodes, in the order that they have.
    """
    period = np.floor(-np.log2(offers.rate[offers.kind[order], wanted]))
    nested = offers.order.nested
    if nested is not None:
        period = period * len(nested) + offers.order.rank[order]
    fewer = int(offers.charge.any())
    if offers.rough:
        fewer += 1 if nested is None or 2 * nested.mean() > 1 else 2
    width = max(1, min(_SMALLER_BLOCKS[min(fewer, 2)], len(order)))
    line = np.append(order[np.argsort(period, kind="stable")], np.full(-len(order) % width, -1, dtype=np.int64))
    return line.reshape(-1, width)


def _improved(offers: Offers, order: Ints, alone: Floats, block: Blocks, best: Found, gpus: int) -> Found:
    """Return the groups with members exchanged as long as that adds anything."""
    failed = 0
    for turn in range(_TURNS):
        if not best.shared:
            break
        groups = block.regrouped(best.shared, best.price, turn)
        found = sized(offers, order, alone, groups, gpus)
        failed = 0 if found.value > best.value else failed + 1
        best = max(best, found, key=lambda one: one.value)
        if failed == offers.most_jobs or not groups:
            break
    return best


def sized(offers: Offers, order: Ints, alone: Floats, groups: list[Ints], gpus: int) -> Found:
    """Return the best sizes of groups and of all other jobs alone."""
    free = np.ones(len(offers.kind), dtype=np.bool_)
    for some in groups:
        free[some] = False
    rows = free[order]
    parts = [*groups, order[rows, None]]
    value = np.concatenate([*(offers.groups(some) for some in groups), alone[rows]])
    sizes, price = best_sizes(value, offers.counts, gpus)
    run = np.flatnonzero(sizes)
    values = value[run, sizes[run]]
    cut = np.split(sizes > 0, np.cumsum([len(part) for part in parts[:-1]]))
    return Found(
        parts=[part[given] for part, given in zip(parts, cut, strict=True)],
        gpus=offers.counts[sizes[run]],
        values=values,
        value=float(values.sum()),
        price=price,
        shared=groups,
    )
