"""A better answer: some jobs at a time are decided anew, together, by a narrow enumeration.

First the jobs that are nearest to changing at these prices, then jobs drawn from those and from all.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from muri_opt.knapsack.candidates import Candidates, candidates
from muri_opt.knapsack.core import Found, search
from muri_opt.knapsack.options import Ints, Options
from muri_opt.knapsack.pricing import Priced

_JOBS, _PER_JOB, _WIDTH = 20, 8, 300
"""Jobs decided together, candidates of each, and states kept."""
_ROUNDS, _FAILURES = 40, 8
_POOL = 3
"""How many times as many jobs as are decided together the nearer draws are made from."""


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


def polished(
    options: Options, priced: Priced, choice: Ints, seed: int, deadline: float | None, width: int = _WIDTH
) -> Ints:
    """Return a choice that is at least as good; the same for the same seed, unless time (``perf_counter``) runs out."""
    draw = np.random.default_rng(seed)
    losses = np.concatenate([priced.loss, priced.idle])
    near = _smallest(losses, options.jobs + _JOBS * _JOBS)
    far = _smallest(losses, 3 * options.jobs + _JOBS * _PER_JOB)
    failures = 0
    for turn in range(_ROUNDS):
        limit = priced.gap(options.worth(choice))
        if limit < 0 or failures == _FAILURES or (deadline is not None and time.perf_counter() > deadline):
            break
        wide = turn % 4 == 3
        known = candidates(options, priced, choice, min(limit, far if wide else near))
        free = open_jobs(known)
        ranked = np.argsort(np.where(free.loses > 0, 0, free.second), kind="stable")
        if turn >= 2:
            ranked = np.sort(draw.permutation(ranked if wide else ranked[: _POOL * _JOBS])[:_JOBS])
        jobs = free.lists(ranked[:_JOBS], _PER_JOB, hardest_first=turn % 2 == 1)
        found = search(known, priced, options.capacity, limit, jobs, width, deadline)
        failures = failures + 1 if found.choice is None else 0
        choice = choice if found.choice is None else found.choice
    return choice


def enumerated(options: Options, priced: Priced, choice: Ints, width: int, deadline: float | None) -> Found:
    """Look for a better choice among all that could be one; proved if no state had to be left out."""
    limit = priced.gap(options.worth(choice))
    known = candidates(options, priced, choice, limit)
    free = open_jobs(known)
    jobs = free.lists(np.arange(len(free.starts)), len(known), hardest_first=True)
    return search(known, priced, options.capacity, limit, jobs, width, deadline)


def _smallest(losses: Ints, count: int) -> int:
    """Return the loss that ``count`` losses do not exceed."""
    last = min(count, len(losses)) - 1
    return int(np.partition(losses, last)[last]) if last >= 0 else 0
