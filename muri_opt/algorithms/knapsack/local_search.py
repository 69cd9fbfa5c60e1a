"""A better answer: some jobs at a time are decided anew, together, by a narrow enumeration.

First the jobs that are nearest to changing at these prices, then jobs drawn from those; in every fourth turn, jobs with
changes that are unlike each other.

Large neighbourhood search: the neighbourhood is the core of a few jobs, searched by :mod:`.core_enumeration` with few
states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muri_opt.algorithms.knapsack.candidates import Candidates, candidates
from muri_opt.algorithms.knapsack.core_enumeration import Found, search
from muri_opt.algorithms.knapsack.multipliers import Priced
from muri_opt.algorithms.knapsack.options import Ints, Options
from muri_opt.rounds import Budget

_JOBS, _PER_JOB, _WIDTH = 20, 8, 300
"""Jobs decided together, candidates of each, and states kept."""
_ROUNDS, _FAILURES = 40, 8
_POOL = 3
"""How many times as many jobs, or changes, as are decided together the draws are made from."""
_CHANGES, _ALIKE = 40, 3
"""Changes unlike each other that are decided together, and how many of them may be alike."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Open:
    """The jobs with more than one candidate: where theirs are in ``order`` (cheapest first), and the second's loss."""

    order: Ints
    starts: Ints
    sizes: Ints
    second: Ints
    loses: Ints

    def lists(self, jobs: Ints, most: int, *, hardest_first: bool) -> list[Ints]:
        """Return up to ``most`` candidates of each of some of these jobs, in order of the second's loss."""
        ranked = jobs[np.argsort(self.second[jobs], kind="stable")]
        spans = zip(self.starts[ranked].tolist(), np.minimum(self.sizes[ranked], most).tolist(), strict=True)
        found = [self.order[start : start + size] for start, size in spans]
        return found[::-1] if hardest_first else found


def open_jobs(known: Candidates) -> Open:
    """Return the jobs among the candidates' that have a choice."""
    order = np.lexsort((known.loss, known.job))
    job = known.job[order]
    starts = np.flatnonzero(np.diff(job, prepend=-1))
    sizes = np.diff(np.append(starts, len(job)))
    starts, sizes = starts[sizes > 1], sizes[sizes > 1]
    return Open(
        order=order,
        starts=starts,
        sizes=sizes,
        second=known.loss[order[starts + 1]],
        loses=known.loss[known.now][job[starts]],
    )


def polished(options: Options, priced: Priced, choice: Ints, budget: Budget, width: int = _WIDTH) -> Ints:
    """Return a choice that is at least as good; the same for the same seed, unless seconds run out."""
    draw = np.random.default_rng(budget.limits.seed)
    losses = np.concatenate([priced.loss, priced.idle])
    near = _smallest(losses, options.jobs + _JOBS * _JOBS)
    far = _smallest(losses, 3 * options.jobs + _JOBS * _PER_JOB)
    failures = 0
    for turn in range(_ROUNDS):
        limit = priced.gap(options.worth(choice))
        if limit < 0 or failures == _FAILURES or budget.over():
            break
        wide = turn % 4 == 3
        known = candidates(options, priced, choice, min(limit, far if wide else near))
        if wide:
            jobs = unlike_changes(known, draw if turn > 3 else None)
        else:
            free = open_jobs(known)
            ranked = np.argsort(np.where(free.loses > 0, 0, free.second), kind="stable")
            if turn >= 2:
                ranked = np.sort(draw.permutation(ranked[: _POOL * _JOBS])[:_JOBS])
            jobs = free.lists(ranked[:_JOBS], _PER_JOB, hardest_first=turn % 2 == 1)
        found = search(known, priced, options.capacity, limit, jobs, width, budget)
        failures = failures + 1 if found.choice is None else 0
        choice = choice if found.choice is None else found.choice
    return choice


def unlike_changes(known: Candidates, draw: np.random.Generator | None) -> list[Ints]:
    """Return, of jobs with cheap changes unlike each other, those changes and what the job is now, the dearest first.

    Changes are alike that take equally more of everything. Where nearly all cheap ones are alike (even numbers of GPUs,
    say), what is left over can be filled only by one that is not, which loses more than many others. The cheapest of
    each sort come first, then the second cheapest; with ``draw`` they are drawn from a few times as many.
    """
    now = known.now[known.job]
    more, loss = known.use - known.use[now], known.loss - known.loss[now]
    order = np.lexsort((loss, *more.T))
    starts = np.flatnonzero(np.append(True, (np.diff(more[order], axis=0) != 0).any(axis=1)))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    changes = np.flatnonzero((more != 0).any(axis=1) & (rank < _ALIKE))
    changes = changes[np.lexsort((loss[changes], rank[changes]))]
    if draw is not None:
        changes = draw.permutation(changes[: _POOL * _CHANGES])
    changes = changes[:_CHANGES]
    places = np.concatenate([changes, known.now[np.unique(known.job[changes])]])
    places = places[np.lexsort((known.loss[places], known.job[places]))]
    firsts = np.flatnonzero(np.diff(known.job[places], prepend=-1))
    ends = np.append(firsts[1:], len(places))
    dearest = np.argsort(-known.loss[places[firsts + 1]], kind="stable")
    return [places[firsts[job] : ends[job]] for job in dearest.tolist()]


def enumerated(options: Options, priced: Priced, choice: Ints, width: int, budget: Budget) -> Found:
    """Look for a better choice among all that could be one; proved if no state had to be left out."""
    limit = priced.gap(options.worth(choice))
    known = candidates(options, priced, choice, limit)
    free = open_jobs(known)
    jobs = free.lists(np.arange(len(free.starts)), len(known), hardest_first=True)
    return search(known, priced, options.capacity, limit, jobs, width, budget)


def _smallest(losses: Ints, count: int) -> int:
    """Return the loss that ``count`` losses do not exceed."""
    last = min(count, len(losses)) - 1
    return int(np.partition(losses, last)[last]) if last >= 0 else 0
