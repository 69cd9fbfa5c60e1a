"""The best choice by GPUs alone: what it is worth, and when it is the best decision."""

import numpy as np
from by_policy import enumerated_optimum, settings_of
from handmade import round_of
from hypothesis import given
from more_examples import more_examples
from packing_rounds import SOLVE, packing_rounds, value_of
from plan_rounds import planning_policies, result_of, rules_for

from muri_opt import Job, Plan, verify
from muri_opt.rounds import unlimited
from muri_opt.solve.solvers import relaxation
from muri_opt.systems.plans import FreeNodes, PlanOptions, PlanRules, plan_decision
from muri_opt.systems.plans.node_patterns import pack
from muri_opt.systems.plans.node_patterns.gpus_only import best_by_gpus, placed_by_gpus
from muri_opt.verify.plans.counting import counted_plans
from muri_opt.verify.plans.plan_choices import PlanChoices


def job(name, *plans):
    return Job(id=name, gpus=1, plans=tuple(Plan(name="p", gpus=g, throughput=t) for g, t in plans), plan="p")


@given(packing_rounds(), planning_policies())
@more_examples(60)
def test_the_choice_is_worth_what_the_verifier_counts(round_, policy):
    options = PlanOptions.of(round_, rules_for(policy))
    chosen = best_by_gpus(round_, options)
    assert len(set(options.job[chosen].tolist())) == len(chosen)
    assert (options.q * options.g)[chosen].sum() <= round_.cluster.total_gpus
    assert options.e[chosen].sum() == counted_plans(round_, PlanChoices.of(round_, settings_of(policy)))


@given(packing_rounds(), planning_policies())
@more_examples(60)
def test_what_is_placed_fits_and_all_of_it_is_optimal(round_, policy):
    options = PlanOptions.of(round_, rules_for(policy))
    chosen = best_by_gpus(round_, options)
    found = placed_by_gpus(round_, options, chosen)
    free = FreeNodes(round_, options)
    for option, nodes in found.items():
        assert len(set(nodes.tolist())) == options.q[option]
        assert free.room(option)[nodes].all()
        assert free.within_quota(int(options.job[option]))
        free.take(option, nodes)
    if len(found) == len(chosen):
        optimum = enumerated_optimum(round_, policy, steps=50_000)
        assert optimum is None or value_of(options, found) == optimum


def test_a_knapsack_that_greed_would_miss_is_packed_and_proved():
    jobs = [job("a", (3, 5.0), (8, 6.0)), job("b", (5, 5.0), (8, 6.0)), job("c", (8, 9.0)), job("d", (8, 9.0))]
    round_ = round_of([8, 8], jobs)
    options = PlanOptions.of(round_, PlanRules())
    found = pack(round_, options, {}, unlimited(), relaxation, SOLVE)
    assert found.how == "the best choice by GPUs alone found its nodes"
    result = result_of(round_, "rubick", plan_decision(round_, options, found.chosen))
    assert verify(round_, result).violations == ()
    assert value_of(options, found.chosen) == 833_333 * 2 + 1_000_000


def test_a_choice_that_finds_no_nodes_is_left_to_the_search():
    round_ = round_of([3, 3], [job(f"j{j}", (2, 1.0)) for j in range(3)])
    options = PlanOptions.of(round_, PlanRules())
    assert sorted(best_by_gpus(round_, options)) == [0, 1, 2]
    assert len(placed_by_gpus(round_, options, [0, 1, 2])) == 2
    found = pack(round_, options, {}, unlimited(), relaxation, SOLVE)
    assert value_of(options, found.chosen) == 2_000_000
    assert not found.how.startswith("the best choice by GPUs")


def test_counting_proves_a_round_in_which_prices_leave_a_gap():
    jobs = [job(f"j{j}", (3, 3.0 + j / 10)) for j in range(5)]
    round_ = round_of([8], jobs)
    options = PlanOptions.of(round_, PlanRules())
    decision = plan_decision(round_, options, {3: np.array([0]), 4: np.array([0])})
    result = result_of(round_, "rubick", decision)
    certificate = verify(round_, result)
    assert certificate.feasible
    assert certificate.checked_bound == 2_000_000
