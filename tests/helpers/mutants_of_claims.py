"""Mutants of what an answer says of itself: value, bound, gap, termination, evidence."""

from __future__ import annotations

from alterations import (
    claiming,
    replace,
    with_duals,
)
from by_policy import enumerated_optimum
from mutant_kinds import breaks

from muri_opt import Limit, Reason, Result, Round, Termination


@breaks("value")
def value_one_too_high(round_: Round, result: Result) -> Result | None:
    return replace(result, value=(result.value or 0) + 1)


@breaks("value")
def value_left_out(round_: Round, result: Result) -> Result | None:
    return replace(result, value=None)


@breaks("value")
def value_of_no_decision(round_: Round, result: Result) -> Result | None:
    nothing = Termination(reason=Reason.NO_SOLUTION, limit=Limit.TIME)
    return replace(result, decision=None, bound=None, gap=None, termination=nothing)


@breaks("bound")
def bound_below_the_value(round_: Round, result: Result) -> Result | None:
    return claiming(result, bound=(result.value or 0) - 1)


@breaks("bound")
def bound_below_the_optimum(round_: Round, result: Result) -> Result | None:
    optimum = enumerated_optimum(round_, result.policy)
    if optimum is None or result.value is None or result.value >= optimum:
        return None
    return claiming(result, bound=optimum - 1)


@breaks("bound")
def heuristic_called_optimal(round_: Round, result: Result) -> Result | None:
    optimum = enumerated_optimum(round_, result.policy)
    if optimum is None or result.value is None or result.value >= optimum:
        return None
    return claiming(result, bound=result.value, reason=Reason.OPTIMAL)


@breaks("termination")
def optimal_with_an_open_gap(round_: Round, result: Result) -> Result | None:
    return claiming(result, bound=(result.value or 0) + 1, reason=Reason.OPTIMAL)


@breaks("termination")
def optimal_without_a_bound(round_: Round, result: Result) -> Result | None:
    return replace(result, bound=None, gap=None, termination=Termination(reason=Reason.OPTIMAL))


@breaks("termination")
def feasible_without_a_decision(round_: Round, result: Result) -> Result | None:
    said = Termination(reason=Reason.FEASIBLE, limit=Limit.TIME)
    return replace(result, decision=None, value=None, bound=None, gap=None, termination=said)


@breaks("termination")
def infeasible_with_a_decision(round_: Round, result: Result) -> Result | None:
    return replace(result, termination=Termination(reason=Reason.INFEASIBLE))


@breaks("termination")
def optimal_by_a_claim(round_: Round, result: Result) -> Result | None:
    said = Termination(reason=Reason.OPTIMAL)
    return replace(result, bound=None, gap=None, claimed_bound=result.value, termination=said)


@breaks("proof")
def infeasible_by_nobody(round_: Round, result: Result) -> Result | None:
    said = Termination(reason=Reason.INFEASIBLE)
    return replace(result, decision=None, value=None, bound=None, gap=None, termination=said)


@breaks("bound")
def bound_without_a_decision(round_: Round, result: Result) -> Result | None:
    said = Termination(reason=Reason.NO_SOLUTION, limit=Limit.TIME)
    return replace(result, decision=None, value=None, bound=0, gap=None, termination=said)


@breaks("claim")
def claim_below_the_value(round_: Round, result: Result) -> Result | None:
    return replace(result, claimed_bound=(result.value or 0) - 1)


@breaks("claim")
def claim_that_is_no_better_than_the_bound(round_: Round, result: Result) -> Result | None:
    return None if result.bound is None else replace(result, claimed_bound=result.bound)


@breaks("claim")
def claim_below_the_optimum(round_: Round, result: Result) -> Result | None:
    optimum = enumerated_optimum(round_, result.policy)
    return None if optimum is None or optimum == result.value else replace(result, claimed_bound=optimum - 1)


@breaks("gap")
def wrong_gap(round_: Round, result: Result) -> Result | None:
    return None if result.gap is None else replace(result, gap=result.gap + 0.5)


@breaks("gap")
def gap_left_out(round_: Round, result: Result) -> Result | None:
    return None if result.bound is None else replace(result, gap=None)


@breaks("gap")
def gap_without_a_bound(round_: Round, result: Result) -> Result | None:
    return replace(result, bound=None, gap=0.0, termination=Termination(reason=Reason.FEASIBLE, limit=Limit.TIME))


@breaks("fingerprint")
def result_of_another_round(round_: Round, result: Result) -> Result | None:
    return replace(result, fingerprint=replace(round_, name=round_.name + "?").fingerprint)


@breaks("evidence")
def negative_price(round_: Round, result: Result) -> Result | None:
    count = len(round_.cluster.nodes)
    return with_duals(result, gpus=(-1,) * count) if count else None


@breaks("evidence")
def price_of_a_node_too_many(round_: Round, result: Result) -> Result | None:
    return with_duals(result, memory=(0,) * (len(round_.cluster.nodes) + 1))


@breaks("evidence")
def prices_over_a_negative_denominator(round_: Round, result: Result) -> Result | None:
    return with_duals(result, denominator=-1, gpus=(0,) * len(round_.cluster.nodes))


@breaks("evidence")
def price_of_cpus_without_limit(round_: Round, result: Result) -> Result | None:
    prices = tuple(int(node.cpus is None) for node in round_.cluster.nodes)
    return with_duals(result, cpus=prices) if any(prices) else None


@breaks("evidence")
def price_of_a_quota_without_limit(round_: Round, result: Result) -> Result | None:
    prices = tuple(int(tenant.quota_gpus is None) for tenant in round_.cluster.tenants)
    return with_duals(result, quota=prices) if any(prices) else None
