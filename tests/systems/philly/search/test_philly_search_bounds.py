"""The bound of prices: never below a decision that exists, and what the verifier finds from the same multipliers."""

from __future__ import annotations

import numpy as np
import pytest
from handmade import round_of
from hypothesis import given, strategies as st
from more_examples import more_examples
from philly_search_rounds import optimum, own_bound, rules_for, status_of, verified_bound

from muri_opt import Job, Node, Round, Tenant
from muri_opt.rounds import Budget, Limits, unlimited
from muri_opt.solve.solvers import relaxation
from muri_opt.systems.philly import JobStatus
from muri_opt.systems.philly.search import node_classes as rooms_module, quick_prices
from muri_opt.systems.philly.search.column_generation import best_prices, settled, tiers
from muri_opt.systems.philly.search.initial_prices import fluid_prices
from muri_opt.systems.philly.search.patterns import Patterns
from muri_opt.systems.philly.search.prices import Ground, Prices, Weights
from muri_opt.systems.philly.search.pricing import Pricing
from muri_opt.systems.philly.search.search import linear_duals, weights_of
from muri_opt.testing import tenant_policies, tenant_rounds

WEIGHTED = "philly:objective=weighted"


@given(tenant_rounds(max_nodes=4), tenant_policies(without=["migrate"]), st.data())
@more_examples(100)
def test_a_bound_is_the_verifiers_and_never_below_the_optimum(round_: Round, policy: str, data: st.DataObject) -> None:
    """Prices of whole numbers for each GPU, so that no share is rounded.

    Where running jobs may start again, the search may count one twice on its own node: there and as one of its kind.
    """
    status = status_of(round_, policy)
    ground = Ground.of(round_, status)
    most = min(status.values.premium, 10**6) + 2000
    once = data.draw(st.lists(st.integers(0, most), min_size=len(ground.asks), max_size=len(ground.asks)))
    quota = data.draw(
        st.lists(st.integers(0, status.values.premium), min_size=len(ground.quota), max_size=len(ground.quota))
    )
    prices = Prices(once=np.array(once, dtype=float), quota=np.array(quota, dtype=float))
    duals = linear_duals(round_, status, ground, prices)
    bound = own_bound(round_, policy, prices)
    verified = verified_bound(round_, policy, duals)
    assert bound >= verified if ground.asks.restarts.any() else bound == verified
    assert verified >= optimum(round_, policy)


@given(tenant_rounds(max_nodes=4), tenant_policies(), st.integers(1, 40))
@more_examples(60)
def test_a_bound_holds_where_jobs_move_and_where_units_are_coarse(round_: Round, policy: str, cells: int) -> None:
    status = status_of(round_, policy)
    ground, weights = Ground.of(round_, status), weights_of(status)
    prices = fluid_prices(ground, weights)
    best = optimum(round_, policy)
    slack = 1e-12 * abs(best)
    assert Pricing(ground).offer(weights, prices).bound >= best - slack
    assert Pricing(ground, cells).offer(weights, prices).bound >= best - slack


@given(tenant_rounds(max_nodes=4), tenant_policies())
@more_examples(60)
def test_quick_prices_are_accepted_and_bound_the_round(round_: Round, policy: str) -> None:
    duals = quick_prices(round_, JobStatus.of(round_, rules_for(policy)))
    assert verified_bound(round_, policy, duals) >= optimum(round_, policy)


@given(tenant_rounds(max_nodes=4), tenant_policies())
@more_examples(60)
def test_settled_prices_are_no_worse_than_the_first(round_: Round, policy: str) -> None:
    status = status_of(round_, policy)
    ground, weights = Ground.of(round_, status), weights_of(status)
    pricing = Pricing(ground)
    prices = best_prices(pricing, Patterns(ground), weights, relaxation, unlimited())
    bound, first = (pricing.offer(weights, some).bound for some in (prices, fluid_prices(ground, weights)))
    assert bound <= first
    assert verified_bound(round_, policy, linear_duals(round_, status, ground, prices)) >= optimum(round_, policy)


def holes(*, quota: int | None = None) -> Round:
    """Two nodes with 2 of 4 GPUs taken, and a gang of 4 and one of 2 that have not waited."""
    tenants = (Tenant(id="t", quota_gpus=quota),)
    jobs = [
        *(Job(id=f"r{s}", gpus=2, state="running", placement={f"n{s}": 2}, tenant="t") for s in range(2)),
        Job(id="large", gpus=4, tenant="t"),
        Job(id="small", gpus=2, tenant="t"),
    ]
    return round_of([Node(id=f"n{s}", gpus=4) for s in range(2)], jobs, tenants=tenants)


def test_prices_see_that_holes_are_too_small() -> None:
    """As one large node the cluster has room for the gang of four; no node has."""
    round_ = holes()
    status = status_of(round_, WEIGHTED)
    ground, weights = Ground.of(round_, status), weights_of(status)
    pricing = Pricing(ground)
    prices, bound = settled(pricing, Patterns(ground), weights, fluid_prices(ground, weights), relaxation, unlimited())
    assert bound == pytest.approx(12_000, abs=1e-6)
    assert optimum(round_, WEIGHTED) == 12_000
    assert pricing.offer(weights, prices).bound == bound


def test_without_time_the_first_prices_are_kept() -> None:
    round_ = holes(quota=5)
    status = status_of(round_, WEIGHTED)
    ground, weights = Ground.of(round_, status), weights_of(status)
    pricing, first = Pricing(ground), fluid_prices(ground, weights)
    for relax, budget in ((relaxation, Budget(limits=Limits(seconds=0))), (lambda *_: None, unlimited())):
        prices, bound = settled(pricing, Patterns(ground), weights, first, relax, budget)
        assert prices is first
        assert bound == pricing.offer(weights, first).bound


@pytest.mark.parametrize("kept", [1, 1000, 20_000, 20_001, 10**7])
@pytest.mark.parametrize("times", [1, 3, 64, 65, 8000])
def test_tiers_add_up_to_the_weights(kept: int, times: int) -> None:
    weights = Weights(quota=kept * times, kept=kept, worth=1)
    parts = tiers(weights)
    assert all(count > 0 for count, _ in parts)
    for name in ("quota", "kept", "worth"):
        assert sum(count * getattr(part, name) for count, part in parts) == getattr(weights, name)


def test_quotas_and_victims_are_proved_to_the_last_unit() -> None:
    """Three of the waiting jobs are within quota, and three of the others have to go, those that restart soonest."""
    nodes = [Node(id=f"n{s}", gpus=8) for s in range(3)]
    running = [
        Job(
            id=f"r{j}",
            gpus=1,
            state="running",
            placement={f"n{j % 3}": 1},
            tenant="a",
            restart_seconds=float(30 + j % 5),
        )
        for j in range(24)
    ]
    waits = [Job(id=f"w{j}", gpus=1, tenant="b") for j in range(6)]
    tenants = (Tenant(id="a", quota_gpus=20), Tenant(id="b", quota_gpus=3))
    round_ = round_of(nodes, [*running, *waits], tenants=tenants)
    status = status_of(round_, "philly")
    ground, weights = Ground.of(round_, status), weights_of(status)
    assert len(tiers(weights)) == 2
    prices = best_prices(Pricing(ground), Patterns(ground), weights, relaxation, unlimited())
    cheapest = 3 * (1000 * 30 // 600)
    value = status.values.premium * 23 - status.values.penalty * 3 + 24 * 1000 - cheapest
    assert verified_bound(round_, "philly", linear_duals(round_, status, ground, prices)) == value


def test_of_many_residents_the_largest_may_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms_module, "MOST_RESIDENTS", 1)
    jobs = [
        Job(id=f"r{gpus}", gpus=gpus, state="running", placement={"n": gpus}, tenant="t", restart_seconds=1.0)
        for gpus in (1, 2)
    ]
    round_ = round_of([Node(id="n", gpus=4)], jobs, tenants=(Tenant(id="t", quota_gpus=0),))
    ground = Ground.of(round_, status_of(round_, WEIGHTED))
    assert ground.rooms.residents.units.tolist() == [2]
    assert ground.rooms.stayers.units.tolist() == [1]
    assert ground.rooms.room[:, 0].tolist() == [3]
    prices = Prices(once=np.zeros(2), quota=np.zeros(1))
    # One GPU more than there are jobs for: the one that is taken to stay might start again beside itself.
    assert own_bound(round_, WEIGHTED, prices) == 4000
