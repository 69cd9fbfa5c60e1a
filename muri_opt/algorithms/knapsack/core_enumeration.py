"""The few jobs that multipliers leave open, decided together: all that loses little, enumerated in exact integers.

From the choice that loses nothing at the prices m (and may not fit) a solution differs in some jobs. If those changes
lose L and leave s of the capacities, it is worth total - L - m.s: both must be small. Job after job the states (L, s)
are extended by the candidates of the job. Of equal s the least L is kept, and a state goes when no completion can be
worth more than the best solution known: for any d >= -m it costs at least L - d.s - F(d), where F(d) sums, over the
jobs to come, the most that -loss - d.more of a candidate can be. If no state ever goes for lack of room, what is
found, or that nothing is, is proved.

The core of a knapsack (Balas and Zemel 1980), solved by dynamic programming over lists of states with dominance
(Nemhauser and Ullmann 1969) and bounds, as in Pisinger's minimal-core algorithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from muri_opt.algorithms.knapsack.candidates import Candidates
from muri_opt.algorithms.knapsack.multipliers import Priced
from muri_opt.algorithms.knapsack.options import Ints
from muri_opt.rounds import Budget

Floats = NDArray[np.float64]
_SCALES = (0.25, 1.0, 4.0)
_EXACT = 1 << 50
_MOST_TOGETHER = 5
"""Capacities up to which all directions are looked in: of each more there are three times as many."""
_LAYER, _PER_STATE = 2e-4, 4e-7
"""Work for a job: what it costs in any case, and for each state that it makes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """The better choice that was found (``None``: none), and whether it is proved that no better one exists."""

    choice: Ints | None
    proved: bool


@dataclass(slots=True, kw_only=True, eq=False)
class _Layer:
    """The states after some jobs: for each the state it came from and the candidate that was added."""

    parent: Ints
    place: Ints


def search(
    known: Candidates,
    priced: Priced,
    capacity: Ints,
    limit: int,
    jobs: list[Ints],
    width: int,
    budget: Budget,
) -> Found:
    """Look for a solution that costs at most ``limit``; ``jobs`` has the candidates of each job that may change.

    All other jobs stay what they are. ``width`` is how many states are kept; once ``budget`` is over, one.
    """
    more = known.use - known.use[known.now][known.job]
    free = capacity - known.use[known.now].sum(axis=0)
    price = np.array(priced.prices, dtype=np.int64)
    ways, ahead = _detours(known, more, free, jobs, price, limit)
    stays = np.array([known.loss[known.now[known.job[places[0]]]] for places in jobs] + [0], dtype=np.int64)
    later = np.cumsum(stays[::-1])[::-1]  # what the jobs to come lose if they stay what they are
    states, lost = free.reshape(1, -1), np.array([known.loss[known.now].sum() - later[0]], dtype=np.int64)
    layers: list[_Layer] = []
    best: tuple[int, int] | None = None
    complete = True
    for depth in range(len(jobs) + 1):
        cost = np.where((states >= 0).all(axis=1), lost + states @ price + later[depth], limit + 1)
        at = int(np.argmin(cost))
        if cost[at] <= limit:
            best = (depth, at)
            limit = int(cost[at]) - priced.denominator
        if depth == len(jobs) or limit < 0:
            break
        mine = jobs[depth]
        parent = np.repeat(np.arange(len(states)), len(mine))
        place = np.tile(mine, len(states))
        lost = lost[parent] + known.loss[place]
        kept = np.flatnonzero(lost <= limit)
        parent, place, lost = parent[kept], place[kept], lost[kept]
        states = states[parent] - more[place]
        least = lost - ((states.astype(np.float64) @ ways).astype(np.int64) + ahead[depth + 1]).min(axis=1)
        kept = np.flatnonzero(least <= limit)
        kept = kept[_distinct(states[kept], lost[kept])]
        budget.spend(_LAYER + _PER_STATE * len(parent))
        if budget.over():
            width = 1
        if len(kept) > width:
            complete = False
            kept = kept[np.argpartition(least[kept], width)[:width]]
        if not len(kept):
            break
        parent, place, lost, states = parent[kept], place[kept], lost[kept], states[kept]
        layers.append(_Layer(parent=parent, place=place))
    if best is None:
        return Found(choice=None, proved=complete)
    return Found(choice=_traced(known, layers, best), proved=complete)


def _detours(
    known: Candidates, more: Ints, free: Ints, jobs: list[Ints], price: Ints, limit: int
) -> tuple[Floats, Ints]:
    """Return directions d (a column each, the first 0) and F(d) over the jobs from each depth on."""
    size = np.abs(more).astype(np.float64)
    typical = np.maximum(1.0, size.sum(axis=0) / np.maximum(1, (size > 0).sum(axis=0)))
    reach = np.abs(free) + (len(jobs) + 1) * size.max(axis=0, initial=1.0)
    signs = _signs(len(free))
    unit = np.maximum(limit, 1) / typical
    columns = [sign * scale * unit for sign in signs for scale in (_SCALES if sign.any() else (1.0,))]
    ways = np.clip(np.array(columns), -price, _EXACT / (len(free) * reach)).round().T
    ahead = np.zeros((len(jobs) + 1, ways.shape[1]), dtype=np.int64)
    for depth in range(len(jobs) - 1, -1, -1):
        mine = jobs[depth]
        gains = -known.loss[mine][:, None] - (more[mine].astype(np.float64) @ ways).astype(np.int64)
        ahead[depth] = ahead[depth + 1] + gains.max(axis=0)
    return ways, ahead


def _signs(capacities: int) -> Floats:
    """Return directions to look in, one in each row: all of -1, 0 and 1, or of many capacities one at a time."""
    if capacities <= _MOST_TOGETHER:
        return np.array(list(product((-1, 0, 1), repeat=capacities)), dtype=np.float64)
    alone = np.eye(capacities)
    return np.concatenate([np.zeros((1, capacities)), alone, -alone])


def _distinct(states: Ints, lost: Ints) -> Ints:
    """Return one place of each distinct state, that which has lost least."""
    if not len(states):
        return np.zeros(0, dtype=np.int64)
    order = np.lexsort((lost, *states.T))
    fresh = np.append(True, (np.diff(states[order], axis=0) != 0).any(axis=1))
    kept: Ints = order[fresh]
    return kept


def _traced(known: Candidates, layers: list[_Layer], best: tuple[int, int]) -> Ints:
    """Return the choice of a state: the candidates on the way to it, and for all other jobs what they are."""
    now = known.now.copy()
    depth, at = best
    for layer in reversed(layers[:depth]):
        place = int(layer.place[at])
        now[known.job[place]] = place
        at = int(layer.parent[at])
    return known.choice(now)
