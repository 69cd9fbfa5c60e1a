"""Plans by what throughput is worth for completion times: the formula, the optimum, the verifier's own numbers."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from by_policy import broken_rules, decision_value, formulation_of, settings_of
from msgspec.structs import replace
from planning_rounds import plan_round, planned, random_plan_round
from seeds import some_then_all

from muri_opt import Guarantee, InputError, Limits, Plan, Round, policy_from, solve_round, verify
from muri_opt.solve.exact import optimise
from muri_opt.systems.plans import PlanOptions
from muri_opt.verify.plans.optimum import planned_optimum
from muri_opt.verify.plans.plan_choices import PlanChoices

FOREVER = Limits(seconds=None)
SPECS = ("rubick:objective=completion", "rubick:objective=completion-attained,horizon=90", "sia:objective=completion")


def drawn(seed: int) -> Round:
    """Return a round of jobs that say how long they are and what they have had."""
    round_, rng = random_plan_round(seed), Random(seed)
    jobs = (
        replace(job, remaining_iterations=rng.randint(1, 30), attained_gpu_seconds=float(rng.randint(0, 5)))
        for job in round_.jobs
    )
    return replace(round_, jobs=tuple(jobs))


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
    for spec in SPECS[::2]:
        result = solve_round(round_, spec, "auto", FOREVER)
        assert result.answer.running == {"j0"}
        assert result.rules["objective"] == "completion"
        assert verify(round_, result).feasible


def test_jobs_of_unknown_length_are_named() -> None:
    round_ = plan_round([1], [planned(0, Plan(name="a", gpus=1, nodes=1, throughput=1.0))])
    for spec, field in (("rubick:objective=completion", "remaining_iterations"), (SPECS[1], "attained_gpu_seconds")):
        with pytest.raises(InputError, match=rf"^jobs\[0\] \('j0'\)\.{field}"):
            policy_from(spec).decide(round_, 0)
