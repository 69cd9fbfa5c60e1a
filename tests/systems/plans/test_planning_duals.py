"""Multipliers of jobs and quotas, from a solver and without one: each one a bound on what any decision is worth."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import pytest
from planning_rounds import EveryChoice, plan_round, planned, random_plan_round, rules_for
from seeds import some_then_all

from muri_opt import Guarantee, Limits, Node, Plan, Round, Tenant
from muri_opt.rounds import LinearDuals
from muri_opt.rounds.generate.families import generate
from muri_opt.solve.exact import build, optimise, relax
from muri_opt.systems.plans import PlanningFormulation, PlanRules
from muri_opt.systems.plans.program_columns import PlanColumns

PLAIN = PlanningFormulation(rules=PlanRules())


def plain_bound(round_: Round, rules: PlanRules, duals: LinearDuals) -> int:
    """Return what the multipliers prove, every node's best parts found by trying all."""
    table, tenants = PlanColumns.of(round_, rules), round_.cluster.tenants
    once = [Fraction(price, duals.denominator) for price in duals.multipliers["once"]]
    quota = {v.id: Fraction(p, duals.denominator) for v, p in zip(tenants, duals.multipliers["quota"], strict=True)}
    assert min([*once, *quota.values()], default=0) >= 0
    total = sum(once) + sum(quota[v.id] * v.quota_gpus for v in tenants if v.quota_gpus is not None)
    options, here = table.options, {s: {} for s in range(len(round_.cluster.nodes))}
    for o, s in zip(table.option.tolist(), table.node.tolist(), strict=True):
        j = int(options.job[o])
        job = round_.jobs[j]
        paid = once[j] + (quota.get(job.tenant, 0) * job.gpus if job.guarantee is not None else 0)
        profit = (int(options.e[o]) - paid) / int(options.q[o])
        here[s].setdefault(j, []).append((profit, int(options.g[o]), int(options.c[o]), int(options.m[o])))
    amounts = round_.amounts
    for s, parts in here.items():
        total += _most(list(parts.values()), (int(amounts.G[s]), int(amounts.C[s]), int(amounts.M[s])))
    return int(total)


def _most(jobs: list[list[tuple]], room: tuple[int, int, int]) -> Fraction:
    @cache
    def most(j: int, room: tuple[int, ...]) -> Fraction:
        if j == len(jobs):
            return Fraction(0)
        found = most(j + 1, room)
        for profit, *part in jobs[j]:
            left = tuple(has - need for has, need in zip(room, part, strict=True))
            if profit > 0 and min(left) >= 0:
                found = max(found, profit + most(j + 1, left))
        return found

    return most(0, room)


@some_then_all(40, 112)
def test_both_kinds_of_multipliers_bound_the_optimum(seeds: range) -> None:
    reached = [0, 0]
    for seed in seeds:
        round_, rules = random_plan_round(seed), rules_for(seed)
        program, best = PlanningFormulation(rules=rules), EveryChoice(round_, rules).best()
        for at, duals in enumerate((relax(round_, program, None), program.quick_duals(round_))):
            bound = plain_bound(round_, rules, duals)
            assert bound >= best, seed
            reached[at] += bound == best
    assert 3 * min(reached) > len(seeds)


def test_quick_multipliers_are_worth_as_much_as_the_prices_they_come_from() -> None:
    """Four jobs of up to 2 GPUs on 3: a GPU costs 500,000, and every node is worth what its GPUs cost."""
    plans = Plan(name="a", gpus=1, throughput=1.0), Plan(name="b", gpus=2, throughput=2.0)
    round_ = plan_round([1, 2], [planned(j, *plans) for j in range(4)])
    duals = PLAIN.quick_duals(round_)
    price = max(duals.multipliers["once"])
    assert price <= duals.denominator
    assert plain_bound(round_, PLAIN.rules, duals) == optimise_value(round_) == 1_500_000


def test_a_quota_has_a_price_where_it_is_in_the_way() -> None:
    plan, promise = Plan(name="a", gpus=2, throughput=1.0), Guarantee(throughput=1.0)
    jobs = [planned(j, plan, tenant="a", guarantee=promise) for j in range(3)]
    round_ = plan_round([8], jobs, [Tenant(id="b"), Tenant(id="a", quota_gpus=4)])
    for duals in (relax(round_, PLAIN, None), PLAIN.quick_duals(round_)):
        free, priced = duals.multipliers["quota"]
        assert free == 0
        assert priced > 0 or sum(duals.multipliers["once"]) == 0
        assert plain_bound(round_, PLAIN.rules, duals) == optimise_value(round_) == 2 * (3 * 10**6 + 1 + 10**6)


@pytest.mark.parametrize("fields", [{"cpus": 4}, {"memory_gib": 4}])
def test_the_knapsack_counts_cpus_and_memory_where_every_node_has_a_limit(fields: dict[str, float]) -> None:
    jobs = [planned(j, Plan(name="a", gpus=1, throughput=1.0, **fields)) for j in range(6)]
    nodes = [Node(id=f"n{s}", gpus=8, cpus=8, memory_gib=8) for s in range(2)]
    round_ = plan_round(nodes, jobs)
    assert plain_bound(round_, PLAIN.rules, PLAIN.quick_duals(round_)) == optimise_value(round_) == 4 * 10**6


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_of_the_relaxation_is_near_the_optimum(seed: int) -> None:
    round_ = generate("plans", jobs=14, nodes=2, seed=seed)
    best = optimise_value(round_)
    served = PlanColumns.of(round_, PLAIN.rules).options.served
    assert best <= plain_bound(round_, PLAIN.rules, relax(round_, PLAIN, None)) < best + served


def optimise_value(round_: Round) -> int:
    answer = optimise(round_, PLAIN, "highs", Limits(seconds=None), None)
    assert PLAIN.encode(round_, answer.decision) @ build(round_, PLAIN).objective == answer.bound
    return answer.bound
