"""``solve_round``: methods, limits and what each of them promises."""

from __future__ import annotations

import pytest
from by_policy import enumerated_optimum
from handmade import gang, round_of
from hypothesis import given, settings, strategies as st

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
from muri_opt.rounds.generate.families import generate
from muri_opt.solve.exact import Answer
from muri_opt.solve.search import Search
from muri_opt.solve.solvers import BACKENDS, WorkerError
from muri_opt.systems.orders import ORDERS
from muri_opt.testing import rounds

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


@pytest.mark.parametrize("method", ["exact", "auto"])
def test_claims_are_confirmed_by_a_second_solver(method: str) -> None:
    alone = solve_round(CLAIMED, "srtf:nodes=fewest", "exact@highs", Limits(seconds=60))
    assert outcome(alone) == ("FEASIBLE", "CLAIM")
    assert alone.termination.detail == "highs alone says OPTIMAL: Optimal (no second solver was asked)"
    assert alone.value == alone.claimed_bound < alone.bound == alone.certificate.checked_bound
    assert alone.gap > 0
    both = solve_round(CLAIMED, "srtf:nodes=fewest", method, Limits(seconds=60))
    assert outcome(both) == ("OPTIMAL", None)
    assert (both.value, both.bound, both.claimed_bound, both.gap) == (alone.value, alone.value, None, 0.0)
    assert both.certificate.proof is Proof.AGREEMENT
    assert both.certificate.checked_bound == alone.certificate.checked_bound
    assert verify(CLAIMED, both) == both.certificate


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
    assert result.gap <= 0.5


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
    result = solve_round(HARD, "fifo:objective=weighted,nodes=fewest", "auto", Limits(work=0.05))
    heuristic = solve_round(HARD, "fifo:objective=weighted,nodes=fewest", "heuristic")
    assert outcome(result) == ("FEASIBLE", "WORK")
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
    assert result.value == result.bound == enumerated_optimum(round_, policy)


def test_duals_of_the_relaxation_can_prove_the_heuristic_answer() -> None:
    """CPUs for two of four GPUs: counting GPUs lets both gangs run, the relaxation knows that one must wait."""
    round_ = round_of([Node(id="n0", gpus=4, cpus=2)], [gang(0, 2, cpus=2), gang(1, 2, cpus=2)])
    assert solve_round(round_, "fifo:objective=weighted", "heuristic").bound == 6
    result = solve_round(round_, "fifo:objective=weighted", "auto", Limits(seconds=None))
    assert outcome(result) == ("OPTIMAL", None)
    assert (result.value, result.bound, result.certificate.proof) == (4, 4, Proof.LINEAR_DUALS)
    assert (result.stats.backend, result.stats.columns) == ("highs", 0)


class Liar(Search):
    """A search whose second solver answers what it is told to."""

    said: Answer | WorkerError

    def _optimise(self, backend: str) -> Answer:
        if backend != "cp-sat":
            return Search._optimise(self, backend)
        if isinstance(self.said, WorkerError):
            raise self.said
        return self.said


def test_a_solver_without_an_answer_leaves_nothing() -> None:
    search = Liar(round_=CLAIMED, policy=policy_from("srtf:nodes=fewest"), method="exact@cp-sat", limits=Limits())
    search.said = Answer(termination=Termination(reason=Reason.NO_SOLUTION, limit=Limit.TIME), bound=10**6)
    search.run_exact("cp-sat")
    result = search.result()
    assert outcome(result) == ("NO_SOLUTION", "TIME")
    assert (result.decision, result.value, result.bound, result.gap) == (None, None, None, None)
    assert result.claimed_bound == 10**6
    assert result.certificate.violations == ()


def confirmed_by(said: Answer | WorkerError) -> Result:
    search = Liar(round_=CLAIMED, policy=policy_from("srtf:nodes=fewest"), method="exact", limits=Limits(seconds=60))
    search.said = said
    search.run_exact("highs", "cp-sat")
    result = search.result()
    assert verify(CLAIMED, result) == result.certificate
    return result


def better(value: int) -> Answer:
    return Answer(termination=Termination(reason=Reason.OPTIMAL), decision=Decision(), bound=value)


def test_a_second_solver_with_a_weaker_bound_confirms_that_bound() -> None:
    optimum = solve_round(CLAIMED, "srtf:nodes=fewest", "auto", Limits(seconds=60)).value
    stopped = Termination(reason=Reason.FEASIBLE, limit=Limit.TIME, detail="stopped")
    result = confirmed_by(Answer(termination=stopped, bound=optimum + 1))
    assert outcome(result) == ("FEASIBLE", "CLAIM")
    assert (result.value, result.bound, result.claimed_bound) == (optimum, optimum + 1, optimum)
    assert result.certificate.proof is Proof.AGREEMENT
    assert result.termination.detail == "highs alone says OPTIMAL: Optimal (cp-sat says FEASIBLE: stopped)"


def test_infeasible_is_believed_of_two_solvers_only() -> None:
    nothing = Answer(termination=Termination(reason=Reason.INFEASIBLE, detail="none"))
    search = Liar(round_=CLAIMED, policy=policy_from("srtf"), method="exact@cp-sat", limits=Limits())
    search.said = nothing
    search.run_exact("cp-sat")
    alone = search.result()
    assert outcome(alone) == ("NO_SOLUTION", "CLAIM")
    assert alone.certificate.violations == ()
    search = Liar(round_=CLAIMED, policy=policy_from("srtf"), method="exact", limits=Limits())
    search.said = nothing
    search.no_decision = ("highs",)
    search.run_exact("cp-sat")
    both = search.result()
    assert outcome(both) == ("INFEASIBLE", None)
    assert both.certificate.violations == ()
    search = Liar(round_=CLAIMED, policy=policy_from("srtf"), method="auto", limits=Limits())
    search.said = nothing
    search.run_heuristic()
    search.run_exact("cp-sat")
    disproved = search.result()
    assert outcome(disproved) == ("FEASIBLE", "FAULT")
    assert disproved.termination.detail == "cp-sat says that there is no decision"


def test_a_claim_that_a_decision_disproves_is_dropped() -> None:
    search = Liar(round_=CLAIMED, policy=policy_from("srtf:nodes=fewest"), method="auto", limits=Limits())
    search.said = better(1)
    search.run_heuristic()
    search.run_exact("cp-sat")
    result = search.result()
    assert outcome(result) == ("FEASIBLE", "FAULT")
    assert result.termination.detail.startswith("cp-sat claims that nothing is worth more than 1; ")
    assert result.claimed_bound is None
    assert result.certificate.violations == ()


def test_a_claim_below_an_optimum_that_is_enumerated_is_dropped() -> None:
    weighted = policy_from("fifo:objective=weighted")
    worse = solve_round(SUBOPTIMAL, weighted, "heuristic")
    search = Liar(round_=SUBOPTIMAL, policy=weighted, method="exact@cp-sat", limits=Limits(seconds=60))
    search.said = Answer(termination=Termination(reason=Reason.OPTIMAL), decision=worse.decision, bound=2)
    search.run_exact("cp-sat")
    result = search.result()
    assert outcome(result) == ("FEASIBLE", "FAULT")
    assert result.termination.detail == "cp-sat claims that nothing is worth more than 2; a decision is worth 4"
    assert (result.value, result.bound, result.claimed_bound) == (2, 4, None)
    assert result.certificate.violations == ()


def test_where_one_solver_is_disproved_the_next_is_asked() -> None:
    """The first gives a poor decision and claims that it is the best; the second solves the same program itself."""
    weighted = policy_from("fifo:objective=weighted")
    worse = solve_round(SUBOPTIMAL, weighted, "heuristic")
    search = Liar(round_=SUBOPTIMAL, policy=weighted, method="exact", limits=Limits(seconds=60))
    search.said = Answer(termination=Termination(reason=Reason.OPTIMAL), decision=worse.decision, bound=2)
    search.run_exact("cp-sat", "highs")
    result = search.result()
    assert (result.termination.reason, result.value, result.bound) == (Reason.OPTIMAL, 4, 4)
    assert result.certificate.violations == ()


def test_solvers_that_disagree_are_not_believed() -> None:
    result = confirmed_by(better(0))
    assert outcome(result) == ("FEASIBLE", "FAULT")
    assert result.termination.detail == "highs and cp-sat claim different optima"
    assert result.bound == result.certificate.checked_bound
    assert result.claimed_bound is None
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
def test_a_second_solver_without_a_bound_confirms_nothing(said: Answer | WorkerError) -> None:
    result = confirmed_by(said)
    assert outcome(result) == ("FEASIBLE", "CLAIM")
    assert result.value == result.claimed_bound < result.bound == result.certificate.checked_bound
    assert "(cp-sat" in result.termination.detail


def test_without_time_for_a_second_solver_a_claim_stays_one() -> None:
    search = Liar(round_=CLAIMED, policy=policy_from("srtf:nodes=fewest"), method="auto", limits=Limits(seconds=60))
    search.run_exact("highs")
    search.limits = Limits(seconds=0)
    search._confirm("cp-sat")
    assert search.unconfirmed == "nothing is left to ask cp-sat"
    assert search.claims.agreement is None
