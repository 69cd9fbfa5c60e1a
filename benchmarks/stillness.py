"""What changes from round to round, and what of it was needless, for every policy.

A session of each policy decides a seeded loop: 200 jobs on 16 nodes, and before each further round 5 % of the jobs end
and as many arrive. A change is needless if it could be undone alone, that job or those that shared GPUs as they were
before and all else as decided, with no rule broken and no less value by ``muri_opt.verify``.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from benchmarks.session_loop import all_jobs, times_of_rounds
from muri_opt import Assignment, Changes, Decision, Job, Limits, Round, Session
from muri_opt.systems import POLICIES
from muri_opt.systems.muri import best_period
from muri_opt.verify import Rules, chapter_of
from muri_opt.verify.sharing_now import running_groups

CHANGED: Final = ("start", "stop", "move", "resize", "regroup")


@dataclass(slots=True, kw_only=True)
class Tally:
    """What one session did."""

    counts: Counter[str] = field(default_factory=Counter)
    restart_gpu_seconds: float = 0.0
    needless: int = 0
    decide_seconds: float = 0.0


def run(policy: str, method: str, *, rounds: int, jobs: int, nodes: int, seed: int, limits: Limits) -> Tally:
    """Return the tally of a session of a policy over so many rounds."""
    drawn, found = all_jobs(policy, jobs=jobs, nodes=nodes, rounds=rounds, seed=seed), Tally()
    with Session(drawn.cluster, policy, method, limits, resources=drawn.resources) as session:
        for now in times_of_rounds(session, drawn, jobs=jobs, rounds=rounds, seed=seed):
            began = time.process_time()
            step = session.decide(now)
            found.decide_seconds += time.process_time() - began
            _count(found, step.round_, session.policy.rules, step.result.answer, step.changes)
            session.acknowledge(step)
    return found


def needless(round_: Round, rules: Rules, decision: Decision) -> list[str]:
    """Return the running jobs whose change could be undone alone; jobs that share GPUs are undone together."""
    chapter = chapter_of(round_, rules)
    value, given = chapter.value(decision), {job: one for one in decision.assignments for job in one.jobs}
    found = list[str]()
    for group in running_groups(round_):
        names = tuple(job.id for job in group)
        if not group[0].placement or all(_is_kept(job, given.get(job.id), names) for job in group):
            continue
        before = chapter.completed(_undone(round_, decision, group))
        if not chapter.breaches(before) and chapter.value(before) >= value:
            found += names
    return found


def _count(found: Tally, round_: Round, rules: Rules, decision: Decision, changes: Changes) -> None:
    found.counts.update({kind: number for kind, number in changes.counts.items() if kind in CHANGED})
    given = {job: one for one in decision.assignments for job in one.jobs}
    for group in running_groups(round_):
        names = tuple(job.id for job in group)
        for job in group:
            if not _is_kept(job, given.get(job.id), names):
                found.restart_gpu_seconds += (job.restart_seconds or 0.0) * sum((job.placement or {}).values())
    kept = {change.job for change in changes.keep}  # of several ways to share GPUs now, one goes on
    found.needless += len({*needless(round_, rules, decision)} - kept)


def _is_kept(job: Job, given: Assignment | None, together: tuple[str, ...]) -> bool:
    """Return whether a job that runs goes on as it is."""
    if given is None or sorted(given.jobs) != sorted(together) or dict(given.gpus) != dict(job.placement or {}):
        return False
    return given.plan is None or job.plan is None or given.plan == job.plan


def _undone(round_: Round, decision: Decision, group: tuple[Job, ...]) -> Decision:
    """Return the decision with a group of jobs as it runs now, and what it shares with others left to those."""
    names = {job.id for job in group}
    by_plan = any(one.plan is not None for one in decision.assignments)
    was = Assignment(
        jobs=tuple(job.id for job in group),
        order=tuple(range(len(group))),
        plan=group[0].plan if by_plan else None,
        gpus=dict(group[0].placement or {}),
    )
    assignments = tuple(_timed(round_, one) for one in (*_without(decision, names), was))
    waiting = tuple(wait for wait in decision.waiting if wait.job not in names)
    return Decision(assignments=assignments, waiting=waiting)


def _without(decision: Decision, names: set[str]) -> Iterator[Assignment]:
    """Yield the assignments less some jobs."""
    for one in decision.assignments:
        left = tuple(job for job in one.jobs if job not in names)
        if len(left) == len(one.jobs):
            yield one
        elif left:
            yield replace(one, jobs=left, order=tuple(range(len(left))), period_seconds=None, cpus={})


def _timed(round_: Round, one: Assignment) -> Assignment:
    """Return an assignment with the best order of jobs that share GPUs, where it has none."""
    if len(one.jobs) == 1 or one.period_seconds is not None:
        return one
    stages = [round_.jobs[round_.job_index[job]].stage_seconds or () for job in one.jobs]
    best = best_period(stages)
    return replace(one, order=best.order, period_seconds=best.period_seconds)


def main(arguments: list[str] | None = None) -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policies", nargs="+", default=list(POLICIES))
    parser.add_argument("--methods", nargs="+", default=["heuristic", "auto"])
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each round")
    parser.add_argument("--work", type=float, help="units of work for each round in place of seconds")
    given = parser.parse_args(arguments)
    heads = ("policy", "method", *CHANGED, "restart GPU h", "needless", "CPU s a round")
    print("| " + " | ".join(heads) + " |")
    print("|" + " --- |" * len(heads))
    sizes = {"rounds": given.rounds, "jobs": given.jobs, "nodes": given.nodes, "seed": given.seed}
    limits = Limits(seconds=given.seconds) if given.work is None else Limits(work=given.work)
    for policy in given.policies:
        for method in given.methods:
            found = run(policy, method, limits=limits, **sizes)
            counts = [f"{found.counts[kind]:,}" for kind in CHANGED]
            spent = found.decide_seconds / given.rounds
            cells = (policy, method, *counts, f"{found.restart_gpu_seconds / 3600:.2f}", str(found.needless))
            print("| " + " | ".join((*cells, f"{spent:.3f}")) + " |", flush=True)


if __name__ == "__main__":
    main()
