"""Fields of format 2 under the plan policies: brute force, program and verifier agree, and decisions keep rules."""

from __future__ import annotations

import pytest
from asked_plan_rounds import (
    GROUPS,
    EveryAskedChoice,
    EveryAskedConfiguration,
    asked_configuration_round,
    asked_plan_round,
)
from by_policy import broken_rules, decision_value, enumerated_optimum, proved_bound, wrong_reasons
from hypothesis import given, strategies as st
from more_examples import more_examples
from planning_rounds import rules_for
from seeds import some_then_all

from muri_opt import InputError, RefusalError, Round, policy_from, solve_round, verify
from muri_opt.modelling import evaluate
from muri_opt.systems import program_of
from muri_opt.systems.plans import PlanRules
from muri_opt.systems.plans.plan_rules import rules_of_plans
from muri_opt.testing import demanding_rounds, full_rounds

SEEDS = 4
POLICIES = ("rubick", "sia:change=both", "equal-share", "srs")
CONFIGURATIONS = (
    "aiturbo",
    "optimus-ps",
    "aiturbo:objective=time,switch=off",
    "optimus-ps:switch=on",
    "aiturbo:step=off",
)
NAMED = ("synergy", "antman", "sia", "rubick:change=neither")


def asked_rules(seed: int) -> PlanRules:
    """Return the rules of a seed, now and then by completions."""
    rules = rules_for(seed)
    return PlanRules(change=rules.change, objective="completions") if seed % 3 == 2 else rules


def policy_of(rules: PlanRules) -> str:
    """Return a policy of these rules."""
    if rules.objective == "completions":
        return f"srs:change={rules.change}"
    if rules.power is not None:
        return f"sia:change={rules.change},power={rules.power}"
    horizon = rules_of_plans(rules)["horizon"]
    return f"rubick:change={rules.change},reference={rules.reference},horizon={horizon}"


def checked(seed: int, group: str) -> None:
    round_, rules = asked_plan_round(seed, group), asked_rules(seed)
    spec = policy_of(rules)
    best = EveryAskedChoice(round_, rules).best()
    assert enumerated_optimum(round_, spec, steps=500_000) == best
    result = solve_round(round_, spec, "exact")
    assert result.value == best, (seed, group)
    assert result.certificate.violations == ()
    assert verify(round_, result).violations == ()
    keeps_rules(round_, spec, best)


def keeps_rules(round_: Round, spec: str, best: int | None = None) -> None:
    """Check that the algorithm breaks no rule, is true in its reasons, and no better than the best."""
    policy = policy_from(spec)
    found = policy.decide(round_, 0)
    assert broken_rules(round_, found, spec) == []
    assert wrong_reasons(round_, found, spec) == []
    program = program_of(policy.rules)
    point = program.encode(round_, found)
    assert evaluate(program.build(round_), point).broken == ()
    assert program.decode(round_, point).running == found.running
    if best is not None:
        assert decision_value(round_, spec, found) <= best
        duals = program.quick_duals(round_)
        bound = proved_bound(round_, spec, found, () if duals is None else (duals,))
        assert bound is None or bound[0] >= best


@pytest.mark.parametrize("group", GROUPS)
@some_then_all(SEEDS, 150)
def test_brute_force_equals_program_and_verifier(seeds: range, group: str) -> None:
    for seed in seeds:
        checked(seed, group)


def checked_configurations(seed: int, group: str) -> None:
    round_, spec = asked_configuration_round(seed, group), CONFIGURATIONS[seed % len(CONFIGURATIONS)]
    best = EveryAskedConfiguration(round_, policy_from(spec).plan_rules).best()
    assert enumerated_optimum(round_, spec, steps=500_000) == best
    result = solve_round(round_, spec, "exact")
    assert result.value == best, (seed, group)
    assert verify(round_, result).violations == ()
    keeps_rules(round_, spec, best)


@pytest.mark.parametrize("group", GROUPS)
@some_then_all(SEEDS, 130)
def test_brute_force_equals_program_and_verifier_for_configurations(seeds: range, group: str) -> None:
    for seed in seeds:
        checked_configurations(seed, group)


@pytest.mark.parametrize("group", GROUPS)
def test_no_policy_breaks_a_rule(group: str) -> None:
    for seed in range(SEEDS, 2 * SEEDS):
        round_ = asked_plan_round(seed, group)
        named = all(job.plan is not None for job in round_.jobs)
        for spec in (*POLICIES, *(NAMED if named else ())):
            keeps_rules(round_, spec)


FAMILIES = {
    "rubick": "plans",
    "sia": "plans",
    "srs": "plans",
    "antman": "plans",
    "synergy": "plans",
    "equal-share": "plans",
    "aiturbo": "configurations",
    "optimus-ps": "configurations",
}


@st.composite
def demanding_cases(draw: st.DrawFn) -> tuple[str, Round]:
    policy = draw(st.sampled_from(sorted(FAMILIES)))
    honoured = policy_from(policy).honours
    return policy, draw(demanding_rounds(full_rounds(FAMILIES[policy]), fields=honoured))


def refused(policy: str, round_: Round) -> bool:
    """Return whether a level is only preferred, or a job has to go on in a way that it does not have."""
    try:
        policy_from(policy).check(round_)
    except RefusalError as error:
        return "within.required" in str(error)
    except InputError as error:
        return "as it is" in str(error)
    return False


@given(demanding_cases())
@more_examples(40)
def test_with_all_that_is_honoured_no_rule_is_broken(case: tuple[str, Round]) -> None:
    policy, round_ = case
    if refused(policy, round_):
        return
    decision = policy_from(policy).decide(round_, 0)
    assert broken_rules(round_, decision, policy) == []
    assert wrong_reasons(round_, decision, policy) == []
