"""Safety: what every allocator keeps on every round."""

from __future__ import annotations

from muri_opt.testing.allocators import NoAnswerError
from muri_opt.testing.invariant import Case, Finding, Tier, invariant

_CAPACITY = frozenset({"gpu-capacity", "cpu-capacity", "memory-capacity", "known-node", "whole-gpus"})
_GANG = frozenset({"gang", "share", "plan"})
_QUOTA = frozenset({"quota", "preemption-quota"})
_ONCE = frozenset({"job-once", "known-job", "waiting-listed"})


def _rules(case: Case, named: frozenset[str], *, others: bool = False) -> Finding | None:
    """Return the breaches of the named rules, or of all but these."""
    found = [one for one in case.judge.breaches(case.round_, case.decision()) if (one.rule in named) != others]
    words = "; ".join(f"{one.where}: {one.detail} ({one.rule})" for one in found)
    return Finding(amount=float(len(found)), detail=words) if found else None


@invariant("answers", Tier.SAFETY)
def ANSWERS(case: Case) -> Finding | None:
    """The allocator returns a decision, in time and without an exception."""
    try:
        case.decision()
    except NoAnswerError as error:
        return None if case.mutated else Finding(amount=1.0, detail=str(error))
    return None


@invariant("capacity", Tier.SAFETY)
def CAPACITY(case: Case) -> Finding | None:
    """No node gives more GPUs, CPUs or memory than it has, and whole GPUs of nodes that exist only."""
    return _rules(case, _CAPACITY)


@invariant("gang", Tier.SAFETY)
def GANG(case: Case) -> Finding | None:
    """A job has all its GPUs at once or none; an elastic one a share of its table, one with plans those of a plan."""
    return _rules(case, _GANG)


@invariant("quota", Tier.SAFETY)
def QUOTA(case: Case) -> Finding | None:
    """No tenant has more GPUs than its quota."""
    return _rules(case, _QUOTA)


@invariant("once", Tier.SAFETY)
def ONCE(case: Case) -> Finding | None:
    """Every job of the round runs once or waits, and no other job does."""
    return _rules(case, _ONCE)


@invariant("other-rules", Tier.SAFETY)
def OTHER_RULES(case: Case) -> Finding | None:
    """No other rule of the round is broken: groups and their order, periods, CPUs, locality, guarantees."""
    return _rules(case, _CAPACITY | _GANG | _QUOTA | _ONCE, others=True)


@invariant("input-kept", Tier.SAFETY)
def INPUT_KEPT(case: Case) -> Finding | None:
    """The round is after the call what it was before: its fingerprint says so."""
    try:
        case.decision()
    except NoAnswerError:
        if case.mutated is None:
            raise
    return None if case.mutated is None else Finding(amount=1.0, detail=case.mutated)


@invariant("deterministic", Tier.SAFETY)
def DETERMINISTIC(case: Case) -> Finding | None:
    """The same round, asked twice, gives the same decision."""
    first, second = case.decision(), case.again(case.round_)
    if first == second:
        return None
    ran, runs = sorted(first.running), sorted(second.running)
    words = f"first {ran} run, then {runs}" if ran != runs else f"{ran} run both times, with other GPUs or reasons"
    return Finding(amount=1.0, detail=words)


SAFETY = (ANSWERS, INPUT_KEPT, ONCE, GANG, CAPACITY, QUOTA, OTHER_RULES, DETERMINISTIC)
"""All of them, in the order in which they are told."""
