"""The words and numbers by which answers in documents are judged: what is overstated is found."""

import json

import msgspec
import pytest
from proved_answers import overstated, overstated_result

from muri_opt import Limits, Proof, Reason, Termination, result_json, solve_round
from muri_opt.report.text.result import result_text
from muri_opt.rounds.generate.families import generate

LARGE = generate("gangs", jobs=24, nodes=3, seed=0)
"""With ``srtf:nodes=fewest`` the optimum is beyond what the verifier can prove alone."""


@pytest.fixture(scope="module")
def results():
    return {
        method: solve_round(LARGE, "srtf:nodes=fewest", method, Limits(seconds=60))
        for method in ("heuristic", "exact@highs", "auto")
    }


@pytest.mark.parametrize("method", ["heuristic", "exact@highs", "auto"])
def test_what_is_said_today_is_proved(results, method):
    result = results[method]
    assert overstated_result(result) == ""
    assert overstated(result_text(LARGE, result)) == []
    assert overstated(result_json(result)) == []


def test_a_claim_that_is_called_optimal_is_found(results):
    claim = results["exact@highs"]
    assert claim.value == claim.claimed_bound < claim.bound
    optimal = msgspec.structs.replace(claim, termination=Termination(reason=Reason.OPTIMAL))
    bare = msgspec.structs.replace(claim.certificate, proof=Proof.CLAIM_ONLY)
    closed = msgspec.structs.replace(claim, bound=claim.value, gap=0.0, claimed_bound=None, certificate=bare)
    for wrong in (optimal, closed):
        assert overstated_result(wrong)
        assert overstated(result_text(LARGE, wrong))
        assert overstated(result_json(wrong))
    agreed = results["auto"]
    alone = msgspec.structs.replace(agreed, certificate=msgspec.structs.replace(agreed.certificate, evidence=()))
    assert overstated_result(alone)
    assert overstated(result_json(alone))


def test_other_texts_say_nothing_of_optima():
    assert overstated("no outcome here") == []
    assert overstated(json.dumps([1, 2])) == []
