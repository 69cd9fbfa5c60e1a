"""Plans by what throughput is worth for completion times: the formula, the optimum, the verifier's own numbers."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from by_policy import broken_rules, decision_value, formulation_of, settings_of
from msgspec.structs import replace
from planning_rounds import EveryChoice, plan_round, planned, random_plan_round
from seeds import some_then_all

from muri_opt import Assignment, Decision, Guarantee, InputError, Limits, Plan, Round, policy_from, solve_round, verify
from muri_opt.solve.exact import optimise
from muri_opt.systems.plans import PlanningFormulation, PlanOptions, PlanRules
from muri_opt.verify.plans.optimum import planned_optimum
from muri_opt.verify.plans.plan_choices import PlanChoices
from muri_opt.verify.plans.value import Planned

FOREVER = Limits(seconds=None)
SPECS = (
    "rubick:objective=completion",
    "rubick:objective=completion-attained,horizon=90",
    "sia:objective=completion",
    "rubick:objective=completion,restarts=gate",
)
RULES = PlanRules(objective="completion", horizon=300_000_000)


def drawn(seed: int) -> Round:
    """Return a round of jobs that say how long they are, seconds or hours, and what they have had."""
    round_, rng = random_plan_round(seed), Random(seed)
    jobs = []
    for job in round_.jobs:
        left, had = rng.randint(1, 30) * rng.choice((1, 5, 20, 400)), float(rng.randint(0, 5))
        restart = rng.choice((job.restart_seconds, 2.5))
        jobs.append(replace(job, remaining_iterations=left, attained_gpu_seconds=had, restart_seconds=restart))
    return replace(round_, jobs=tuple(jobs))


def running(left: int, restart: float, **fields: object) -> Round:
    """Return a job on one GPU of two, with which it would be half as fast again, and no other."""
    plans = tuple(Plan(name=f"dp{gpus}", gpus=gpus, throughput=rate) for gpus, rate in ((1, 1.0), (2, 1.5)))
    now = {"state": "running", "placement": {"n0": 1}, "executed_seconds": 1e6, "attained_gpu_seconds": 1e6}
    job = planned(0, *plans, remaining_iterations=left, restart_seconds=restart, **now)
    return plan_round([2], [replace(job, **fields)])


@pytest.mark.parametrize("spec", SPECS)
@some_then_all(14, 60)
def test_the_program_finds_the_optimum_that_the_verifier_enumerates(seeds: range, spec: str) -> None:
    proved = 0
    for seed in seeds:
        round_, policy = drawn(seed), policy_from(spec)
        try:
            policy.check(round_)
        except InputError:
            continue
        best = planned_optimum(round_, PlanChoices.of(round_, settings_of(spec)), steps=20_000)
        heuristic = policy.decide(round_, 0)
        assert broken_rules(round_, heuristic, spec) == []
        if best is None:
            continue
        answer = optimise(round_, formulation_of(policy), "highs", FOREVER, None)
        assert decision_value(round_, spec, answer.decision) == best >= decision_value(round_, spec, heuristic)
        assert broken_rules(round_, answer.decision, spec) == []
        proved += 1
    assert 3 * proved >= len(seeds)


def test_throughput_counts_by_the_price_at_the_end_of_the_job() -> None:
    plans = (Plan(name="a", gpus=1, nodes=1, throughput=2.0), Plan(name="b", gpus=2, nodes=1, throughput=3.0))
    one = (Plan(name="a", gpus=1, nodes=1, throughput=1.0),)
    jobs = [planned(0, *plans, remaining_iterations=4), *(planned(k, *one, remaining_iterations=9) for k in (1, 2))]
    round_ = plan_round([2], jobs)
    options = PlanOptions.of(round_, policy_from("rubick:objective=completion").plan_rules)
    # Two jobs are longer, on two GPUs: lambda is 1. A unit of work is worth min((1 + 1) / 2, (1 + 2) / 3) = 1.
    assert dict(zip(options.plan[options.job == 0].tolist(), options.e[options.job == 0].tolist(), strict=True)) == {
        0: 2_000_000,
        1: 3_000_000,
    }
    assert set(options.e[options.job > 0].tolist()) == {1_000_000}
    by_had = policy_from("rubick:objective=completion-attained").plan_rules
    had = plan_round([2], [replace(job, attained_gpu_seconds=float(-k + 2)) for k, job in enumerate(jobs)])
    worth = PlanOptions.of(had, by_had)
    # The first is expected to need twice as much as the others, which need a second each as far as anybody can tell:
    # each of them is behind it with the chance of a third, and it behind them with that of two thirds.
    assert [int(worth.e[worth.job == k].max()) for k in range(3)] == [1_666_000, 1_583_000, 1_583_000]
    assert Fraction(int(worth.e[0]), int(worth.e[1])) == Fraction(1_110_666, 1_666_000)


def test_promises_stay_above_it_and_results_are_verified() -> None:
    plans = (Plan(name="a", gpus=2, nodes=1, throughput=1.0),)
    promised = planned(0, *plans, remaining_iterations=10**6, guarantee=Guarantee(throughput=1.0))
    round_ = plan_round([2], [planned(1, *plans, remaining_iterations=1), promised])
    for spec in SPECS[:3:2]:
        result = solve_round(round_, spec, "auto", FOREVER)
        assert result.answer.running == {"j0"}
        assert result.rules["objective"] == "completion"
        assert verify(round_, result).feasible


def test_jobs_of_unknown_length_are_named() -> None:
    round_ = plan_round([1], [planned(0, Plan(name="a", gpus=1, nodes=1, throughput=1.0))])
    for spec, field in (("rubick:objective=completion", "remaining_iterations"), (SPECS[1], "attained_gpu_seconds")):
        with pytest.raises(InputError, match=rf"^jobs\[0\] \('j0'\)\.{field}"):
            policy_from(spec).decide(round_, 0)


@pytest.mark.parametrize(
    ("spec", "left", "restart", "moved"),
    [
        (SPECS[0], 9000, 60.0, 900_000),
        (SPECS[0], 900, 60.0, 900_000),
        (SPECS[0], 450, 60.0, 800_000),  # what it has left takes 300 s by two GPUs, less than the horizon
        (SPECS[0], 100, 30.0, 549_999),  # 66.666666 s
        (SPECS[0], 90, 60.0, 0),
        (SPECS[0], 3, 30.0, 0),
        (SPECS[0], 0, 30.0, 0),
        (SPECS[0], 0, 0.0, 1_000_000),
        ("rubick:objective=completion,horizon=50", 9000, 10.0, 800_000),
        ("sia:objective=completion", 450, 60.0, 800_000),
        ("rubick:objective=completion-attained", 3, 60.0, 900_000),
        ("rubick", 3, 60.0, 900_000),
    ],
)
def test_a_restart_is_charged_out_of_what_a_job_of_known_length_has_left(
    spec: str, left: int, restart: float, moved: int
) -> None:
    round_ = running(left, restart)
    options = PlanOptions.of(round_, policy_from(spec).plan_rules)
    values = {(plan, home >= 0): e for plan, home, e in zip(options.plan, options.home, options.e, strict=True)}
    assert (values[0, True], values[1, False]) == (666_666, moved)
    grown = Decision(assignments=(Assignment(jobs=("j0",), plan="dp2", gpus={"n0": 2}),))
    assert decision_value(round_, spec, grown) == moved


def test_who_may_not_restart_is_worth_nothing_by_a_restart_however_short_it_is() -> None:
    for spec, worth in (("rubick:objective=completion,restarts=gate", 0), ("rubick:objective=completion", 800_000)):
        round_ = running(450, 60.0, executed_seconds=100.0)
        options = PlanOptions.of(round_, policy_from(spec).plan_rules)
        assert int(options.e[options.plan == 1].max()) == worth


@pytest.mark.parametrize("method", ["heuristic", "exact"])
@pytest.mark.parametrize("policy", ["rubick", "sia"])
def test_a_short_job_is_not_resized_and_a_long_one_is(policy: str, method: str) -> None:
    found = {}
    for left, restart in ((2, 30.0), (44, 10.0), (46, 10.0), (9000, 10.0), (9000, 300.0)):
        result = solve_round(running(left, restart), f"{policy}:objective=completion", method, FOREVER)
        assert verify(running(left, restart), result).feasible
        (one,) = result.answer.assignments
        found[left, restart] = one.plan
    # With two GPUs 46 iterations take 10 s and 30.7 s, with one 46 s. A restart may take a third of what two need.
    assert found == {(2, 30.0): "dp1", (44, 10.0): "dp1", (46, 10.0): "dp2", (9000, 10.0): "dp2", (9000, 300.0): "dp1"}


@pytest.mark.parametrize("spec", SPECS[:3:2])
def test_no_job_that_is_alone_ends_later_by_a_change(spec: str) -> None:
    changed = 0
    for seed in range(60):
        round_ = drawn(seed)
        for job in round_.jobs:
            now = next((plan for plan in job.plans or () if plan.name == job.plan), None)
            if job.state != "running" or job.guarantee is not None or now is None:
                continue
            alone = replace(round_, jobs=(job,))
            for one in policy_from(spec).decide(alone, 0).assignments:
                then = [plan.throughput for plan in job.plans or () if plan.name == one.plan]
                if one.plan == job.plan or len(then) != 1:
                    continue
                changed += 1
                takes = (job.restart_seconds or 0.0) + job.remaining_iterations / then[0]
                assert takes <= job.remaining_iterations / now.throughput
    assert changed


@some_then_all(14, 120)
def test_the_program_finds_what_trying_everything_finds(seeds: range) -> None:
    shorter = 0
    for seed in seeds:
        round_ = drawn(seed)
        best = EveryChoice(round_, RULES).best()
        options = PlanOptions.of(round_, RULES)
        assert optimise(round_, PlanningFormulation(rules=RULES), "highs", FOREVER, None).bound == best, seed
        ways = PlanChoices.of(round_, Planned(change="both", objective="completion", horizon=RULES.horizon)).ways
        for place, mine in enumerate(ways):
            told = sorted({value for way in mine for value in (way.away, way.home) if value is not None})
            e = options.e[options.job == place] - options.served * options.guaranteed[place]
            assert sorted(set(e.tolist())) == told
        shorter += any(job.remaining_iterations < 300 and job.restart_seconds for job in round_.jobs)
    assert shorter
