"""Results as certificates for the kernel."""

import doctest
import json

import pytest
from shipped_library import ALL

from muri_opt.solve import certify
from muri_opt.solve.certify import certificate_of
from muri_opt.systems import policy_from
from muri_opt.verify import kernel, verify

STORED = [
    pytest.param(
        instance,
        optimum,
        id=f"{instance.name} {optimum.policy}",
        marks=[pytest.mark.slow] if instance.jobs > 6 else [],
    )
    for instance in ALL
    if instance.jobs <= 30
    for optimum in instance.optima()
]


@pytest.mark.parametrize(("instance", "optimum"), STORED)
def test_the_kernel_shows_what_the_verifier_shows_of_every_small_stored_answer(instance, optimum):
    round_ = instance.round()
    result = optimum.result(round_.fingerprint)
    certificate = certificate_of(round_, policy_from(optimum.policy).rules, result.decision)
    value, bound = kernel.check(json.loads(json.dumps(certificate)))
    assert value == optimum.value
    checked = verify(round_, result).checked_bound
    assert checked is None or bound <= checked
    assert bound == optimum.bound


def test_without_splits_it_is_the_linear_relaxation():
    instance = next(one for one in ALL if one.name == "toy/eight-gangs")
    round_ = instance.round()
    optimum = instance.optima("srtf")[0]
    decision = optimum.result(round_.fingerprint).decision
    relaxed = certificate_of(round_, policy_from("srtf").rules, decision, splits=0)
    assert "multipliers" in relaxed["proof"]
    assert kernel.check(relaxed)[1] >= optimum.value


def test_the_example_of_the_docstring_holds():
    failed, tried = doctest.testmod(certify)
    assert tried > 0
    assert failed == 0


def test_a_decision_below_the_optimum_gets_the_optimum_as_its_bound_and_the_search_ends():
    """No split makes that bound better, so that the search does not go on until its budget is used up."""
    round_ = next(one for one in ALL if one.name == "toy/eight-gangs").round()
    worse = policy_from("srtf").decide(round_, seed=0)
    value, bound = kernel.check(certificate_of(round_, policy_from("srtf").rules, worse))
    assert value < bound == 114
