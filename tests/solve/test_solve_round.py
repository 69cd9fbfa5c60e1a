"""``solve_round``: methods, limits and what each of them promises."""

from __future__ import annotations

import pytest
from handmade import gang, round_of
from hypothesis import given, settings
from hypothesis import strategies as st

from muri_opt import (
    Decision,
    InputError,
    Limit,
    Limits,
    Node,
    Proof,
    Reason,
    RefusalError,
    Result,
    Round,
    Termination,
    policy_from,
    solve_round,
    verify,
)
from muri_opt.backends import BACKENDS, WorkerError
from muri_opt.exact import Answer
from muri_opt.instance.generators import generate
from muri_opt.ordering import ORDERS
from muri_opt.solve import _Search
from muri_opt.testing import rounds
from muri_opt.verification import enumerated_optimum, rules_of

SUBOPTIMAL = round_of([4], [1, 4])
"""In order j0 runs, worth 2; the optimum is j1, worth 4."""
HARD = generate("gangs", jobs=200, nodes=20, seed=1)
"""With ``nodes=fewest`` no solver proves the optimum within seconds."""
CLAIMED = generate("gangs", jobs=24, nodes=3, seed=0)
"""With ``srtf:nodes=fewest`` the optimum is beyond what the verifier can prove alone."""


def outcome(result: Result) -> tuple[str, str | None]:
    return result.termination.reason, result.termination.limit


@pytest.mark.parametrize("method", ["exact", "auto", *(f"exact@{name}" for name in BACKENDS)])
def test_every_exact_method_solves_a_small_round(method: str) -> None:
    result = solve_round(SUBOPTIMAL, "fifo:objective=weighted", method)
    assert (result.value, result.bound, result.gap) == (4, 4, 0.0)
    assert outcome(result) == ("OPTIMAL", None)
    assert result.decision is not None
    assert result.decision.running == {"j1"}
    assert result.certificate.feasible
    assert result.certificate.proof in (Proof.LINEAR_DUALS, Proof.COUNTING, Proof.EXHAUSTIVE)
    assert result.method == method
    assert result.policy == "fifo:objective=weighted"
    assert result.fingerprint == SUBOPTIMAL.fingerprint
    assert result.stats.backend == (method.partition("@")[2] or "highs")
    assert result.stats.columns > 0


def test_a_heuristic_says_how_far_it_may_be_from_the_optimum() -> None:
    result = solve_round(SUBOPTIMAL, "fifo:objective=weighted", "heuristic")
    assert outcome(result) == ("FEASIBLE", "HEURISTIC")
    assert (result.value, result.bound, result.gap) == (2, 4, 1.0)
    assert result.stats.backend is None


def test_a_heuristic_whose_bound_meets_its_value_is_optimal() -> None:
    result = solve_round(round_of([4], [2, 2]), "fifo:objective=weighted", "heuristic")
    assert outcome(result) == ("OPTIMAL", None)
    assert result.termination.detail == "value and bound meet; fifo:objective=weighted ran to its end"
    assert solve_round(round_of([4], [2, 2]), "fifo:objective=weighted", "auto").stats.backend is None


def test_the_policy_may_be_an_object_and_has_a_default() -> None:
    assert solve_round(SUBOPTIMAL, policy_from("las"), "heuristic").policy == "las"
    result = solve_round(SUBOPTIMAL)
    assert (result.policy, result.method, result.value) == ("fifo", "auto", 2)


@pytest.mark.parametrize(
    ("method", "field", "found"),
    [
        ("autp", "method", "'autp' (did you mean 'auto'?)"),
        ("", "method", "''"),
        ("auto@highs", "method", "'auto@highs' (did you mean 'exact@highs'?)"),
        ("exact@hihgs", "backend", "'hihgs' (did you mean 'highs'?)"),
        ("exact@", "backend", "''"),
        ("heuristic@", "backend", "''"),
    ],
)
def test_an_unknown_method_or_backend_is_refused(method: str, field: str, found: str) -> None:
    with pytest.raises(InputError) as refused:
        solve_round(SUBOPTIMAL, "fifo:objective=weighted", method)
    assert (refused.value.field, refused.value.found) == (field, found)


def test_an_unknown_policy_is_refused_before_anything_runs() -> None:
    with pytest.raises(InputError, match="did you mean 'fifo'"):
        solve_round(SUBOPTIMAL, "fiffo", "auto")


@pytest.mark.parametrize("method", ["heuristic", "exact", "auto"])
def test_a_missing_field_is_refused_by_every_method(method: str) -> None:
    round_ = round_of([4], [gang(0, 1), gang(1, 4, remaining_iterations=None)])
    with pytest.raises(InputError) as refused:
        solve_round(round_, "srtf", method)
    assert refused.value.field == "jobs[1] ('j1').remaining_iterations"


def test_exact_claims_are_confirmed_by_a_second_solver() -> None:
    alone = solve_round(CLAIMED, "srtf:nodes=fewest", "exact@highs", Limits(seconds=60))
    assert (alone.certificate.proof, alone.termination.reason) == (Proof.CLAIM_ONLY, "OPTIMAL")
    both = solve_round(CLAIMED, "srtf:nodes=fewest", "exact", Limits(seconds=60))
    assert (both.certificate.proof, both.termination.reason) == (Proof.AGREEMENT, "OPTIMAL")
    assert both.value == alone.value == alone.bound
    assert both.certificate.checked_bound is not None
    assert both.certificate.checked_bound > both.value


@pytest.mark.parametrize("policy", ["fifo:objective=weighted", "las:objective=lexicographic", "max-min:nodes=fewest"])
def test_exact_on_a_middling_round_is_agreed_or_better(policy: str) -> None:
    round_ = generate("tenants", jobs=30, nodes=4, seed=2)
    result = solve_round(round_, policy, "exact", Limits(seconds=60))
    assert outcome(result) == ("OPTIMAL", None)
    assert result.certificate.proof is not Proof.CLAIM_ONLY
    heuristic = solve_round(round_, policy, "heuristic")
    assert heuristic.value <= result.value <= heuristic.bound


def test_a_gap_is_enough_where_a_gap_is_asked_for() -> None:
    result = solve_round(CLAIMED, "srtf:nodes=fewest", "exact@highs", Limits(seconds=60, gap=0.5))
    assert outcome(result) in [("FEASIBLE", "GAP"), ("OPTIMAL", None)]
    assert result.certificate.feasible
    assert result.bound - result.value <= 0.5 * result.bound


def test_without_time_auto_has_the_heuristic_answer() -> None:
    result = solve_round(SUBOPTIMAL, "fifo:objective=weighted", "auto", Limits(seconds=0))
    assert outcome(result) == ("FEASIBLE", "TIME")
    assert (result.value, result.bound) == (2, 4)
    assert result.certificate.feasible


@pytest.mark.parametrize("method", ["exact", "exact@cbc"])
def test_without_time_exact_has_nothing(method: str) -> None:
    result = solve_round(SUBOPTIMAL, "fifo:objective=weighted", method, Limits(seconds=0))
    assert outcome(result) == ("NO_SOLUTION", "TIME")
    assert (result.decision, result.value, result.bound, result.gap) == (None, None, None, None)
    assert not result.certificate.feasible
    assert result.certificate.violations == ()


def test_stopped_early_auto_is_no_worse_than_the_heuristic_and_its_bound_holds() -> None:
    result = solve_round(HARD, "fifo:objective=weighted,nodes=fewest", "auto", Limits(seconds=1))
    heuristic = solve_round(HARD, "fifo:objective=weighted,nodes=fewest", "heuristic")
    assert outcome(result) == ("FEASIBLE", "TIME")
    assert result.certificate.violations == ()
    assert heuristic.value <= result.value <= result.bound <= heuristic.bound


def test_time_that_ends_before_a_solver_knows_anything_leaves_the_bound_of_the_heuristic() -> None:
    """A solver stopped before its first bound must not pass for one that proved a bound of nothing."""
    for seconds in (0.02, 0.05, 0.1, 0.2):
        result = solve_round(HARD, "srtf:nodes=fewest", "auto", Limits(seconds=seconds))
        assert result.certificate.violations == ()
        assert result.value <= result.bound


BIG_NUMBERS = round_of(
    [Node(id="n0", gpus=2, memory_gib=10_000_000), Node(id="n1", gpus=2, memory_gib=9_000_000)],
    [gang(j, 1 + j % 2, memory_gib=6e6 + j * 1e5) for j in range(6)],
)
"""Memory in MiB beyond what a floating-point solver can tell apart."""


@pytest.mark.parametrize("method", ["auto", "exact"])
def test_a_model_the_first_solver_refuses_goes_to_the_second(method: str) -> None:
    result = solve_round(BIG_NUMBERS, "fifo:objective=weighted", method)
    assert outcome(result) == ("OPTIMAL", None)
    assert result.stats.backend == "cp-sat"
    assert result.certificate.proof is Proof.EXHAUSTIVE


def test_a_model_the_named_solver_refuses_is_refused_with_the_remedy() -> None:
    with pytest.raises(RefusalError, match="use cp-sat"):
        solve_round(BIG_NUMBERS, "fifo:objective=weighted", "exact@highs")
    with pytest.raises(RefusalError, match="exhaustive"):
        solve_round(HARD, "fifo:objective=weighted", "exact@exhaustive")


@given(rounds(), st.sampled_from(sorted(ORDERS)), st.sampled_from(["auto", "exact@highs"]))
@settings(max_examples=25)
def test_exact_answers_are_verified_optima(round_: Round, policy: str, method: str) -> None:
    result = solve_round(round_, policy, method)
    assert result.certificate == verify(round_, result)
    assert result.certificate.feasible
    assert result.value == result.bound == enumerated_optimum(round_, rules_of(policy))


def test_duals_of_the_relaxation_can_prove_the_heuristic_answer() -> None:
    """CPUs for two of four GPUs: counting GPUs lets both gangs run, the relaxation knows that one must wait."""
    round_ = round_of([Node(id="n0", gpus=4, cpus=2)], [gang(0, 2, cpus=2), gang(1, 2, cpus=2)])
    assert solve_round(round_, "fifo:objective=weighted", "heuristic").bound == 6
    result = solve_round(round_, "fifo:objective=weighted", "auto", Limits(seconds=None))
    assert outcome(result) == ("OPTIMAL", None)
    assert (result.value, result.bound, result.certificate.proof) == (4, 4, Proof.LINEAR_DUALS)
    assert (result.stats.backend, result.stats.columns) == ("highs", 0)


class Liar(_Search):
    """A search whose second solver answers what it is told to."""

    said: Answer | WorkerError

    def _optimise(self, backend: str) -> Answer:
        if backend != "cp-sat":
            return _Search._optimise(self, backend)
        if isinstance(self.said, WorkerError):
            raise self.said
        return self.said


def test_a_solver_without_an_answer_leaves_nothing() -> None:
    search = Liar(round_=CLAIMED, policy=policy_from("srtf:nodes=fewest"), method="exact@cp-sat", limits=Limits())
    search.said = Answer(termination=Termination(reason=Reason.NO_SOLUTION, limit=Limit.TIME), bound=10**6)
    search.run_exact("cp-sat")
    result = search.result()
    assert outcome(result) == ("NO_SOLUTION", "TIME")
    assert (result.decision, result.value, result.bound, result.gap) == (None, None, 10**6, None)
    assert result.certificate.violations == ()


def confirmed_by(said: Answer | WorkerError) -> Result:
    search = Liar(round_=CLAIMED, policy=policy_from("srtf:nodes=fewest"), method="exact", limits=Limits(seconds=60))
    search.said = said
    search.run_exact("highs")
    claimed = search.result()
    assert (claimed.certificate.proof, claimed.termination.reason) == (Proof.CLAIM_ONLY, "OPTIMAL")
    return search.confirmed(claimed)


def test_solvers_that_disagree_are_not_believed() -> None:
    nobody = Answer(termination=Termination(reason=Reason.OPTIMAL), decision=Decision(), bound=0)
    result = confirmed_by(nobody)
    assert outcome(result) == ("FEASIBLE", "FAULT")
    assert result.termination.detail == "highs and cp-sat claim different optima"
    assert result.bound == result.certificate.checked_bound
    assert result.value < result.bound
    assert result.certificate.violations == ()
    assert result.certificate.proof is not Proof.CLAIM_ONLY


@pytest.mark.parametrize(
    "said",
    [
        WorkerError("the solver process ended with code -9", fault=True),
        Answer(termination=Termination(reason=Reason.FAILED)),
        Answer(termination=Termination(reason=Reason.FEASIBLE, limit=Limit.TIME), decision=Decision()),
    ],
)
def test_a_second_solver_without_an_optimum_confirms_nothing(said: Answer | WorkerError) -> None:
    result = confirmed_by(said)
    assert (result.certificate.proof, result.termination.reason) == (Proof.CLAIM_ONLY, "OPTIMAL")
