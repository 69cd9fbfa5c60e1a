"""Is it true? The whole check of a result against its round."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds import (
    Agreement,
    Certificate,
    Decision,
    Evidence,
    LinearDuals,
    Proof,
    Reason,
    Result,
    Round,
    Violation,
)
from muri_opt.verify.bound_rules import bound_breaches, proof_of, undecided
from muri_opt.verify.feasibility import broken_rules
from muri_opt.verify.gangs.counting import knapsack_bound, prefix_bound
from muri_opt.verify.gangs.dual_bound import dual_bound
from muri_opt.verify.gangs.enumeration import enumerated_optimum
from muri_opt.verify.gangs.staying import open_round
from muri_opt.verify.gangs.value import job_values
from muri_opt.verify.memoise import recalled
from muri_opt.verify.policy_rules import Rules, rules_of
from muri_opt.verify.waiting_reasons import wrong_reasons

if TYPE_CHECKING:
    from muri_opt.verify.philly.job_status import Reading
    from muri_opt.verify.plans.menu import Menu

ENUMERABLE_JOBS = 16
"""Rounds of at most this many jobs are enumerated to confirm a claimed optimum, within a bounded number of steps."""


def decision_value(round_: Round, policy: str, decision: Decision) -> int:
    """Return the value of a decision under a policy, recomputed from the round."""
    rules = rules_of(policy)
    if rules.elastic is not None:
        tables = dict(zip(round_.job_index, rules.elastic.values(round_), strict=True))
        shares = [(assignment.jobs[:1], sum(assignment.gpus.values())) for assignment in decision.assignments]
        return sum(tables[job].get(gpus, 0) for jobs, gpus in shares for job in jobs if job in tables)
    if rules.plans is not None:
        from muri_opt.verify.plans.menu import Menu

        return Menu.of(round_, rules.plans).value(round_, decision)
    if rules.placement is not None:
        from muri_opt.verify.philly.job_status import Reading, places_of

        return Reading.of(round_, rules.placement).value(places_of(round_, decision))
    if rules.sharing is None:
        values = job_values(round_, rules)
        return sum(values.get(job, 0) for job in decision.running)
    return _value_of_groups(round_, rules, [assignment.jobs for assignment in decision.assignments])


def proved_bound(
    round_: Round, policy: str, decision: Decision, evidence: tuple[Evidence, ...]
) -> tuple[int, Proof] | None:
    """Return the best bound that can be proved here in exact integers, and by what; ``None`` where nothing can."""
    rules = rules_of(policy)
    duals = [item for item in evidence if isinstance(item, LinearDuals)]
    if rules.elastic is not None:
        return _bound_of_shares(round_, rules.elastic.values(round_), duals)
    if rules.plans is not None:
        from muri_opt.verify.plans.menu import Menu

        return _bound_of_plans(round_, Menu.of(round_, rules.plans), decision, duals)
    if rules.placement is not None:
        from muri_opt.verify.philly.job_status import Reading

        return _bound_of_places(round_, Reading.of(round_, rules.placement), decision, duals)
    if rules.sharing is not None:
        from muri_opt.verify.muri.dual_bound import sharing_bound

        prices = [item for item in evidence if not isinstance(item, Agreement)]
        shared = [(sharing_bound(round_, rules, item), item.proof) for item in prices]
        return min(((bound, proof) for bound, proof in shared if bound is not None), default=None)
    values, left = job_values(round_, rules), open_round(round_, rules)
    found = [(dual_bound(left, values, item), Proof.LINEAR_DUALS) for item in duals]
    if rules.lexicographic:
        found.append((prefix_bound(left, values, decision), Proof.COUNTING))
    if not found or min(found)[0] > decision_value(round_, policy, decision):
        counted = knapsack_bound(left, values)
        found += [] if counted is None else [(counted, Proof.COUNTING)]
    return min(found, key=lambda item: item[0], default=None)


def _value_of_groups(round_: Round, rules: Rules, groups: list[tuple[str, ...]]) -> int:
    """Return what groups are worth together; one without a period adds nothing, its breach is told elsewhere."""
    from muri_opt.verify.muri.value import Sharers

    alike: dict[int, list[list[int]]] = {}
    for group in groups:
        jobs = [round_.job_index[job] for job in group if job in round_.job_index]
        staged = all(round_.jobs[job].stage_seconds is not None for job in jobs)
        if staged and 1 <= len(jobs) <= rules.most_jobs(len(round_.resources)):
            alike.setdefault(len(jobs), []).append(jobs)
    sharers = Sharers.of(round_, rules)
    return sum(sum(sharers.values(np.array(same)).tolist()) for same in alike.values())


def verify(round_: Round, result: Result) -> Certificate:
    """Return what is true of a result: every broken rule, and who proved its bound.

    The proof is found anew and never taken over: ``LinearDuals`` or ``MatchingDuals`` if prices in the evidence prove
    the bound, ``Counting`` if GPUs and quotas alone do, ``Exhaustive`` if enumerating a small round does, ``Agreement``
    if the evidence has two solvers that agree on it. A bound that nothing of this proves breaks the rule ``proof``; a
    bound that is said to be claimed need not be proved.
    """
    rules = rules_of(result.policy)
    decision = result.decision
    found = [*_header(round_, result)]
    if decision is None:
        return undecided(result, found)
    broken = broken_rules(round_, decision, rules)
    found += broken if broken else wrong_reasons(round_, decision, rules)
    value = decision_value(round_, result.policy, decision)
    if result.value != value:
        found.append(Violation(rule="value", where="value", detail=f"said {result.value}; it is {value}"))
    known: tuple[int, Proof] | None = None
    try:
        known = proved_bound(round_, result.policy, decision, result.certificate.evidence)
    except InputError as error:
        detail = f"found {error.found}; allowed: {error.allowed}"
        found.append(Violation(rule="evidence", where=error.field, detail=detail))
    tightest = result.bound if result.claimed_bound is None else result.claimed_bound
    if tightest is not None and (known is None or known[0] > tightest):
        optimum = enumerable_optimum(round_, rules)
        known = known if optimum is None else (optimum, Proof.EXHAUSTIVE)
    proof = proof_of(result, value, known)
    found += bound_breaches(result, value, known, proof)
    return Certificate(
        feasible=not found,
        violations=tuple(found),
        proof=proof,
        checked_bound=None if known is None else known[0],
        evidence=result.certificate.evidence,
    )


def _header(round_: Round, result: Result) -> list[Violation]:
    found = []
    if result.fingerprint != round_.fingerprint:
        detail = f"the result is for {result.fingerprint}, the round is {round_.fingerprint}"
        found.append(Violation(rule="fingerprint", where="fingerprint", detail=detail))
    decided = result.termination.reason in (Reason.OPTIMAL, Reason.FEASIBLE)
    if decided != (result.decision is not None):
        detail = f"{result.termination.reason} {'without' if decided else 'with'} a decision"
        found.append(Violation(rule="termination", where="termination", detail=detail))
    return found


def _bound_of_shares(round_: Round, values: list[dict[int, int]], duals: list[LinearDuals]) -> tuple[int, Proof] | None:
    from muri_opt.verify.afs.dual_bound import counted_bound, priced_bound

    found = [(priced_bound(round_, values, item), Proof.LINEAR_DUALS) for item in duals]
    counted = counted_bound(round_, values)
    found += [] if counted is None else [(counted, Proof.COUNTING)]
    return min(found, key=lambda item: item[0], default=None)


def _bound_of_plans(
    round_: Round, menu: Menu, decision: Decision, duals: list[LinearDuals]
) -> tuple[int, Proof] | None:
    from muri_opt.verify.plans.counting import counted_plans
    from muri_opt.verify.plans.dual_bound import planned_bound

    found = [(planned_bound(round_, menu, item), Proof.LINEAR_DUALS) for item in duals]
    if not found or min(found)[0] > menu.value(round_, decision):
        counted = counted_plans(round_, menu)
        found += [] if counted is None else [(counted, Proof.COUNTING)]
    return min(found, key=lambda item: item[0], default=None)


def _bound_of_places(
    round_: Round, reading: Reading, decision: Decision, duals: list[LinearDuals]
) -> tuple[int, Proof] | None:
    from muri_opt.verify.philly.counting import counted_places
    from muri_opt.verify.philly.dual_bound import placed_bound
    from muri_opt.verify.philly.job_status import places_of

    found = [(placed_bound(round_, reading, item), Proof.LINEAR_DUALS) for item in duals]
    if not found or min(found)[0] > reading.value(places_of(round_, decision)):
        counted = counted_places(reading)
        found += [] if counted is None else [(counted, Proof.COUNTING)]
    return min(found, key=lambda item: item[0], default=None)


@recalled
def enumerable_optimum(round_: Round, rules: Rules) -> int | None:
    """Return the optimum of a round that is small enough to go through all its decisions, else ``None``."""
    if len(round_.jobs) > ENUMERABLE_JOBS or rules.sharing is not None or rules.elastic is not None:
        return None
    return enumerated_optimum(round_, rules)
