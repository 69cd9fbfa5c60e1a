"""Needless changes of an answer: jobs go on as they run where, all else as decided, that loses no value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from muri_opt.errors import InputError
from muri_opt.rounds import Assignment, Decision
from muri_opt.rounds.change_costs import change_cost, cost_of_all
from muri_opt.rounds.sharing_now import on_same_gpus
from muri_opt.solve.explaining import explain
from muri_opt.solve.search import Search
from muri_opt.solve.timed import CHECKING
from muri_opt.verify import completed

MOST_CHECKS: Final = 4_000
"""Changed jobs times jobs up to which changes are undone one by one: each is a check of the whole answer."""
MOST_STARTS: Final = 4
"""Starts that are tried to be left out, one at a time, so that a running job goes on in their place."""
UNDOING: Final = 2 * (1 + MOST_STARTS) * CHECKING
"""Seconds for each job that undoing a change may take where none was undone yet: two checks for each way, one of them
to complete it."""


def undo_needless_changes(search: Search) -> None:
    """Undo, one after the other and the dearest first, the changes without which the answer is worth no less.

    Solvers that are stopped by a limit leave such changes. Those known to change least stay, and of large answers what
    the policy knows no faster way to undo; so does what there is no time to look at.
    """
    if _names(search):
        _in_time(search, "undo many", partial(_undo_many, search))
    while changed := _changed(search):
        if not any(_in_time(search, "undo", partial(_undo, search, kept)) for kept in changed):
            break
    explain(search)


def _changed(search: Search) -> list[Assignment]:
    """Return the changed jobs as they run now, those that share GPUs together; none where there is nothing to gain."""
    names, round_ = _names(search), search.round_
    if not names or len(names) * len(round_.jobs) > MOST_CHECKS:
        return []
    try:
        kept = search.policy.as_it_is(round_, on_same_gpus(round_))
    except InputError:  # something runs that the policy could not have started
        return []
    cost = {job.id: change_cost(job) for job in round_.jobs if job.id in names}
    found = [one for one in kept if names.issuperset(one.jobs)]
    return sorted(found, key=lambda one: -sum(cost[job] for job in one.jobs))


def _names(search: Search) -> set[str]:
    """Return the running jobs that the answer changes; none where it is known to change least, or no time is left."""
    if search.decision is None or search.stats.changes_bound is not None or search.left().seconds == 0:
        return set()
    made = search.changes_of(search.round_, search.decision)
    return {change.job for change in (*made.stop, *made.move, *made.resize, *made.regroup)}


def _in_time(search: Search, step: str, undo: Callable[[], bool]) -> bool:
    """Undo changes, unless that is expected to end after the limit; return whether any was undone."""
    if search.is_late_for(step, usual=UNDOING):
        search.leave_out(step)
        return False
    with search.step(step, "verify_seconds"):
        return undo()


def _undo_many(search: Search) -> bool:
    """Take what the policy makes of the answer by its own way to undo changes; return whether it is another."""
    before = search.decision
    return before is not None and _take(search, search.policy.undone(search.round_, before))


def _undo(search: Search, kept: Assignment) -> bool:
    """Let jobs go on as they are if the rules and the value allow it, beside all others or in the place of one start.

    Return whether they do.
    """
    before = search.decision
    rest = None if before is None else _without(before, frozenset(kept.jobs))
    if rest is None:
        return False
    starts = _starts_there(search, kept, rest) if _may_go_on(search) else []
    others = (tuple(one for one in rest if one is not start) for start in starts)
    return any(
        _take(search, completed(search.round_, search.rules, Decision(assignments=(*some, kept))))
        for some in (rest, *others)
    )


def _may_go_on(search: Search) -> bool:
    """Return whether no rule of the policy asks for a change that values do not count, as a turn of another job."""
    return search.value is not None and search.policy.unchanged_may_reach(search.round_, search.value)


def _starts_there(search: Search, kept: Assignment, rest: Sequence[Assignment]) -> list[Assignment]:
    """Return those that begin to run on the nodes of running jobs, a few of them, the largest first."""
    jobs, index = search.round_.jobs, search.round_.job_index
    starts = [
        one
        for one in rest
        if not kept.gpus.keys().isdisjoint(one.gpus) and all(jobs[index[job]].state == "waiting" for job in one.jobs)
    ]
    return sorted(starts, key=lambda one: -sum(one.gpus.values()))[:MOST_STARTS]


def _take(search: Search, decision: Decision) -> bool:
    """Take a decision that changes less if the rules and the value allow it; return whether it is taken."""
    if decision is search.decision or search.value is None:
        return False
    if search.audit.breaches(decision) or (value := search.audit.value(decision)) < search.value:
        return False
    search.replace_answer(decision, value)
    if not cost_of_all(search.round_, search.changes_of(search.round_, decision)):
        search.stats = msgspec.structs.replace(search.stats, changes_bound=0)
    return True


def _without(decision: Decision, names: frozenset[str]) -> tuple[Assignment, ...] | None:
    """Return the assignments less some jobs; ``None`` where several who shared with them would need another period."""
    found = list[Assignment]()
    for one in decision.assignments:
        left = tuple(job for job in one.jobs if job not in names)
        if len(left) == len(one.jobs):
            found.append(one)
        elif len(left) == 1:
            found.append(msgspec.structs.replace(one, jobs=left, order=(0,), period_seconds=None, cpus={}))
        elif left:
            return None
    return tuple(found)
