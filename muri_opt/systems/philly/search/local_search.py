"""Better places: gangs inserted into a first decision, and parts of it undone and done again.

Ruin and recreate (Schrimpf and others 2000), a large neighbourhood search: related jobs are taken out and inserted
again in an order with noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from muri_opt.rounds import Budget, Round
from muri_opt.systems.philly.job_status import Held, JobStatus
from muri_opt.systems.philly.search.insertion import bring_back, inserted, waiting
from muri_opt.systems.philly.search.placement_state import Seats

_ROUNDS = 12
"""Times that parts are undone where there is no limit."""
_LEAST = 4
"""Started jobs that are undone at a time, if there are so many; at times all of them."""
_NOISE = (1e-3, 3.0, 30.0)
"""Places in the order by which jobs are late, on average, when they are inserted again."""
_UNDOING, _PER_JOB = 1e-3, 2e-5
"""Work to undo a part: what it costs in any case, and for each job that has a place."""

Places = Mapping[int, Held]


def improved(
    round_: Round, standing: JobStatus, starts: Sequence[Places], target: float, budget: Budget
) -> dict[int, Held]:
    """Return the best places found from several starts on, no worse than the first; ``target`` is good enough."""
    best: dict[int, Held] = dict(starts[0])
    value = Seats(round_, standing, best).value
    for start in starts:
        seats = Seats(round_, standing, start)
        inserted(seats, waiting(seats), budget)
        if seats.value > value:
            best, value = dict(seats.at), seats.value
    seats, draw = Seats(round_, standing, best), np.random.default_rng(budget.limits.seed)
    rounds = 0
    while value < target and not budget.over() and (budget.limited or rounds < _ROUNDS):
        rounds += 1
        budget.spend(_UNDOING + _PER_JOB * len(seats.at))
        if not _undo(seats, draw):
            break
        jobs = waiting(seats)
        keys = np.arange(len(jobs)) + draw.exponential(draw.choice(_NOISE), len(jobs))
        inserted(seats, [jobs[place] for place in np.argsort(keys, kind="stable").tolist()], budget)
        if seats.value >= value and seats.legal:
            best, value = dict(seats.at), seats.value
        else:
            seats.restore(best)
    return best


def _undo(seats: Seats, draw: np.random.Generator) -> bool:
    """Take some of what was started or moved away, mostly near each other, and bring back who was there before.

    Return whether there was anything to undo.
    """
    standing = seats.standing
    changed = np.array([job for job in seats.at if not seats.home[job]], dtype=np.int64)
    if not len(changed):
        return False
    count = round(_LEAST * max(1.0, len(changed) / _LEAST) ** draw.random() ** 2)
    rack = standing.locality.rack
    where = np.array([rack[next(iter(seats.at[job]))] for job in changed.tolist()])
    order = draw.permutation(len(changed))
    if draw.integers(0, 2):
        order = order[np.argsort(where[order] != where[order[0]], kind="stable")]
    out = changed[order[:count]].tolist()
    for job in out:
        seats.take(job)
    bring_back(seats)
    return True
