"""Prices of loans and of GPU types: any prices bound every decision, and a solver's are better than none."""

from __future__ import annotations

from random import Random

import pytest
from asked_brute_force import asked_optimum
from by_policy import formulation_of, proved_bound
from loan_rounds import LOANS, loan_round
from msgspec.structs import replace

from muri_opt import InputError, Round, Tenant, policy_from
from muri_opt.rounds import LinearDuals
from muri_opt.solve.solvers import relaxation_duals
from muri_opt.verify import chapter_of
from muri_opt.verify.demands import starts_of
from muri_opt.verify.gangs.counting import able_jobs
from muri_opt.verify.gangs.dual_bound import dual_bound
from muri_opt.verify.gangs.staying import open_round
from muri_opt.verify.gangs.tenant_prices import TenantSupply
from muri_opt.verify.gangs.value import job_values

LOAN_LABELS = ("borrow", "pass", "pool")


def drawn(draw: Random, round_: Round) -> LinearDuals:
    """Return any prices of what has a limit."""
    tenants = round_.cluster.tenants
    quotas = [tenant.quota_gpus is not None for tenant in tenants]
    groups = {tenant.parent for tenant in tenants if tenant.quota_gpus is not None and tenant.borrow_gpus}
    limited = {
        "gpus": [True] * len(round_.cluster.nodes),
        "quota": quotas,
        "type": [True for tenant in tenants for _ in tenant.quota_by_type or ()],
    }
    if groups:
        limited |= {"borrow": quotas, "pass": quotas, "pool": [at in groups for at in (*(t.id for t in tenants), None)]}
    if not limited["type"]:
        del limited["type"]
    prices = {label: tuple(draw.choice([0, 0, 1, 2, 5]) * has for has in some) for label, some in limited.items()}
    return LinearDuals(denominator=draw.choice([1, 2]), multipliers=prices)


@pytest.mark.parametrize("group", LOANS)
def test_any_prices_bound_every_decision(group: str) -> None:
    for seed in range(20):
        draw, round_ = Random(seed), loan_round(seed, group)
        preempt = draw.random() < 0.5
        spec = f"srtf:preempt={'yes' if preempt else 'no'}"
        best = asked_optimum(round_, "srtf", lexicographic=False, fewest=False, preempt=preempt)
        decision = policy_from(spec).decide(round_, 0)
        for _ in range(5):
            bound = proved_bound(round_, spec, decision, (drawn(draw, round_),))
            assert bound is not None
            assert bound[0] >= best, seed


@pytest.mark.parametrize("group", LOANS)
def test_prices_of_the_relaxation_with_tenants_are_no_worse_than_without(group: str) -> None:
    better = 0
    for seed in range(20):
        round_ = loan_round(seed, group)
        program, policy = formulation_of("srtf"), policy_from("srtf")
        model = program.build(round_)
        rows = relaxation_duals(model, None)
        assert rows is not None
        duals = program.duals(round_, model, rows)
        chapter_bound = dual_bounds(round_, policy.rules, duals)
        better += chapter_bound[0] < chapter_bound[1]
        optimum = asked_optimum(round_, "srtf", lexicographic=False, fewest=False, preempt=True)
        assert optimum <= chapter_bound[0]
    assert better


def dual_bounds(round_: Round, rules: dict[str, str], duals: LinearDuals) -> tuple[int, int]:
    """Return the bounds of prices with those of tenants, and of the same prices without."""
    chapter = chapter_of(round_, rules)
    values, left = job_values(round_, chapter.rules), open_round(round_, chapter.rules)
    asked = starts_of(round_)
    own = {label: prices for label, prices in duals.multipliers.items() if label not in (*LOAN_LABELS, "type")}
    without = LinearDuals(denominator=duals.denominator, multipliers=own)
    supply = TenantSupply(round_, chapter.rules)
    able = able_jobs(left, asked)
    with_tenants = dual_bound(left, values, duals, asked, supply, able=able)
    return with_tenants, dual_bound(left, values, without, asked, able=able)


def test_a_price_of_what_has_no_limit_is_refused() -> None:
    round_ = loan_round(0, "borrow")
    tenants = (Tenant(id="a", quota_gpus=1, borrow_gpus=1), Tenant(id="b"))
    round_ = replace(
        round_,
        cluster=replace(round_.cluster, tenants=tenants),
        jobs=tuple(replace(job, tenant="a") for job in round_.jobs),
    )
    wrong = LinearDuals(denominator=1, multipliers={"borrow": (0, 1)})
    with pytest.raises(InputError, match=r"multipliers\.borrow\[1\]"):
        dual_bounds(round_, policy_from("srtf").rules, wrong)
