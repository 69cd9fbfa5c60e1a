"""Plans of parts of two sizes: brute force, program and verifier agree, and decisions keep the rules."""

from __future__ import annotations

import numpy as np
import pytest
from asked_plan_rounds import GROUPS
from by_policy import broken_rules, decision_value, enumerated_optimum, proved_bound, wrong_reasons
from planning_rounds import rules_for
from seeds import some_then_all
from uneven_plan_rounds import EveryUnevenChoice, uneven_plan_round

from muri_opt import Cluster, Job, Node, Plan, RefusalError, Round, policy_from, solve_round, verify
from muri_opt.modelling import evaluate
from muri_opt.systems import program_of
from muri_opt.systems.plans import PlanRules
from muri_opt.systems.plans.allocation import PlanAllocation
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.plans.plan_rules import rules_of_plans
from muri_opt.systems.rubick.slopes import Curves

SEEDS = 3
POLICIES = ("rubick", "rubick:gate=0", "sia:change=both", "srs", "equal-share")
NAMED = ("synergy", "antman", "sia", "rubick:change=neither")


def uneven_rules(seed: int) -> PlanRules:
    """Return the rules of a seed, now and then by completions."""
    rules = rules_for(seed)
    if rules.reference == "requested":
        rules = PlanRules(change=rules.change, horizon=rules.horizon)
    return PlanRules(change=rules.change, objective="completions") if seed % 3 == 2 else rules


def policy_of(rules: PlanRules) -> str:
    """Return a policy of these rules."""
    if rules.objective == "completions":
        return f"srs:change={rules.change}"
    if rules.power is not None:
        return f"sia:change={rules.change},power={rules.power}"
    return f"rubick:change={rules.change},horizon={rules_of_plans(rules)['horizon']}"


def checked(seed: int, group: str) -> None:
    round_, rules = uneven_plan_round(seed, group), uneven_rules(seed)
    spec = policy_of(rules)
    best = EveryUnevenChoice(round_, rules).best()
    assert enumerated_optimum(round_, spec, steps=2_000_000) == best, (seed, group)
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
    model, point = program.build(round_), program.encode(round_, found)
    assert evaluate(model, point).broken == ()
    back = program.decode(round_, point)
    assert back.running == found.running
    assert decision_value(round_, spec, back) >= decision_value(round_, spec, found)
    if best is not None:
        assert decision_value(round_, spec, found) <= best
        duals = program.quick_duals(round_)
        bound = proved_bound(round_, spec, found, () if duals is None else (duals,))
        assert bound is None or bound[0] >= best


@pytest.mark.parametrize("group", GROUPS)
@some_then_all(SEEDS, 130)
def test_brute_force_equals_program_and_verifier_with_uneven_plans(seeds: range, group: str) -> None:
    for seed in seeds:
        checked(seed, group)


@pytest.mark.parametrize("group", GROUPS)
def test_no_policy_breaks_a_rule_with_uneven_plans(group: str) -> None:
    for seed in range(SEEDS, 2 * SEEDS):
        round_ = uneven_plan_round(seed, group)
        named = all(job.plan is not None for job in round_.jobs)
        for spec in (*POLICIES, *(NAMED if named else ())):
            keeps_rules(round_, spec)


@pytest.mark.parametrize("spec", ["aiturbo", "optimus-ps"])
def test_policies_that_step_from_plan_to_plan_refuse_uneven_plans(spec: str) -> None:
    round_ = uneven_plan_round(0, "labels")
    assert set(round_.used_fields) == {"plan.nodes"}
    with pytest.raises(RefusalError, match=r"plan\.nodes"):
        solve_round(round_, spec, "heuristic")


def test_larger_parts_are_on_the_first_nodes_of_a_placement() -> None:
    plan = Plan(name="dp3", gpus=3, nodes=2, cpus=3.0, throughput=3.0)
    held = {"n1": 2, "n0": 1}
    job = Job(id="a", gpus=3, plan="dp3", plans=(plan,), state="running", placement=held)
    boxes = tuple(Node(id=f"n{s}", gpus=2, cpus=2.0) for s in range(3))
    round_ = Round(cluster=Cluster(nodes=boxes), jobs=(job,))
    options = PlanOptions.of(round_, PlanRules())
    home, away = (int(np.flatnonzero(options.home >= 0)[0]), int(np.flatnonzero(options.home < 0)[0]))
    allocation = PlanAllocation(round_, options)
    assert allocation.settled(away, np.array([1, 0])) == home
    assert allocation.settled(away, np.array([0, 1])) == away
    curves = Curves(options)
    assert [curves.on(away, np.array([1, 0]), node) for node in (0, 1)] == [(1, 1000, 0), (2, 2000, 0)]
    allocation.take(0, away, np.array([2, 0]))
    assert allocation.free.left[:2].tolist() == [[1, 2, 0], [1000, 2000, 0]]
    assert allocation.free.fits(away) is True
    one_left = PlanAllocation(round_, options).free
    one_left.occupy(slice(None), 1, 0, 0)
    assert one_left.fits(away) is False
