"""The whole way: the greedy here, the search in a process of its own, and the check of what comes back."""

import os

import pytest
from fragmented_rounds import ONE_TO_FREE, THREE_SERVERS, loaded

import muri_opt.solve.defragmentation
from muri_opt import InputError, Limit, Limits, Proof, Reason
from muri_opt.report.text.defragmentation import defragmentation_text
from muri_opt.solve.defragmentation import defragment, search_with
from muri_opt.verify.enumeration import OutOfStepsError


def test_what_counting_proves_needs_no_process(monkeypatch):
    monkeypatch.setattr(muri_opt.solve.defragmentation, "borrowed_worker", None)
    found = defragment(ONE_TO_FREE, nodes=1)
    assert (found.cost, found.certificate.proof, found.certificate.violations) == ((2, 1), Proof.COUNTING, ())
    assert defragment(loaded(4, (3,), (3,)), nodes=1).certificate.proof is Proof.COUNTING


def test_prices_prove_the_rest():
    found = defragment(THREE_SERVERS, job="w0", limits=Limits(seconds=None))
    assert (found.cost, found.termination.reason) == ((3, 2), Reason.OPTIMAL)
    assert (found.certificate.proof, found.certificate.checked_bound) == (Proof.LINEAR_DUALS, 3)


def test_the_smallest_budget_is_looked_for():
    found = defragment(THREE_SERVERS, job="w0", budget=1, limits=Limits(seconds=60))
    assert (found.termination.reason, found.needed_budget, found.certificate.proof) == (
        Reason.INFEASIBLE,
        3,
        Proof.LINEAR_DUALS,
    )


def test_an_agreement_stands_where_nothing_is_checked(monkeypatch):
    # Seventeen nodes of three with a job of two each: too many plans to go through, and prices are left out.
    monkeypatch.setattr(muri_opt.solve.defragmentation, "relaxation", None)
    monkeypatch.setattr(muri_opt.solve.defragmentation, "_apart", search_with)
    found = defragment(loaded(3, *[(2,)] * 17, waiting=(2,)), job="w0")
    assert (found.termination.reason, found.certificate.proof) == (Reason.INFEASIBLE, Proof.AGREEMENT)


def test_one_solver_alone_only_claims(monkeypatch):
    monkeypatch.setattr(muri_opt.solve.defragmentation, "relaxation", None)
    monkeypatch.setattr(muri_opt.solve.defragmentation, "_apart", search_with)
    stuck = defragment(loaded(3, *[(2,)] * 17, waiting=(2,)), job="w0", backends=("highs",))
    assert (stuck.termination.reason, stuck.termination.limit) == (Reason.NO_SOLUTION, Limit.CLAIM)
    assert stuck.termination.detail.startswith("one solver alone says INFEASIBLE: no moves reach the goal")
    assert (stuck.bound, stuck.certificate.proof, stuck.certificate.violations) == (None, None, ())


@pytest.mark.parametrize(
    ("budget", "ended"),
    [
        (None, (Reason.FEASIBLE, Limit.CLAIM)),
        (2, (Reason.NO_SOLUTION, Limit.CLAIM)),
        (1, (Reason.INFEASIBLE, None)),
    ],
)
def test_a_bound_that_is_not_proved_is_shown_as_a_claim(monkeypatch, budget, ended):
    # The one moved GPU more than counting proves is a solver's word here: prices are left out, and going through plans.
    monkeypatch.setattr(muri_opt.solve.defragmentation, "relaxation", None)
    monkeypatch.setattr(muri_opt.solve.defragmentation, "_apart", search_with)
    monkeypatch.setattr("muri_opt.verify.defragment.check.cheaper_cost", out_of_steps)
    found = defragment(THREE_SERVERS, job="w0", budget=budget, backends=("highs",))
    assert (found.termination.reason, found.termination.limit) == ended
    assert (found.bound, found.claimed_bound, found.needed_budget) == ((2, 0), (3, 2), None)
    assert (found.certificate.proof, found.certificate.violations) == (Proof.COUNTING, ())
    told = defragmentation_text(THREE_SERVERS, found)
    assert "claimed      bound 3 GPUs in 2 jobs: the word of one solver alone, not checked" in told


def out_of_steps(*arguments):
    raise OutOfStepsError


def test_without_time_the_greedy_answers():
    found = defragment(THREE_SERVERS, job="w0", limits=Limits(seconds=0))
    assert (found.cost, found.termination.reason, found.termination.limit) == ((3, 2), Reason.FEASIBLE, Limit.TIME)
    assert found.certificate.violations == ()


def test_a_search_that_fails_leaves_the_greedy_answer(monkeypatch):
    monkeypatch.setattr(muri_opt.solve.defragmentation, "search_with", os._exit)
    found = defragment(THREE_SERVERS, job="w0")
    assert (found.cost, found.termination.limit) == ((3, 2), Limit.FAULT)
    over = defragment(THREE_SERVERS, job="w0", budget=1)
    assert (over.termination.reason, over.needed_budget) == (Reason.INFEASIBLE, None)


def test_one_goal_and_known_backends():
    with pytest.raises(InputError, match="goal: found nodes None and job None"):
        defragment(ONE_TO_FREE)
    with pytest.raises(InputError, match="goal: found nodes 1 and job 'w0'"):
        defragment(ONE_TO_FREE, nodes=1, job="w0")
    with pytest.raises(InputError, match="backend: found 'gurobi'"):
        defragment(ONE_TO_FREE, nodes=1, backends=("gurobi",))
