"""Every step of a search looks at the clock: what cannot end in time is not begun, and the answer says so."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from math import inf

import pytest
from handmade import gang, round_of
from hypothesis import given, strategies as st
from more_examples import more_examples
from msgspec.structs import replace

from benchmarks.session_loop import all_jobs
from muri_opt import Decision, Limits, Node, Policy, Result, Round, changes, policy_from, solve_round, verify
from muri_opt.rounds import Budget
from muri_opt.rounds.generate.families import generate
from muri_opt.rounds.next_round import after
from muri_opt.rounds.stopping import TooLate, look_at_clock, stopped_after
from muri_opt.solve import first_answer, search, timed
from muri_opt.solve.pace import FADING, Pace
from muri_opt.solve.simple_decision import changes_anybody, simple_decisions
from muri_opt.systems import POLICIES, program_of
from muri_opt.testing import rounds
from muri_opt.verify import Audit, broken_rules, completed

TWO = round_of([4, 4], [4, 1, 2, 3])
OPEN = round_of([4], [1, 4])
"""In order j0 runs; a solver would let j1 run, which is worth more."""
LARGE = generate("gangs", jobs=200, nodes=40, seed=1)
"""More pairs of jobs and nodes than a solver places within half a second."""


@pytest.fixture
def pace(monkeypatch: pytest.MonkeyPatch) -> Pace:
    """Expectations of this test alone."""
    fresh = Pace()
    monkeypatch.setattr(timed, "PACE", fresh)
    return fresh


@pytest.fixture
def no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a solver was asked")

    monkeypatch.setattr(search.Search, "_run_backend", refuse)


@pytest.fixture
def algorithm_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a search end with the answer of the policy's algorithm, however much time is left."""
    for step in ("run_directly", "run_exact"):
        monkeypatch.setattr(search.Search, step, lambda *_: None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow(Policy):
    """A policy that needs a second or a unit of work, and starts nobody if it has less."""

    name: str = "slow"

    def decide(self, round_: Round, seed: int) -> Decision:
        return policy_from("fifo").decide(round_, seed)

    def decide_within(self, round_: Round, seed: int, budget: Budget) -> Decision:
        budget.spend(1.0)
        while 0.0 < budget.deadline - time.monotonic() < 1.0:
            time.sleep(0.01)
        return Decision() if budget.over() else self.decide(round_, seed)


def outcome(result: Result) -> tuple[str, str | None, str]:
    return result.termination.reason, result.termination.limit, result.termination.detail


@pytest.mark.parametrize(("limits", "unit"), [(Limits(seconds=0.1), "time"), (Limits(work=0.9), "work")])
def test_a_policy_has_the_budget_of_the_call_and_the_answer_says_that_it_used_it_up(
    limits: Limits, unit: str, pace: Pace
) -> None:
    result = solve_round(OPEN, Slow(), "auto", limits)
    detail = f"slow had used up its {unit} when it ended; no {unit} left for a solver"
    assert outcome(result) == ("FEASIBLE", unit.upper(), detail)
    assert result.certificate.feasible
    assert result.answer.running == {"time": set(), "work": {"j0"}}[unit]  # without a clock whoever fits still starts


@pytest.mark.parametrize("limits", [Limits(work=50.0), Limits(seconds=None)])
def test_a_policy_with_enough_runs_to_its_end_and_a_solver_has_the_rest(limits: Limits) -> None:
    result = solve_round(OPEN, Slow(), "auto", limits)
    assert (result.answer.running, outcome(result)[0]) == (frozenset({"j1"}), "OPTIMAL")


def test_an_algorithm_that_is_asked_for_by_name_runs_to_its_end() -> None:
    result = solve_round(OPEN, Slow(), "heuristic", Limits(seconds=0.1))
    assert outcome(result) == ("FEASIBLE", "HEURISTIC", "slow ran to its end")
    assert result.answer.running == {"j0"}


def test_an_algorithm_that_cannot_end_in_time_is_left_out(pace: Pace) -> None:
    pace.took("algorithm", "srtf", 200, 100.0)
    result = solve_round(LARGE, "srtf", "auto", Limits(seconds=0.5))
    reason, limit, detail = outcome(result)
    assert (reason, limit) == ("FEASIBLE", "TIME")
    assert "srtf takes about 1e+02 s and was left out" in detail
    assert result.certificate.feasible
    assert result.bound is not None
    assert result.answer.running
    assert not changes(LARGE, result.answer).stop
    assert not changes(LARGE, result.answer).move


def test_an_algorithm_that_looks_at_the_clock_is_left_out_only_if_it_was_late_before(
    pace: Pace, algorithm_only: None
) -> None:
    """It may have taken twice the limit before; a long limit, so that a slow machine does not come near."""
    limits = Limits(seconds=60.0)
    pace.took("algorithm", "slow", 200, 80.0)
    assert "left out" not in outcome(solve_round(LARGE, Slow(), "auto", limits))[2]
    pace.took("algorithm", "slow", 200, 1000.0)
    assert "left out" in outcome(solve_round(LARGE, Slow(), "auto", limits))[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endless(Policy):
    """A policy whose algorithm ends only if it is stopped, or if nobody would stop it."""

    name: str = "endless"

    def decide(self, round_: Round, seed: int) -> Decision:
        with suppress(TooLate):
            look_at_clock()
            return policy_from("srtf").decide(round_, seed)
        raise TooLate


def test_an_algorithm_that_does_not_end_is_stopped_and_then_left_out(
    pace: Pace, algorithm_only: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_answer.FirstAnswer, "_most_seconds", lambda _: -1.0)
    said = outcome(solve_round(LARGE, Endless(), "auto", Limits(seconds=0.5)))
    assert said == (
        "FEASIBLE",
        "TIME",
        "endless was stopped, as its time was over; who runs goes on, and who fits starts",
    )
    assert pace.was_stopped("algorithm", "endless", 200)
    assert "was left out" in outcome(solve_round(LARGE, Endless(), "auto", Limits(seconds=0.5)))[2]


def test_an_algorithm_that_is_stopped_runs_on_where_nothing_simple_keeps_the_rules(
    pace: Pace, algorithm_only: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_answer.FirstAnswer, "_most_seconds", lambda _: -1.0)
    monkeypatch.setattr(first_answer, "simple_decisions", lambda *_: iter(()))
    result = solve_round(LARGE, Endless(), "auto", Limits(seconds=0.5))
    assert result.answer == solve_round(LARGE, "srtf", "heuristic").answer


@pytest.mark.parametrize("policy", POLICIES)
def test_every_algorithm_that_may_take_long_looks_at_the_clock(policy: str) -> None:
    drawn = all_jobs(policy, jobs=30, nodes=2, rounds=1, seed=1)
    chosen = policy_from(policy)
    with stopped_after(None):
        chosen.decide(drawn, 0)
    if not policy.startswith("philly"):
        with pytest.raises(TooLate), stopped_after(-1.0):
            chosen.decide(drawn, 0)
    look_at_clock()  # nothing is raised outside


def test_a_step_that_was_stopped_is_tried_again_after_ever_more_rounds() -> None:
    pace = Pace()
    pace.took("algorithm", "fifo", 100, 0.5)
    pace.remember_stop("algorithm", "fifo", 100, 1.0)
    assert pace.expected("algorithm", "fifo", 100) == pytest.approx(2.0)
    pace.remember_stop("algorithm", "fifo", 100, 1.0)
    assert pace.expected("algorithm", "fifo", 100) == pytest.approx(4.0)
    for _ in range(20):
        pace.left_out("algorithm", "fifo", 100)
    assert pace.expected("algorithm", "fifo", 100) == pytest.approx(0.5 * FADING)
    assert pace.was_stopped("algorithm", "fifo", 100)
    pace.took("algorithm", "fifo", 100, 0.5)
    assert not pace.was_stopped("algorithm", "fifo", 100)


def test_deadlines_are_kept_with_the_least_shares_where_no_time_is_left() -> None:
    jobs = (
        gang(0, 1, scaling={1: 1.0, 2: 2.0, 4: 4.0}, remaining_iterations=100, deadline=60.0),
        gang(1, 1, scaling={1: 1.0, 2: 2.0, 4: 4.0}, remaining_iterations=100, deadline=30.0),
        gang(2, 1, scaling={1: 1.0, 2: 2.0}, remaining_iterations=100),
    )
    round_ = round_of([8], jobs)
    policy = policy_from("deadline")
    assert list(policy.starting(round_, 8)) == [(1, 4), (0, 2), (2, 1)]
    decision = completed(round_, policy.rules, next(iter(simple_decisions(policy, round_))))
    assert not broken_rules(round_, policy.rules, decision)
    assert decision.running == {"j0", "j1", "j2"}


def test_no_time_to_ask_what_changes_nobody(pace: Pace, no_solver: None) -> None:
    """In order j0 stops j1; that nobody is stopped is as good as nothing here, and is not even asked for."""
    round_ = round_of([4], [1, gang(1, 4, state="running", placement={"n0": 4})])
    pace.took("unchanged", "srtf", 2, 1e-9)
    asked = solve_round(round_, "srtf", "auto", Limits(seconds=0.0))
    assert asked.answer.running == {"j1"}
    pace.took("unchanged", "srtf", 2, 100.0)
    result = solve_round(round_, "srtf", "auto", Limits(seconds=0.0))
    assert result.answer.running == {"j0"}
    assert "no time was left to look whether all may go on as it is" in outcome(result)[2]


def test_time_for_a_bound_is_not_spent_on_what_changes_nobody(pace: Pace) -> None:
    """Both would end in time by themselves; an answer without a bound is worth less."""
    limits = Limits(seconds=60.0)
    asked = search.Search(round_=OPEN, policy=policy_from("srtf"), method="auto", limits=limits)
    for step, seconds in (("unchanged", 40.0), ("bound", 50.0)):
        pace.took(step, "srtf", len(OPEN.jobs), seconds)
    assert asked._unchanged(0) is None
    assert asked.cuts == ("no time was left to look whether all may go on as it is",)


def test_an_algorithm_that_overruns_any_budget_is_left_out_though_it_looks_at_the_clock(pace: Pace) -> None:
    round_, limits = generate("plans", jobs=20, nodes=3, seed=1), Limits(seconds=60.0)
    asked = search.Search(round_=round_, policy=policy_from("rubick"), method="auto", limits=limits)
    assert not asked._is_too_long(70.0)
    pace.took("overrun", "rubick", 20, 80.0)
    assert asked._is_too_long(70.0)


def test_an_expectation_fades_so_that_an_algorithm_is_tried_again(pace: Pace, no_solver: None) -> None:
    pace.took("algorithm", "srtf", 200, 1e6)
    assert "was left out" in outcome(solve_round(LARGE, "srtf", "auto", Limits(seconds=0.6)))[2]
    assert pace.expected("algorithm", "srtf", 200) == pytest.approx(FADING * 1e6)


@pytest.mark.parametrize(("method", "limits"), [("heuristic", Limits(seconds=0.5)), ("auto", Limits(work=0.1))])
def test_what_took_long_before_changes_nothing_without_a_clock(method: str, limits: Limits, pace: Pace) -> None:
    plain = solve_round(LARGE, "srtf", method, limits)
    for step in ("algorithm", "bound", "check"):
        pace.took(step, "srtf", 200, 1e6)
    again = solve_round(LARGE, "srtf", method, limits)
    assert (again.decision, again.value, again.bound, again.termination) == (
        plain.decision,
        plain.value,
        plain.bound,
        plain.termination,
    )


def test_prices_that_cannot_be_had_in_time_are_left_out(pace: Pace) -> None:
    """What can be counted the check of the answer asks for anyway, so that it is the bound."""
    pace.took("bound", "srtf", 200, 100.0)
    result = solve_round(LARGE, "srtf", "auto", Limits(seconds=0.5))
    assert result.certificate.feasible
    assert result.bound is not None
    assert "no time was left for prices; " in outcome(result)[2]


def test_a_quick_step_is_not_left_out_however_short_the_limit(monkeypatch: pytest.MonkeyPatch, no_solver: None) -> None:
    solve_round(OPEN, "srtf", "heuristic")  # all is loaded then, so that steps are quick
    monkeypatch.setattr(timed, "PACE", Pace())
    for _ in range(2):
        result = solve_round(OPEN, "srtf", "auto", Limits(seconds=0.0))
        assert result.bound is not None
        detail = "srtf had used up its time when it ended; no time left for a solver"
        assert outcome(result) == ("FEASIBLE", "TIME", detail)


def test_a_program_that_cannot_end_in_time_is_not_begun(pace: Pace, no_solver: None) -> None:
    assert program_of(policy_from("srtf").rules).work(LARGE) == pytest.approx(0.8)
    result = solve_round(LARGE, "srtf", "auto", Limits(work=0.5))
    assert outcome(result)[1] == "WORK"
    assert outcome(result)[2] == "the exact program was not begun: it takes about 0.8 units of work, and 0.5 are left"
    assert result.bound is not None


@pytest.mark.parametrize("policy", ["fifo", "srtf"])
def test_the_work_of_gangs_counts_nodes_that_differ_and_have_room(policy: str) -> None:
    program = program_of(policy_from(policy).rules)
    nodes = tuple(Node(id=f"n{place}", gpus=4) for place in range(5))
    limited = tuple(replace(node, cpus=8.0) for node in nodes)
    jobs = [gang(place, 2) for place in range(10)]
    plain, bound = (
        replace(TWO, cluster=replace(TWO.cluster, nodes=some), jobs=tuple(jobs)) for some in (nodes, limited)
    )
    assert program.work(plain) == pytest.approx(1e-4 * 10 * 1)
    assert program.work(bound) == pytest.approx(1e-4 * 10 * 5)
    full = round_of(limited, (*jobs, gang(10, 4, state="running", placement={"n0": 4})))
    assert program.work(full) == pytest.approx(1e-4 * 11 * (4 if policy == "fifo" else 5))


@more_examples(60)
@given(rounds())
def test_a_simple_decision_keeps_who_runs_and_the_rules_of_gangs(round_: Round) -> None:
    """Where quotas hold what runs already; else what runs may be too much for any decision that stops nobody."""
    rules = policy_from("srtf").rules
    simple = [completed(round_, rules, decision) for decision in simple_decisions(policy_from("srtf"), round_)]
    for decision in simple:
        assert not changes_anybody(round_, decision) or any(len(one.jobs) > 1 for one in decision.assignments)
        assert not changes(round_, decision).stop
        assert not changes(round_, decision).move
    *fuller, least = simple
    broken = {one.rule for one in broken_rules(round_, rules, least)}
    for decision in fuller:
        assert decision.running >= least.running
        assert {one.rule for one in broken_rules(round_, rules, decision)} <= broken


@pytest.mark.parametrize(
    ("family", "policy"),
    [("gangs", "srtf"), ("interleaving", "muri-l"), ("elastic", "afs-l"), ("plans", "rubick"), ("philly", "philly")],
)
def test_what_a_policy_decided_can_go_on_as_it_is(family: str, policy: str) -> None:
    """The simple decision of the round after a decision is that decision, and maybe more."""
    first = generate(family, jobs=30, nodes=4, seed=3)
    first = replace(first, jobs=tuple(replace(job, state="waiting", placement=None) for job in first.jobs))
    decision = solve_round(first, policy, "heuristic").answer
    then, rules = after(first, decision), policy_from(policy).rules
    simple = [completed(then, rules, one) for one in simple_decisions(policy_from(policy), then)]
    good = [one for one in simple if not broken_rules(then, rules, one)]
    assert good
    assert good[0].running >= decision.running


@more_examples(40)
@given(rounds(), st.sampled_from(["srtf", "fifo"]))
def test_who_is_changed_is_who_is_stopped_or_moved(round_: Round, policy: str) -> None:
    decision = solve_round(round_, policy, "heuristic").answer
    counts = changes(round_, decision).counts
    assert changes_anybody(round_, decision) == any(counts.get(kind) for kind in ("stop", "move", "resize", "regroup"))


def test_an_audit_asks_once_for_each_decision_and_agrees_with_verify(monkeypatch: pytest.MonkeyPatch) -> None:
    from muri_opt.verify.gangs.chapter import GangChapter

    asked: list[tuple[str, int]] = []

    def counted(name: str) -> Callable[..., object]:
        plain = getattr(GangChapter, name)

        def call(chapter: GangChapter, decision: Decision, *rest: object) -> object:
            asked.append((name, id(decision)))
            return plain(chapter, decision, *rest)

        return call

    for name in ("breaches", "value"):
        monkeypatch.setattr(GangChapter, name, counted(name))
    result = solve_round(TWO, "srtf", "auto", Limits(gap=1e6))
    assert asked.count(("breaches", id(result.decision))) == 1
    assert verify(TWO, result) == result.certificate
    audit, rules = Audit(TWO, result.rules), result.rules
    for decision in (result.answer, Decision(), replace(result.answer, waiting=())):
        assert audit.breaches(decision) is audit.breaches(decision)
        assert audit.breaches(decision) == broken_rules(TWO, rules, decision)


def test_a_pace_is_that_of_rounds_of_about_the_size() -> None:
    pace = Pace()
    assert (pace.expected("bound", "fifo", 100), pace.expected("bound", "fifo", 100, usual=0.5)) == (0.0, 50.0)
    pace.took("bound", "fifo", 100, 2.0)
    assert pace.expected("bound", "fifo", 120, usual=9.0) == pytest.approx(2.4)
    assert pace.expected("bound", "fifo", 1000) == pace.expected("bound", "srtf", 100) == 0.0
    pace.took("bound", "fifo", 100, 4.0)
    assert pace.expected("bound", "fifo", 100) == pytest.approx(3.0)
    pace.left_out("bound", "fifo", 100)
    assert pace.expected("bound", "fifo", 100) == pytest.approx(3.0 * FADING)


def test_by_default_a_policy_runs_to_its_end_whatever_its_budget() -> None:
    none, free = Budget(limits=Limits(seconds=0.0)), Budget(limits=Limits(work=1.0))
    for name in ("fifo", "srtf"):
        policy = policy_from(name)
        assert policy.decide_within(TWO, 0, none) == policy.decide(TWO, 0)
    assert (none.deadline, free.deadline) == (none.began, inf)
