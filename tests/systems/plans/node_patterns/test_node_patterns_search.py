"""The whole search: feasible, never worse than its start, never better than the optimum or its own bound."""

from __future__ import annotations

import numpy as np
import pytest
from by_policy import decision_value, proved_bound, settings_of
from hypothesis import given, strategies as st
from more_examples import more_examples
from msgspec.structs import replace
from packing_rounds import SOLVE, packed, packing_rounds, parts_of, tight_round, value_of
from plan_rounds import choices, planning_policies, result_of, rules_for

from muri_opt import Cluster, Guarantee, Job, Node, Plan, Round, Tenant, verify
from muri_opt.errors import RefusalError
from muri_opt.rounds import Budget, Limits, unlimited
from muri_opt.solve.solvers import relaxation
from muri_opt.systems.plans import PlanOptions, PlanRules, plan_decision
from muri_opt.systems.plans.node_patterns import pack
from muri_opt.systems.plans.node_patterns.diving import dive
from muri_opt.systems.plans.node_patterns.fill_leftover import filled
from muri_opt.systems.plans.node_patterns.items import Items
from muri_opt.systems.plans.node_patterns.master import Master
from muri_opt.systems.plans.node_patterns.patterns_to_nodes import placed, seen_patterns
from muri_opt.systems.plans.node_patterns.repacking import repacked
from muri_opt.systems.plans.node_patterns.residual import Remaining
from muri_opt.systems.plans.program import PlanningFormulation
from muri_opt.verify.plans.optimum import planned_optimum
from muri_opt.verify.plans.plan_choices import PlanChoices


def check(round_: Round, options: PlanOptions, policy: str, chosen: dict) -> int:
    """Return what a choice is worth, once the verifier has found nothing wrong with it."""
    decision = plan_decision(round_, options, chosen)
    certificate = verify(round_, result_of(round_, policy, decision))
    assert certificate.feasible, certificate.violations
    value = decision_value(round_, policy, decision)
    assert value >= value_of(options, chosen)  # more where an option happens to be where its job is now
    return value


@more_examples(60)
@given(packing_rounds(), planning_policies(), st.data())
def test_packing_is_feasible_no_worse_than_its_start_and_within_its_bound(round_, policy, data):
    options = PlanOptions.of(round_, rules_for(policy))
    start = data.draw(choices(round_, options))
    found = packed(round_, options, start, seconds=data.draw(st.sampled_from([None, 20.0])))
    value = check(round_, options, policy, found.chosen)
    best = planned_optimum(round_, PlanChoices.of(round_, settings_of(policy)), steps=10**6)
    assert value_of(options, start) <= value_of(options, found.chosen)
    assert value <= best
    proved = proved_bound(round_, policy, plan_decision(round_, options, found.chosen), (found.duals,))
    assert best <= proved[0]


@more_examples(30)
@given(packing_rounds(max_jobs=4), planning_policies(), st.data(), st.sampled_from([0.0, 1e-6, 1e-3]))
def test_no_time_leaves_the_start_or_better(round_, policy, data, seconds):
    options = PlanOptions.of(round_, rules_for(policy))
    start = data.draw(choices(round_, options))
    found = packed(round_, options, start, seconds)
    check(round_, options, policy, found.chosen)
    assert value_of(options, found.chosen) >= value_of(options, start)


@given(packing_rounds(max_jobs=4, max_nodes=4), planning_policies(), st.data())
def test_patterns_of_a_choice_are_placed_as_the_same_choice(round_, policy, data):
    options = PlanOptions.of(round_, rules_for(policy))
    chosen = data.draw(choices(round_, options))
    items, families = parts_of(round_, options)
    seen = seen_patterns(items, families, chosen)
    remaining = Remaining(items, families)
    for key, times in seen.items():
        assert remaining.most(key) >= times
        remaining.take(key, times)
    again = placed(items, families, seen, remaining.take_parts(seen))
    check(round_, options, policy, again)
    apart = parts_of(round_, options, together=False)[0]
    if not any(items.count[items.owner[items.item_of(o)]] > 1 for o in chosen if options.q[o] > 1):
        counted = [sorted(items.item_of(o) for o in choice) for choice in (chosen, again)]
        assert counted[0] == counted[1]
        assert seen_patterns(items, families, again) == seen
    assert all(apart.of_member(apart.item_of(o), 0) == o for o in chosen)


@more_examples(60)
@given(packing_rounds(max_jobs=4), planning_policies(), st.data(), st.sampled_from([40, 10_000]))
def test_repacking_and_filling_only_gain(round_, policy, data, cells):
    options = PlanOptions.of(round_, rules_for(policy))
    chosen = data.draw(choices(round_, options))
    better = repacked(round_, options, chosen, cells=cells, budget=unlimited())
    check(round_, options, policy, better)
    assert value_of(options, better) >= value_of(options, chosen)
    full = filled(round_, options, better)
    check(round_, options, policy, full)
    assert value_of(options, full) >= value_of(options, better)


@more_examples(40)
@given(packing_rounds(max_jobs=4), planning_policies(), st.data())
def test_diving_takes_no_more_than_there_is(round_, policy, data):
    options = PlanOptions.of(round_, rules_for(policy))
    items, families = parts_of(round_, options)
    master = Master(items=items, families=families)
    for _ in range(3):
        for family, home, pattern in seen_patterns(items, families, data.draw(choices(round_, options))):
            master.add(family, pattern, home)
    remaining = Remaining(items, families)
    taken = dive(master, relaxation, remaining, unlimited())
    jobs = remaining.take_parts(taken)
    homes = [left for family in remaining.homes for left in family]
    assert min([0, *remaining.jobs, *remaining.quota, *remaining.nodes, *homes]) == 0
    chosen = placed(items, families, taken, jobs)
    value = check(round_, options, policy, chosen)
    model = master.program()
    values = master.values(model, taken, jobs)
    assert master.counts(model, values) == (dict(taken), jobs)
    relaxed = relaxation(model, None)
    assert value_of(options, chosen) == int(values @ model.objective) <= value
    assert int(values @ model.objective) <= master.prices(model, relaxed.duals)[1] * (1 + 1e-9) + 1e-3


def test_equal_jobs_are_worth_the_same_together_and_apart(monkeypatch):
    half = tight_round(4, 3, seed=5)
    twins = tuple(replace(job, id=f"{job.id}-{turn}") for job in half.jobs for turn in range(3))
    round_ = Round(cluster=half.cluster, jobs=twins)
    options = PlanOptions.of(round_, PlanRules())
    best = optimum_of(round_)
    found = packed(round_, options)
    assert check(round_, options, "rubick", found.chosen) == best
    every = Items.of
    monkeypatch.setattr(Items, "of", lambda round_, options, **_: every(round_, options, together=False))
    apart = packed(round_, options)
    assert check(round_, options, "rubick", apart.chosen) == best


def optimum_of(round_: Round) -> int:
    """Return the optimum by the program with a column for each option and node."""
    chapter = PlanningFormulation(rules=PlanRules())
    model = chapter.build(round_)
    return SOLVE(model, chapter.stages(round_, model), Limits(seconds=None), None).value


def test_a_tight_round_is_solved_nearly_to_the_optimum_and_always_the_same():
    round_ = tight_round(11, 3)
    options = PlanOptions.of(round_, PlanRules())
    first, again = packed(round_, options), packed(round_, options)
    assert {o: nodes.tolist() for o, nodes in first.chosen.items()} == {
        o: nodes.tolist() for o, nodes in again.chosen.items()
    }
    assert first.duals == again.duals
    assert first.how == again.how
    assert "patterns" in first.how
    best = optimum_of(round_)
    value = check(round_, options, "rubick", first.chosen)
    assert 0.99 * best <= value <= best
    bound = proved_bound(round_, "rubick", plan_decision(round_, options, first.chosen), (first.duals,))[0]
    assert best <= bound <= 1.02 * best


def test_a_gap_ends_the_search_early():
    round_ = tight_round(14, 3)
    options = PlanOptions.of(round_, PlanRules())
    found = pack(round_, options, {}, Budget(limits=Limits(seconds=None, gap=0.5)), never, never)
    check(round_, options, "rubick", found.chosen)
    bound = proved_bound(round_, "rubick", plan_decision(round_, options, found.chosen), (found.duals,))[0]
    assert value_of(options, found.chosen) * 1.5 >= bound


def never(*_: object) -> None:
    raise AssertionError("no program was to be solved")


def refusing(*_: object) -> None:
    raise RefusalError("patterns", "a program", "none")


def test_without_relaxations_and_solvers_the_first_choice_stands():
    round_ = tight_round(10, 2)
    options = PlanOptions.of(round_, PlanRules())
    for solve in (refusing, lambda *_: Nothing):
        found = pack(round_, options, {}, unlimited(), lambda *_: None, solve)
        assert check(round_, options, "rubick", found.chosen) > 0


class Nothing:
    values = None
    work = 0.0


@pytest.mark.parametrize("nodes", [(), (0,), (2,)])
def test_nothing_to_choose(nodes):
    boxes = tuple(Node(id=f"n{s}", gpus=gpus) for s, gpus in enumerate(nodes))
    job = Job(id="j", gpus=4, plans=(Plan(name="p", gpus=4, throughput=1.0),))
    for jobs in ((), (job,)):
        round_ = Round(cluster=Cluster(nodes=boxes), jobs=jobs)
        options = PlanOptions.of(round_, PlanRules())
        found = packed(round_, options)
        assert found.chosen == {}
        assert found.duals.multipliers == {"once": (0,) * len(jobs)}
        assert found.how == "there was nothing to choose"


def test_equal_jobs_in_parts_on_the_same_nodes_are_kept_as_they_start():
    plans = (Plan(name="p", gpus=2, nodes=2, throughput=1.0), Plan(name="q", gpus=3, throughput=0.1))
    jobs = tuple(Job(id=f"j{j}", gpus=2, plans=plans) for j in range(2))
    round_ = Round(cluster=Cluster(nodes=(Node(id="a", gpus=2), Node(id="b", gpus=3))), jobs=jobs)
    options = PlanOptions.of(round_, PlanRules())
    both = np.array([0, 1])
    start = {int(options.first[0]): both, int(options.first[1]): both}
    found = packed(round_, options, start)
    assert check(round_, options, "rubick", found.chosen) == 2_000_000


def test_a_home_too_small_for_the_plan_is_none():
    """Half of 2,049 MiB is 1,024.5: a part takes the half MiB more that its node does not have."""
    nodes = tuple(Node(id=f"n{s}", gpus=1, memory_gib=memory) for s, memory in enumerate((1.0, 1.0, 8.0, 8.0)))
    split = Plan(name="p", gpus=2, nodes=2, memory_gib=2049 / 1024, throughput=1.0)
    job = Job(
        id="j",
        gpus=2,
        plans=(split, Plan(name="q", gpus=1, throughput=0.1)),
        plan="p",
        state="running",
        placement={"n0": 1, "n1": 1},
        restart_seconds=60.0,
    )
    round_ = Round(cluster=Cluster(nodes=nodes), jobs=(job,))
    options = PlanOptions.of(round_, PlanRules())
    _, families = parts_of(round_, options)
    assert not any(family.at_home for family in families)
    found = packed(round_, options)
    assert check(round_, options, "rubick", found.chosen) == 900_000


def test_quotas_have_prices():
    plans = (Plan(name="p", gpus=1, throughput=1.0), Plan(name="p", gpus=3, throughput=1.7))
    jobs = tuple(
        Job(id=f"j{j}", gpus=1, tenant="t", plans=plans, guarantee=Guarantee(throughput=0.5)) for j in range(6)
    )
    cluster = Cluster(
        nodes=tuple(Node(id=f"n{s}", gpus=4, cpus=4.0) for s in range(2)), tenants=(Tenant(id="t", quota_gpus=2),)
    )
    round_ = Round(cluster=cluster, jobs=jobs)
    options = PlanOptions.of(round_, PlanRules())
    found = packed(round_, options)
    assert check(round_, options, "rubick", found.chosen) == planned_optimum(
        round_, PlanChoices.of(round_, settings_of("rubick")), steps=10**6
    )
    bound = proved_bound(round_, "rubick", plan_decision(round_, options, found.chosen), (found.duals,))[0]
    assert bound == value_of(options, found.chosen)
    assert found.duals.multipliers["quota"][0] > 0
