"""Rationality: what a reasonable allocator keeps. Published algorithms break some; choose those yours promises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from muri_opt.rounds import Assignment, Decision, Job, Round, after, changes
from muri_opt.testing.changed_rounds import (
    alone,
    has_ties,
    jobs_reversed,
    new_names,
    nodes_reversed,
    renamed,
    with_node,
    with_twin,
    without,
)
from muri_opt.testing.invariant import Case, Finding, Tier, invariant
from muri_opt.testing.rules_and_value import beside

LOOKS = 6
"""How often a round is decided again at once before it is said to settle."""


@invariant("alone", Tier.RATIONALITY)
def ALONE(case: Case) -> Finding | None:
    """A job that fits the empty cluster runs when it is the only one."""
    for job in case.round_.jobs:
        only = alone(case.round_, job)
        way = next(case.judge.starts(only, Decision(), job.id), None)
        if way is not None and job.id not in case.decision(only).running:
            held = _held(way.assignments[-1].gpus)
            return Finding(amount=1.0, detail=f"job {job.id!r} alone in the cluster waits; {held} would do")
    return None


@invariant("more-capacity", Tier.RATIONALITY)
def MORE_CAPACITY(case: Case) -> Finding | None:
    """With one more node the decision is worth at least as much."""
    larger = with_node(case.round_)
    if not case.sound() or not case.sound(larger):
        return None
    before, then = case.value(larger, case.decision()), case.value(larger, case.decision(larger))
    node = larger.cluster.nodes[-1]
    return _less(before, then, f"with one more node of {node.gpus} GPUs")


@invariant("names", Tier.RATIONALITY)
def NAMES(case: Case) -> Finding | None:
    """Other names for jobs, nodes and tenants change nothing but names, as counted by the value."""
    return _same_value(case, renamed, "under other names")


@invariant("job-order", Tier.RATIONALITY)
def JOB_ORDER(case: Case) -> Finding | None:
    """Jobs listed in another order change no value, where no two were submitted at the same moment."""
    return None if has_ties(case.round_) else _same_value(case, jobs_reversed, "with the jobs listed backwards")


@invariant("node-order", Tier.RATIONALITY)
def NODE_ORDER(case: Case) -> Finding | None:
    """Nodes listed in another order change no value."""
    return _same_value(case, nodes_reversed, "with the nodes listed backwards")


@invariant("same-jobs", Tier.RATIONALITY)
def SAME_JOBS(case: Case) -> Finding | None:
    """Renaming and another order of the list leave the same jobs running, where no two were submitted at once."""
    if has_ties(case.round_):
        return None
    called, first = new_names(case.round_), case.decision().running
    backwards = case.decision(jobs_reversed(case.round_)).running
    named = case.decision(renamed(case.round_)).running
    if backwards != first:
        return Finding(amount=1.0, detail=f"{sorted(first)} run; with the jobs listed backwards {sorted(backwards)}")
    if named != {called[job] for job in first}:
        back = {new: job for job, new in called.items()}
        then = sorted(back.get(job, job) for job in named)
        return Finding(amount=1.0, detail=f"{sorted(first)} run; under other names {then}")
    return None


@invariant("twins", Tier.RATIONALITY)
def TWINS(case: Case) -> Finding | None:
    """Of two jobs that differ in nothing but their name, it makes no difference which is listed first."""
    job = next((job for job in case.round_.jobs if job.state == "waiting"), None)
    if job is None:
        return None
    behind, before = (with_twin(case.round_, job, first=first) for first in (False, True))
    if not case.sound(behind) or not case.sound(before):
        return None
    values = [case.value(round_, case.decision(round_)) for round_ in (behind, before)]
    words = (
        f"with a twin behind job {job.id!r} worth {_number(values[0])}, with the twin before it {_number(values[1])}"
    )
    return None if values[0] == values[1] else Finding(amount=1.0, detail=words)


@invariant("waiting-removed", Tier.RATIONALITY)
def WAITING_REMOVED(case: Case) -> Finding | None:
    """Without a job that goes on waiting, the decision is worth the same in the same round."""
    if not case.sound():
        return None
    value = case.value(case.round_, case.decision())
    for job in case.round_.jobs:
        if job.state == "running" or job.id in case.decision().running:
            continue
        less = without(case.round_, job.id)
        if not case.sound(less):
            continue
        then = case.value(case.round_, case.decision(less))
        if then != value:
            words = f"worth {_number(value)} while job {job.id!r} waits, {_number(then)} without that job"
            return Finding(amount=abs(then - value), detail=words)
    return None


@invariant("idempotent", Tier.RATIONALITY)
def IDEMPOTENT(case: Case) -> Finding | None:
    """Decided again at once, with nothing changed but what was decided, nobody is started, stopped or moved."""
    if not case.sound():
        return None
    first = _places(case.decision())
    second = _places(case.decision(after(case.round_, case.decision())))
    for job in (job.id for job in case.round_.jobs):
        if first.get(job) != second.get(job):
            words = f"job {job!r} {_where(first.get(job))}, and {_where(second.get(job))} when asked again at once"
            return Finding(amount=1.0, detail=words)
    return None


@invariant("settles", Tier.RATIONALITY)
def SETTLES(case: Case) -> Finding | None:
    """Decided again and again at once, with nothing arriving, no job is preempted twice."""
    stops = preemptions(case, case.round_, LOOKS)
    job, times = max(stops.items(), key=lambda item: item[1], default=("", 0))
    words = f"job {job!r} is preempted {times} times in {LOOKS} decisions with nothing arriving"
    return Finding(amount=float(times), detail=words) if times > 1 else None


@invariant("preempts-for-a-start", Tier.RATIONALITY)
def PREEMPTS_FOR_A_START(case: Case) -> Finding | None:
    """Jobs are preempted only where another job starts, or gets more GPUs or CPUs."""
    then = {job: one for one in case.judge.completed(case.round_, case.decision()).assignments for job in one.jobs}
    stopped = [job for job in _running(case.round_) if job.id not in then]
    if not stopped or any(_gains(job, then[job.id]) for job in case.round_.jobs if job.id in then):
        return None
    words = f"{', '.join(repr(job.id) for job in stopped)} preempted; no job starts or gets more GPUs or CPUs"
    return Finding(amount=float(len(stopped)), detail=words)


@invariant("minimal-victims", Tier.RATIONALITY)
def MINIMAL_VICTIMS(case: Case) -> Finding | None:
    """No preempted job could have stayed where it was beside everything that runs."""
    if not case.sound():
        return None
    decision = case.judge.completed(case.round_, case.decision())
    for job in _running(case.round_):
        if job.id not in decision.running:
            plan = job.plan if case.judge.chapter(case.round_).has_plans else None
            stayed = beside(decision, Assignment(jobs=(job.id,), plan=plan, gpus=_now(job)))
            if not case.judge.breaches(case.round_, stayed):
                words = f"job {job.id!r} is preempted; {_held(_now(job))}, where it was, are free"
                return Finding(amount=1.0, detail=words)
    return None


@invariant("changes-pay", Tier.RATIONALITY)
def CHANGES_PAY(case: Case) -> Finding | None:
    """No job that ran alone on its GPUs could be put back as it was, all else as decided, without loss of value."""
    if not case.sound():
        return None
    decision = case.judge.completed(case.round_, case.decision())
    value, done = case.value(case.round_, decision), changes(case.round_, decision)
    for change in (*done.stop, *done.move, *done.resize, *done.regroup):
        job = case.round_.jobs[case.round_.job_index[change.job]]
        back = _put_back(decision, job, plans=case.judge.chapter(case.round_).has_plans)
        if back is None or case.judge.breaches(case.round_, back):
            continue
        then = case.value(case.round_, back)
        if then >= value:
            where = _held(change.after) if change.after else "stopped"
            words = f"job {job.id!r} ran on {_held(_now(job))} and is changed ({where})"
            return Finding(amount=1.0, detail=f"{words}: worth {_number(value)}, left as it was {_number(then)}")
    return None


def preemptions(case: Case, round_: Round, looks: int) -> Counter[str]:
    """Return how often each job is preempted while a round is decided again and again at the same moment."""
    stops: Counter[str] = Counter()
    for _ in range(looks):
        if not case.sound(round_):
            break
        decision = case.decision(round_)
        stopped = [job.id for job in _running(round_) if job.id not in decision.running]
        stops.update(stopped)
        then = after(round_, decision)
        if then == round_:
            break
        round_ = then
    return stops


RATIONALITY = (
    ALONE,
    NAMES,
    JOB_ORDER,
    NODE_ORDER,
    SAME_JOBS,
    TWINS,
    WAITING_REMOVED,
    MORE_CAPACITY,
    IDEMPOTENT,
    SETTLES,
    PREEMPTS_FOR_A_START,
    MINIMAL_VICTIMS,
    CHANGES_PAY,
)
"""All of them, in the order in which they are told."""


def _same_value(case: Case, change: Callable[[Round], Round], how: str) -> Finding | None:
    other = change(case.round_)
    if not case.sound() or not case.sound(other):
        return None
    first, then = case.value(case.round_, case.decision()), case.value(other, case.decision(other))
    if first == then:
        return None
    return Finding(amount=abs(first - then), detail=f"worth {_number(first)}, {how} {_number(then)}")


def _less(before: float, then: float, how: str) -> Finding | None:
    return (
        Finding(amount=before - then, detail=f"worth {_number(before)}, {how} {_number(then)}")
        if then < before
        else None
    )


def _running(round_: Round) -> list[Job]:
    return [job for job in round_.jobs if job.state == "running" and job.placement]


def _now(job: Job) -> dict[str, int]:
    return dict(job.placement or {}) if job.state == "running" else {}


def _put_back(decision: Decision, job: Job, *, plans: bool) -> Decision | None:
    """Return the decision with a job as it runs now, alone; ``None`` where others would need a new period."""
    given = next((one for one in decision.assignments if job.id in one.jobs), None)
    rest = tuple(one for one in decision.assignments if one is not given)
    left = () if given is None else tuple(other for other in given.jobs if other != job.id)
    if len(left) > 1:
        return None
    if given is not None and left:
        rest = (*rest, Assignment(jobs=left, gpus=given.gpus))
    now = Assignment(jobs=(job.id,), plan=job.plan if plans else None, gpus=_now(job))
    return Decision(assignments=(*rest, now))


def _gains(job: Job, given: Assignment) -> bool:
    """Return whether a job starts by an assignment, or has more GPUs or CPUs by it than it has now."""
    held = _now(job)
    plan = next((one for one in job.plans or () if (one.name, one.nodes) == (job.plan, len(held))), None)
    grows = plan is not None and sum(given.cpus.values()) > (plan.cpus or 0.0)
    return not held or sum(given.gpus.values()) > sum(held.values()) or grows


def _places(decision: Decision) -> dict[str, dict[str, int]]:
    return {job: dict(one.gpus) for one in decision.assignments for job in one.jobs}


def _where(held: dict[str, int] | None) -> str:
    return "waits" if held is None else f"has {_held(held)}"


def _held(gpus: Mapping[str, int]) -> str:
    return ", ".join(f"{count} of {node}" for node, count in sorted(gpus.items())) or "no GPU"


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
