"""Are the changes that a result tells those that its decision makes?"""

from __future__ import annotations

from collections.abc import Iterator

from muri_opt.rounds import Assignment, Decision, Job, Result, Round, Violation
from muri_opt.verify.sharing_now import RunningJobs


def change_list_breaches(round_: Round, result: Result, decision: Decision) -> Iterator[Violation]:
    """Yield each job of which a result tells another change than its decision makes; telling none is allowed."""
    if result.changes is None:
        return
    told: dict[str, list[tuple[str, float, object, object]]] = {}
    for kind in ("start", "stop", "move", "resize", "regroup", "keep"):
        for change in getattr(result.changes, kind):
            facts = kind, change.restart_seconds, change.before, change.after
            told.setdefault(change.job, []).append(facts)
    runs = {job: one for one in decision.assignments for job in one.jobs}
    now = RunningJobs(round_)
    kept = {one.jobs[0] for one in decision.assignments if one.jobs and now.may_be(one.jobs, one.gpus)}
    for job in round_.jobs:
        said, one = told.pop(job.id, []), runs.get(job.id)
        stays = one is not None and (one.jobs[0] in kept or (not job.placement and len(one.jobs) == 1))
        true = [_true(job, one, stays=stays)] if one or job.state == "running" else []
        if said != true:
            detail = f"said {said}; it is {true}"
            yield Violation(rule="changes", where=job.id, detail=detail)
    for name in told:
        yield Violation(rule="changes", where=name, detail="the round has no such job")


def _true(job: Job, one: Assignment | None, *, stays: bool) -> tuple[str, float, object, object]:
    cost, before = job.restart_seconds or 0.0, job.placement if job.state == "running" else None
    if one is None:
        return "stop", cost, before, None
    after = one.gpus
    if job.state == "waiting":
        return "start", 0.0, None, after
    held = before or {}
    other_plan = one.plan is not None and job.plan is not None and one.plan != job.plan
    if other_plan or (held and sum(held.values()) != sum(after.values())):
        return "resize", cost, before, after
    if held and dict(held) != dict(after):
        return "move", cost, before, after
    return ("keep", 0.0, before, after) if stays else ("regroup", cost, before, after)
