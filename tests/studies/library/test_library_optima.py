"""Every stored optimum holds, and one that does not is found and named."""

import json
from functools import cache

import msgspec
import pytest
from library_copies import best_data, copied, only, write_data
from shipped_library import ALL

from muri_opt import Limits, Proof, WaitingReason, solve_round, verify
from muri_opt.errors import RefusalError
from muri_opt.rounds import Agreement
from muri_opt.studies.library import check_instance, check_optimum, instances
from muri_opt.studies.library.stored_decision import StoredDecision

CHECKED = (Proof.LINEAR_DUALS, Proof.MATCHING_DUALS, Proof.COUNTING, Proof.EXHAUSTIVE)
SMALL = [(x, one) for x in ALL if x.family == "small" for one in x.best.optima]
FIRST_OF_POLICY = {one.policy: (x, one) for x, one in reversed(SMALL)}
TWO = ("exact@highs", "exact@cp-sat")


FAST_JOBS = 300
"""Rounds after traces of more jobs are verified in the slow tests only."""


def in_its_time(instance):
    slow = instance.family == "traces" and instance.jobs > FAST_JOBS
    return pytest.param(instance, id=instance.name, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize("instance", [in_its_time(instance) for instance in ALL])
def test_every_stored_answer_holds(instance):
    for finding, stored in zip(check_instance(instance), instance.best.optima, strict=True):
        assert finding.violations == ()
        agreed = stored.proof is Proof.AGREEMENT
        assert agreed == any(isinstance(item, Agreement) and item.independent for item in stored.evidence)
        assert finding.proof in ((Proof.CLAIM_ONLY,) if agreed else (None,) if stored.bound is None else CHECKED)


def test_evidence_is_stored_where_a_bound_follows_from_it_and_nowhere_else():
    kinds = {one.proof: {type(item).__name__ for item in one.evidence} for x in ALL for one in x.best.optima}
    assert kinds == {
        Proof.LINEAR_DUALS: {"LinearDuals"},
        Proof.MATCHING_DUALS: {"MatchingDuals"},
        Proof.AGREEMENT: {"Agreement"},
        Proof.COUNTING: set(),
        Proof.EXHAUSTIVE: set(),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "instance", [x for x in ALL if x.jobs <= 100 and any(one.proof is Proof.AGREEMENT for one in x.best.optima)]
)
def test_solvers_that_agreed_agree_again(instance):
    found = check_instance(instance, seconds=60)
    assert [one.violations for one in found] == [()] * len(found)
    assert Proof.CLAIM_ONLY not in {one.proof for one in found}


def solved_exactly(instance, policy, method):
    """Return the result of a method; where floats are refused coefficients as large, that of going through all."""
    try:
        return solve_round(instance.round(), policy, method, Limits(seconds=60))
    except RefusalError as refused:
        if refused.allowed != "at most 1,000,000,000; rescale, or use cp-sat":
            raise
        return solve_round(instance.round(), policy, "exact@exhaustive", Limits(seconds=60))


def both_backends(instance, stored):
    for method in TWO:
        result = solved_exactly(instance, stored.policy, method)
        said = result.bound if result.claimed_bound is None else result.claimed_bound
        assert (method, result.value, said) == (method, stored.value, stored.value)


@pytest.mark.parametrize("policy", FIRST_OF_POLICY)
def test_two_backends_find_the_stored_optimum_of_a_round_of_each_policy(policy):
    both_backends(*FIRST_OF_POLICY[policy])


@pytest.mark.slow
@pytest.mark.parametrize("instance", [x for x in ALL if x.family == "small"], ids=lambda instance: instance.name)
def test_two_backends_find_every_stored_optimum(instance):
    for stored in instance.best.optima:
        both_backends(instance, stored)


def first_with(proof):
    return next((x.name, place) for x in ALL for place, one in enumerate(x.best.optima) if one.proof is proof)


def changed(folder, name, place, **fields):
    data = best_data(copied(folder, name), name)
    data["optima"] = [data["optima"][place] | fields]
    write_data(folder, name, data)
    (finding,) = check_instance(only(folder))
    assert all(line.startswith(f"{name}, {finding.policy}: ") for line in finding.lines())
    return {one.rule for one in finding.violations}


@pytest.mark.parametrize("proof", [*CHECKED, Proof.AGREEMENT])
def test_a_value_or_bound_that_was_changed_is_found(tmp_path, proof):
    name, place = first_with(proof)
    stored = next(x for x in ALL if x.name == name).best.optima[place]
    assert changed(tmp_path, name, place) == set()
    assert "value" in changed(tmp_path, name, place, value=stored.value + 1, bound=stored.bound + 1)
    assert "value" in changed(tmp_path, name, place, value=stored.value - 1)
    below = "bound" if stored.bound == stored.value else "proof"  # below the value, or only below what is proved
    assert below in changed(tmp_path, name, place, bound=stored.bound - 1)


@pytest.mark.parametrize("proof", [*CHECKED, Proof.AGREEMENT])
def test_a_decision_that_was_changed_is_found(tmp_path, proof):
    name, place = first_with(proof)
    data = best_data(copied(tmp_path, name), name)["optima"][place]["decision"]
    assert "waiting-listed" in changed(tmp_path, name, place, decision=data | {"assignments": data["assignments"][1:]})
    twice = data | {"assignments": [*data["assignments"], data["assignments"][0]]}
    assert "job-once" in changed(tmp_path, name, place, decision=twice)


@pytest.mark.parametrize("fault", ["no evidence", "wrong prices", "too many prices"])
def test_prices_that_do_not_prove_the_bound_are_found(tmp_path, fault):
    name, place = "small/interleaving-01", 0
    (evidence,) = best_data(copied(tmp_path, name), name)["optima"][place]["evidence"]
    if fault == "no evidence":
        assert changed(tmp_path, name, place, evidence=[]) == {"proof"}
        return
    factor, more = (2, []) if fault == "wrong prices" else (1, [1])
    prices = {label: [factor * price for price in found] + more for label, found in evidence["multipliers"].items()}
    rules = changed(tmp_path, name, place, evidence=[evidence | {"multipliers": prices}])
    assert rules == ({"proof"} if fault == "wrong prices" else {"evidence", "proof"} & rules)
    assert rules


@pytest.mark.parametrize("policy", ["fifo:objective=weighted,preempt=yes", "srtf", "srsf", "las", "tiresias"])
def test_a_worse_decision_called_optimal_is_found_without_a_solver(policy):
    instance, stored = next(
        (x, x.optimum(policy))
        for x in instances(family="small", policy=policy)
        if solve_round(x.round(), policy, "heuristic").value < x.optimum(policy).value
    )
    _, found = check_optimum(instance.round(), instance.best.fingerprint, heuristic_as_optimum(instance, stored))
    assert {one.rule for one in found} <= {"bound", "proof"}
    assert found


AGREED = [(x, one) for x in ALL for one in x.best.optima if one.proof is Proof.AGREEMENT]


def test_an_agreement_needs_two_solvers(tmp_path):
    name, place = first_with(Proof.AGREEMENT)
    for backends in (["highs"], ["highs", "highs"], ["highs", "abacus"]):
        evidence = [{"kind": "Agreement", "backends": backends}]
        assert changed(tmp_path, name, place, evidence=evidence) == {"proof"}
    assert changed(tmp_path, name, place, evidence=[]) == {"proof"}


def heuristic_as_optimum(instance, stored):
    """Return the stored optimum with the worse decision of the algorithm in its place, still said to be agreed upon."""
    worse = solve_round(instance.round(), stored.policy, "heuristic")
    assert worse.value < stored.value
    decision = StoredDecision.of(worse.decision)
    return msgspec.structs.replace(stored, value=worse.value, bound=worse.value, decision=decision)


@cache
def missed():
    """Return the first small round with an optimum agreed upon that the algorithm misses."""
    small = ((x, one) for x, one in AGREED if x.jobs <= 20)
    return next((x, one) for x, one in small if solve_round(x.round(), one.policy, "heuristic").value < one.value)


def test_a_false_agreement_is_found_by_asking_the_solvers_again():
    instance, stored = missed()
    false = heuristic_as_optimum(instance, stored)
    round_, fingerprint = instance.round(), instance.best.fingerprint
    assert check_optimum(round_, fingerprint, false) == (Proof.CLAIM_ONLY, [])
    _, found = check_optimum(round_, fingerprint, false, seconds=60)
    assert {one.rule for one in found} == {"bound"}
    assert f"finds {stored.value}" in found[0].detail
    assert check_optimum(round_, fingerprint, stored, seconds=60) == (Proof.AGREEMENT, [])
    assert check_optimum(round_, fingerprint, stored, seconds=0) == (Proof.CLAIM_ONLY, [])


def test_an_agreement_below_what_the_algorithm_reaches_is_found():
    instance, stored = missed()
    round_ = instance.round()
    reasons = {job.id: WaitingReason.PRIORITY for job in round_.jobs}

    def idle():
        waiting = {reason: tuple(job for job in reasons if reasons[job] is reason) for reason in WaitingReason}
        decision = StoredDecision(assignments=(), waiting=waiting)
        return msgspec.structs.replace(stored, value=0, bound=0, decision=decision)

    for one in verify(round_, idle().result(round_.fingerprint)).violations:
        assert one.rule == "waiting-reason"
        reasons[one.where] = WaitingReason(one.detail.rpartition(" ")[2])
    _, found = check_optimum(round_, round_.fingerprint, idle())
    assert [one.rule for one in found] == ["bound"]
    assert "own algorithm reaches" in found[0].detail


def test_a_round_that_was_changed_is_found(tmp_path):
    name = "toy/two-gangs"
    path = copied(tmp_path, name) / f"{name}.json"
    data = json.loads(path.read_text())
    data["now"] += 1
    path.write_text(json.dumps(data))
    for finding in check_instance(only(tmp_path)):
        assert [one.rule for one in finding.violations] == ["fingerprint"]


def test_a_policy_that_cannot_decide_the_round_is_a_violation(tmp_path):
    assert "round" in changed(tmp_path, "toy/two-gangs", 0, policy="srtf")
