"""Safety: what every allocator keeps on every round."""

from __future__ import annotations

from muri_opt.rounds import Decision
from muri_opt.testing import aspects
from muri_opt.testing.allocators import NoAnswerError, RefusedError
from muri_opt.testing.changed_rounds import only_running, prefixed, without_prefix
from muri_opt.testing.invariant import Case, Finding, Tier, invariant
from muri_opt.testing.invariants_demands import DEMANDS
from muri_opt.testing.rule_breaches import QUOTA as _QUOTA, quota_finding, rule_finding

_CAPACITY = frozenset({"gpu-capacity", "cpu-capacity", "memory-capacity", "known-node", "whole-gpus"})
_GANG = frozenset({"gang", "share", "plan"})
_ONCE = frozenset({"job-once", "known-job", "waiting-listed"})
_ASKED = frozenset(one.name for one in DEMANDS)


@invariant(
    "answers",
    Tier.SAFETY,
    aspects=(
        aspects.NO_JOB,
        aspects.NO_NODE,
        aspects.BARE_NODE,
        aspects.LARGER,
        aspects.NOT_SAID,
        aspects.SAID_BESIDES,
        aspects.RUNS,
    ),
)
def ANSWERS(case: Case) -> Finding | None:
    """The allocator returns a decision, in time and without an exception."""
    try:
        case.decision()
    except RefusedError:
        raise
    except NoAnswerError as error:
        return None if case.mutated else Finding(amount=1.0, detail=str(error))
    return None


@invariant(
    "capacity",
    Tier.SAFETY,
    aspects=(
        aspects.GPUS_SHORT,
        aspects.CPUS_BIND,
        aspects.MEMORY_BINDS,
        aspects.UNEVEN,
        aspects.BARE_NODE,
        aspects.HELD,
    ),
)
def CAPACITY(case: Case) -> Finding | None:
    """No node gives more GPUs, CPUs or memory than it has, and whole GPUs of nodes that exist only."""
    return rule_finding(case, _CAPACITY)


@invariant("gang", Tier.SAFETY, aspects=(aspects.SEVERAL, aspects.OVER_NODES, aspects.SCATTERED, aspects.SAID_BESIDES))
def GANG(case: Case) -> Finding | None:
    """A job has all its GPUs at once or none; an elastic one a share of its table, one with plans those of a plan."""
    return rule_finding(case, _GANG)


@invariant(
    "quota",
    Tier.SAFETY,
    aspects=(aspects.QUOTA_BINDS, aspects.QUOTA_ZERO, aspects.QUOTA_HELD, aspects.NO_QUOTA),
)
def QUOTA(case: Case) -> Finding | None:
    """No tenant has more GPUs than its quota, also of each type, and than it may borrow."""
    return quota_finding(case, above=False)


@invariant("once", Tier.SAFETY, aspects=(aspects.BOTH, aspects.TIES, aspects.EQUAL))
def ONCE(case: Case) -> Finding | None:
    """Every job of the round runs once or waits, and no other job does."""
    return rule_finding(case, _ONCE)


@invariant("other-rules", Tier.SAFETY, aspects=(aspects.WAITS, aspects.CPUS_ASKED))
def OTHER_RULES(case: Case) -> Finding | None:
    """No other rule of the round is broken: groups and their order, periods, CPUs, locality, guarantees."""
    return rule_finding(case, _CAPACITY | _GANG | _QUOTA | _ONCE | _ASKED, others=True)


@invariant("input-kept", Tier.SAFETY, aspects=(aspects.RUNS,))
def INPUT_KEPT(case: Case) -> Finding | None:
    """The round is after the call what it was before: its fingerprint says so."""
    try:
        case.decision()
    except NoAnswerError:
        if case.mutated is None:
            raise
    return None if case.mutated is None else Finding(amount=1.0, detail=case.mutated)


@invariant("deterministic", Tier.SAFETY, aspects=(aspects.GPUS_SHORT, aspects.TIES, aspects.EQUAL))
def DETERMINISTIC(case: Case) -> Finding | None:
    """The same round, asked twice, gives the same decision; and so under names that sort as before."""
    first, second = case.decision(), case.again(case.round_)
    if first != second:
        ran, runs = sorted(first.running), sorted(second.running)
        words = f"first {ran} run, then {runs}" if ran != runs else f"{ran} run both times, with other GPUs or reasons"
        return Finding(amount=1.0, detail=words)
    try:
        third = _shares(case.again(prefixed(case.round_)))
    except NoAnswerError:
        return None  # it reads names, which is no question of chance
    if third == _shares(first):
        return None
    words = f"{_shares(first)} runs; under other names that sort as before {third}, as of a set or a hash"
    return Finding(amount=1.0, detail=words)


@invariant("running-kept", Tier.SAFETY, aspects=(aspects.RUNS_ON_ONE,))
def RUNNING_KEPT(case: Case) -> Finding | None:
    """No running job is lost: where nobody waits, and all others stay as they are, it goes on, too.

    Asked of jobs on one node each; of jobs with plans it says nothing, as what a plan asks for may not be what runs.
    """
    round_ = only_running(case.round_)
    if not round_.jobs or case.judge.chapter(round_).has_plans:
        return None
    held = _shares(case.decision(round_))
    lost = [job.id for job in round_.jobs if job.id not in held]
    stay = all(held[job.id] == dict(job.placement or {}) for job in round_.jobs if job.id in held)
    if not lost or not stay:
        return None
    names = ", ".join(repr(job) for job in lost)
    return Finding(amount=float(len(lost)), detail=f"{names} ran, nobody waits for the GPUs, and they are left out")


SAFETY = (ANSWERS, INPUT_KEPT, ONCE, GANG, CAPACITY, QUOTA, OTHER_RULES, DETERMINISTIC, RUNNING_KEPT, *DEMANDS)
"""All of them, in the order in which they are told; those of ``DEMANDS`` where rounds use the fields they are about."""


def _shares(decision: Decision) -> dict[str, dict[str, int]]:
    """Return the GPUs of each job, by names without a prefix."""
    return {
        without_prefix(job): {without_prefix(node): gpus for node, gpus in one.gpus.items()}
        for one in decision.assignments
        for job in one.jobs
    }
