"""Where the first bound would be late, prices from a sample take its place; and time is kept for what follows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from handmade import round_of
from msgspec.structs import replace

from muri_opt import Cluster, Limits, Node, policy_from, solve_round, verify
from muri_opt.algorithms.knapsack import lagrangian
from muri_opt.algorithms.knapsack.options import Options
from muri_opt.rounds import Budget
from muri_opt.rounds.generate.families import generate
from muri_opt.rounds.generate.portable_random import Draws
from muri_opt.rounds.next_round import after
from muri_opt.solve import timed
from muri_opt.solve.pace import FADING, FIRST_FADES, Pace
from muri_opt.solve.search import Search
from muri_opt.solve.simple_decision import changes_anybody, simple_decisions
from muri_opt.systems import program_of
from muri_opt.verify import broken_rules, chapter_of, completed

GANGS = generate("gangs", jobs=30, nodes=4, seed=1)
LONG = Limits(seconds=60.0)
"""So that a slow machine does not come near."""


@pytest.fixture
def pace(monkeypatch: pytest.MonkeyPatch) -> Pace:
    fresh = Pace()
    monkeypatch.setattr(timed, "PACE", fresh)
    for step in ("run_directly", "run_exact"):
        monkeypatch.setattr(Search, step, lambda *_: None)
    return fresh


@pytest.mark.parametrize(("policy", "family"), [("rubick", "plans"), ("joint-s", "elastic")])
def test_a_bound_that_may_be_late_is_that_of_a_sample(
    policy: str, family: str, pace: Pace, monkeypatch: pytest.MonkeyPatch
) -> None:
    round_, rules = generate(family, jobs=40, nodes=4, seed=2), policy_from(policy).rules
    asked, program = list[str](), type(program_of(rules))

    def told(name: str) -> Callable[..., object]:
        plain = getattr(program, name)

        def call(*given: object) -> object:
            asked.append(name)
            return plain(*given)

        return call

    for name in ("quick_duals", "hurried_duals"):
        monkeypatch.setattr(program, name, told(name))
    first = solve_round(round_, policy, "auto", LONG)
    assert {*asked} == {"quick_duals"}
    asked.clear()
    pace.took("bound", policy, 40, 100.0)
    again = solve_round(round_, policy, "auto", LONG)
    assert {*asked} == {"hurried_duals"}
    for result in (first, again):
        assert verify(round_, result).feasible
        assert result.bound is not None
        assert result.value is not None
        assert result.bound >= result.value
    asked.clear()
    for limits in (Limits(work=5.0), Limits(seconds=None)):
        solve_round(round_, policy, "auto", limits)
    solve_round(round_, policy, "heuristic", LONG)
    assert {*asked} == {"quick_duals"}


@pytest.mark.parametrize(("policy", "family"), [("afs-l", "elastic"), ("rubick", "plans")])
def test_a_hurried_bound_is_that_of_prices_alone(policy: str, family: str, pace: Pace) -> None:
    """What is counted beside them proves no less, and takes longer."""
    round_, rules = generate(family, jobs=40, nodes=4, seed=2), policy_from(policy).rules
    pace.took("bound", policy, 40, 100.0)
    result = solve_round(round_, policy, "auto", LONG)
    (duals,) = result.certificate.evidence
    chapter = chapter_of(round_, rules)
    assert (result.bound, result.certificate.proof) == chapter.quick_bound(result.answer, [duals])
    assert result.bound >= chapter.bound(result.answer, [duals])[0]
    assert verify(round_, result).feasible
    assert chapter.quick_bound(result.answer, []) == chapter.bound(result.answer, [])


@pytest.mark.parametrize(
    ("policy", "family", "jobs"), [("rubick", "plans", 700), ("joint-s:restarts=pay", "elastic", 2500)]
)
def test_prices_of_a_sample_prove_nearly_as_much(policy: str, family: str, jobs: int) -> None:
    round_, rules = generate(family, jobs=jobs, nodes=40, seed=3), policy_from(policy).rules
    program = program_of(rules)
    (decision, *_) = simple_decisions(policy_from(policy), round_)
    duals = program.quick_duals(round_), program.hurried_duals(round_)
    every, some = (chapter_of(round_, rules).bound(decision, [one])[0] for one in duals)
    assert 0 < some < 1.02 * every
    assert duals[0] != duals[1]


def test_a_sample_of_many_options_prices_nearly_as_well_and_few_are_all_looked_at() -> None:
    draws = Draws(4)
    for jobs, same in ((3000, False), (100, True)):
        job = [place // 4 for place in range(4 * jobs)]
        use = [[1 << (place % 4), 1 + int(more)] for place, more in enumerate(draws.below(4 * jobs, 9))]
        value = [int(one) * (1 + place % 4) for place, one in enumerate(draws.below(4 * jobs, 1000))]
        options = Options.of(job, value, use, [jobs, 2 * jobs], jobs=jobs)
        every, some = lagrangian(options), lagrangian(options, sampled=True)
        assert every.bound <= some.bound <= 1.01 * every.bound
        assert (every.prices == some.prices) == same


def test_nothing_is_counted_where_even_prices_in_a_hurry_are_late(pace: Pace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting takes longer than they do, and the last check then looks for no bound either."""
    for step in ("run_directly", "run_exact"):
        monkeypatch.setattr(Search, step, lambda *_: None)
    round_ = generate("elastic", jobs=40, nodes=4, seed=2)
    for step in ("bound", "hurried bound"):
        pace.took(step, "afs-l", 40, 1e6)
    result = solve_round(round_, "afs-l", "auto", LONG)
    assert result.certificate.feasible
    assert (result.bound, "no time was left for a bound" in result.termination.detail) == (None, True)


def test_an_algorithm_has_less_time_by_what_follows_it_and_a_quarter_at_least(pace: Pace) -> None:
    search = Search(
        round_=generate("gangs", jobs=30, nodes=4, seed=1), policy=policy_from("srtf"), method="auto", limits=LONG
    )
    assert search.left_for_algorithm().seconds == pytest.approx(60.0, abs=5.0)
    for step in ("overrun", "rules", "unchanged", "bound"):
        pace.took(step, "srtf", 30, 10.0)
    assert search.left_for_algorithm().seconds == pytest.approx(20.0, abs=5.0)
    pace.took("hurried bound", "srtf", 30, 1.0)
    assert search.left_for_algorithm().seconds == pytest.approx(29.0, abs=5.0)
    pace.took("overrun", "srtf", 30, 1e6)
    assert search.left_for_algorithm().seconds == pytest.approx(15.0, abs=2.0)
    search.limits = Limits(work=3.0)
    assert search.left_for_algorithm().seconds is None


def test_an_overrun_is_what_an_algorithm_takes_beyond_its_budget(pace: Pace) -> None:
    search = Search(
        round_=generate("gangs", jobs=30, nodes=4, seed=1), policy=policy_from("srtf"), method="auto", limits=LONG
    )
    search.remember_overrun(Budget(limits=Limits(seconds=2.0)), 1.5)
    search.remember_overrun(Budget(limits=Limits(work=2.0)), 1.5)
    assert search.expected("overrun") == 0.0
    search.remember_overrun(Budget(limits=Limits(seconds=2.0)), 2.5)
    assert search.expected("overrun") == pytest.approx(0.5)


def test_an_expectation_fades_to_little_less_than_a_step_ever_took() -> None:
    pace = Pace()
    pace.left_out("bound", "fifo", 100)
    assert pace.expected("bound", "fifo", 100, usual=0.5) == 50.0
    pace.took("bound", "fifo", 100, 2.0)
    for _ in range(9):
        pace.left_out("bound", "fifo", 100)
    assert pace.expected("bound", "fifo", 100) == pytest.approx(2.0 * FIRST_FADES)
    for seconds in (4.0, 9.0):
        pace.took("bound", "fifo", 100, seconds)
    for _ in range(20):
        pace.left_out("bound", "fifo", 100)
    assert pace.expected("bound", "fifo", 100) == pytest.approx(2.0 * FADING)


@pytest.mark.parametrize("policy", ["rubick", "sia", "aiturbo", "joint-s", "joint-l"])
def test_the_answer_without_search_starts_jobs_and_keeps_the_rules(policy: str) -> None:
    """Half of what the algorithm runs goes on; those that fit beside start, and nobody who runs is changed."""
    one = policy_from(policy)
    family = "plans" if one.chapter == "planning" else "configurations" if one.chapter == "configuration" else "elastic"
    first = generate(family, jobs=40, nodes=6, seed=5)
    plan = (lambda job: job.plan or job.plans[0].name) if first.jobs[0].plans else (lambda job: job.plan)
    jobs = tuple(replace(job, state="waiting", placement=None, plan=plan(job)) for job in first.jobs)
    first = replace(first, jobs=jobs)
    then = after(first, solve_round(first, policy, "heuristic").answer)
    running = [job.id for job in then.jobs if job.state == "running"]
    assert len(running) > 3
    stopped = set(running[::2])
    jobs = tuple(replace(job, state="waiting", placement=None) if job.id in stopped else job for job in then.jobs)
    half = replace(then, jobs=jobs)
    draft = next(simple_decisions(one, half))
    decision = draft if draft.waiting else completed(half, one.rules, draft)
    assert not broken_rules(half, one.rules, decision)
    assert not changes_anybody(half, decision)
    assert len(decision.running) > len(running) - len(stopped)


def test_joint_jobs_start_by_what_they_are_worth_for_a_gpu() -> None:
    round_ = generate("elastic", jobs=30, nodes=2, seed=8)
    round_ = replace(round_, jobs=tuple(replace(job, state="waiting", placement=None) for job in round_.jobs))
    policy = policy_from("joint-s")
    started = policy.starting(round_, 16)
    assert sum(gpus for _, gpus in started) <= 16
    order = [job for job, _ in started]
    assert len(set(order)) == len(order) > 4
    assert policy.starting(round_, 0) == ()
    urgent = replace(round_, jobs=tuple(replace(job, priority=place % 2) for place, job in enumerate(round_.jobs)))
    sorted_by = [urgent.jobs[job].priority for job, _ in policy.starting(urgent, 16)]
    assert sorted_by == sorted(sorted_by, reverse=True)
    empty = Cluster(nodes=(Node(id="n0", gpus=0),))
    assert not next(simple_decisions(policy, replace(round_, cluster=empty))).assignments


def test_how_large_a_program_is_is_not_asked_where_that_takes_too_long(
    pace: Pace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(timed, "PACE", pace)
    round_ = round_of([4], [1, 4])
    assert solve_round(round_, "srtf", "auto", LONG).termination.reason == "OPTIMAL"
    pace.took("work", "srtf", 2, 1e6)
    told = solve_round(round_, "srtf", "auto", LONG).termination
    assert (told.limit, told.detail) == ("TIME", "no time left to tell how large the program is")
    assert solve_round(round_, "srtf", "auto", Limits(work=5.0)).termination.reason == "OPTIMAL"
