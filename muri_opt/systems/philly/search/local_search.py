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
from muri_opt.systems.philly.search.placement_state import Placements

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
    round_: Round, status: JobStatus, starts: Sequence[Places], target: float, budget: Budget
) -> dict[int, Held]:
    """Return the best places found from several starts on, no worse than the first; ``target`` is good enough."""
    best: dict[int, Held] = dict(starts[0])
    value = Placements(round_, status, best).value
    for start in starts:
        placements = Placements(round_, status, start)
        inserted(placements, waiting(placements), budget)
        if placements.value > value:
            best, value = dict(placements.at), placements.value
    placements, draw = Placements(round_, status, best), np.random.default_rng(budget.limits.seed)
    rounds = 0
    while value < target and not budget.over() and (budget.limited or rounds < _ROUNDS):
        rounds += 1
        budget.spend(_UNDOING + _PER_JOB * len(placements.at))
        if not _undo(placements, draw):
            break
        jobs = waiting(placements)
        keys = np.arange(len(jobs)) + draw.exponential(draw.choice(_NOISE), len(jobs))
        inserted(placements, [jobs[place] for place in np.argsort(keys, kind="stable").tolist()], budget)
        if placements.value >= value and placements.legal:
            best, value = dict(placements.at), placements.value
        else:
            placements.restore(best)
    return best


def _undo(placements: Placements, draw: np.random.Generator) -> bool:
    """Take some of what was started or moved away, mostly near each other, and bring back who was there before.

    Return whether there was anything to undo.
    """
    status = placements.status
    changed = np.array([job for job in placements.at if not placements.home[job]], dtype=np.int64)
    if not len(changed):
        return False
    count = round(_LEAST * max(1.0, len(changed) / _LEAST) ** draw.random() ** 2)
    rack = status.locality.rack
    where = np.array([rack[next(iter(placements.at[job]))] for job in changed.tolist()])
    order = draw.permutation(len(changed))
    if draw.integers(0, 2):
        order = order[np.argsort(where[order] != where[order[0]], kind="stable")]
    out = changed[order[:count]].tolist()
    for job in out:
        placements.take(job)
    bring_back(placements)
    return True
