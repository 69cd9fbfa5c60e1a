"""Are the changes that a result tells those that its decision makes?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from muri_opt.rounds import Assignment, Decision, Job, Result, Round, Violation
from muri_opt.verify.amounts import micro
from muri_opt.verify.sharing_now import going_on

Facts = tuple[str, float, object, object]
"""What becomes of a job: the kind of change, the restart seconds, and the GPUs before and after."""


def change_list_breaches(round_: Round, result: Result, decision: Decision) -> Iterator[Violation]:
    """Yield each job of which a result tells another change than its decision makes; telling none is allowed.

    What it says that all changes cost, and what they cost at least, is checked as well.
    """
    runs = {job: one for one in decision.assignments for job in one.jobs}
    stays = zip(decision.assignments, going_on(round_, decision), strict=True)
    kept = {one.jobs[0] for one, goes_on in stays if one.jobs and goes_on}
    true = {job.id: _true(job, one, kept) for job in round_.jobs if (one := runs.get(job.id)) or job.state == "running"}
    if result.stats.changes_cost is not None:
        yield from _cost_breaches(round_, result, true)
    if result.changes is None:
        return
    every = [
        (change.job, (kind, change.restart_seconds, change.before, change.after))
        for kind in ("start", "stop", "move", "resize", "regroup", "keep")
        for change in getattr(result.changes, kind)
    ]
    if len(every) == len(true) and dict(every) == true:
        return
    told: dict[str, list[Facts]] = {}
    for name, facts in every:
        told.setdefault(name, []).append(facts)
    for job in round_.jobs:
        said, is_ = told.pop(job.id, []), [true[job.id]] if job.id in true else []
        if said != is_:
            detail = f"said {said}; it is {is_}"
            yield Violation(rule="changes", where=job.id, detail=detail)
    for name in told:
        yield Violation(rule="changes", where=name, detail="the round has no such job")


def _cost_breaches(round_: Round, result: Result, true: Mapping[str, Facts]) -> Iterator[Violation]:
    """Yield if the changes cost something else: of each job its restart, at least a microsecond, times its GPUs."""
    cost, stats = 0, result.stats
    for job in round_.jobs:
        if job.state == "running" and true[job.id][0] != "keep":
            cost += max(1, micro(job.restart_seconds or 0.0)) * max(1, sum((job.placement or {}).values()))
    if stats.changes_cost != cost:
        detail = f"said {stats.changes_cost} GPU-microseconds; it is {cost}"
        yield Violation(rule="changes", where="stats.changes_cost", detail=detail)
    if stats.changes_bound is not None and stats.changes_bound > cost:
        detail = f"said to cost {stats.changes_bound} GPU-microseconds at least; they cost {cost}"
        yield Violation(rule="changes", where="stats.changes_bound", detail=detail)


def _true(job: Job, one: Assignment | None, kept: Collection[str]) -> Facts:
    """Return what becomes of a job; in ``kept`` are the first jobs of assignments that may go on as they are."""
    stays = one is not None and (one.jobs[0] in kept or (not job.placement and len(one.jobs) == 1))
    cost, before = job.restart_seconds or 0.0, job.placement if job.state == "running" else None
    if one is None:
        return "stop", cost, before, None
    after = one.gpus
    if job.state == "waiting":
        return "start", 0.0, None, after
    held = before or {}
    other_plan = one.plan is not None and job.plan is not None and one.plan != job.plan
    same = not held or held == after
    if other_plan or (not same and sum(held.values()) != sum(after.values())):
        return "resize", cost, before, after
    if not same and dict(held) != dict(after):
        return "move", cost, before, after
    return ("keep", 0.0, before, after) if stays else ("regroup", cost, before, after)
