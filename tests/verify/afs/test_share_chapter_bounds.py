"""Bounds on the value of shares hold for any prices, and counting is exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from by_policy import proved_bound
from elastic_draws import best_value, elastic, elastic_rounds, round_with, share_vectors
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt import InputError, Node, Round, Tenant
from muri_opt.rounds import LinearDuals, Proof
from muri_opt.verify.afs.dual_bound import counted_bound, priced_bound
from muri_opt.verify.afs.value import Elastic

OBJECTIVES = st.sampled_from(["speed", "speed-up", "time"])


def best_within_the_cluster(round_: Round, tables: Sequence[Mapping[int, int]]) -> int:
    """Return the best value within GPUs, quotas, and CPUs and memory of all nodes together where all have limits."""
    amounts = round_.amounts
    best = 0
    for shares in share_vectors(round_, tables):
        cpus = sum(gpus * int(amounts.c[job]) for job, gpus in enumerate(shares))
        memory = sum(gpus * int(amounts.m[job]) for job, gpus in enumerate(shares))
        if cpus <= int(amounts.C.sum()) and memory <= int(amounts.M.sum()):
            best = max(best, sum(table[gpus] for table, gpus in zip(tables, shares, strict=True) if gpus))
    return best


@given(elastic_rounds(max_jobs=4, equal=True), OBJECTIVES, st.booleans())
@more_examples(150)
def test_counting_finds_the_best_value(round_: Round, objective: str, by_node: bool) -> None:
    tables = Elastic(objective=objective, by_node=by_node).values(round_)
    assert counted_bound(round_, tables) == best_value(round_, tables)


@given(st.data(), elastic_rounds(max_jobs=4, tight=True), OBJECTIVES)
@more_examples(200)
def test_no_prices_bound_the_value_too_low(data: st.DataObject, round_: Round, objective: str) -> None:
    tables = Elastic(objective=objective, by_node=False).values(round_)
    nodes = round_.cluster.nodes
    scale = data.draw(st.integers(1, 1000))
    top = scale * max((value for table in tables for value in table.values()), default=1)
    price = st.one_of(st.just(0), st.integers(0, max(1, top)), st.integers(0, max(1, top // 1000)))

    def paid(limits: Sequence[object]) -> int:
        return 0 if any(limit is None for limit in limits) else data.draw(price)

    duals = LinearDuals(
        denominator=scale,
        multipliers={
            "gpus": (data.draw(price),),
            "cpus": (paid([node.cpus for node in nodes]),),
            "memory": (paid([node.memory_gib for node in nodes]),),
            "quota": tuple(paid([tenant.quota_gpus]) for tenant in round_.cluster.tenants),
        },
    )
    assert priced_bound(round_, tables, duals) >= best_within_the_cluster(round_, tables)


def test_right_prices_meet_the_best_value() -> None:
    round_ = round_with([3], [elastic(0, (1, 2, 3)), elastic(1, (1, 1, 1))])
    tables = [{1: 10, 2: 18, 3: 21}, {1: 9, 2: 9, 3: 9}]
    assert best_value(round_, tables) == 27
    assert priced_bound(round_, tables, LinearDuals(denominator=1, multipliers={"gpus": (8,)})) == 27
    assert priced_bound(round_, tables, LinearDuals(denominator=2, multipliers={"gpus": (17,)})) == 27  # 27.5
    assert priced_bound(round_, tables, LinearDuals(denominator=1, multipliers={})) == 21 + 9


def test_everything_limited_has_a_price() -> None:
    nodes = [Node(id="n0", gpus=4, cpus=3, memory_gib=2), Node(id="n1", gpus=4, cpus=2, memory_gib=1)]
    jobs = [elastic(j, (1, 2, 3, 4), gpus=2, cpus=1, memory_gib=3, tenant="a") for j in range(2)]
    round_ = round_with(nodes, jobs, [Tenant(id="a", quota_gpus=5), Tenant(id="b")])
    tables = [{k: 1_000_000 * k for k in range(1, 5)}] * 2

    def bound(**prices: tuple[int, ...]) -> int:
        return priced_bound(round_, tables, LinearDuals(denominator=1, multipliers=prices))

    assert bound(gpus=(1_000_000,)) == 8_000_000
    assert bound(gpus=(300_000,)) == 8 * 300_000 + 8 * 700_000
    assert bound(cpus=(2000,)) == 10_000_000  # 5,000 milli-CPUs, 500 with each GPU
    assert bound(cpus=(200,)) == 5000 * 200 + 8 * 900_000
    assert bound(memory=(600,)) == 3072 * 600 + 8 * (1_000_000 - 1536 * 600)
    assert bound(quota=(1_000_000, 0)) == 5_000_000
    assert bound(quota=(300_000, 0)) == 5 * 300_000 + 8 * 700_000
    together = bound(gpus=(100_000,), cpus=(200,), memory=(100,), quota=(300_000, 0))
    assert together == 800_000 + 1_000_000 + 307_200 + 1_500_000 + 8 * (
        1_000_000 - 100_000 - 100_000 - 153_600 - 300_000
    )


@pytest.mark.parametrize(
    ("denominator", "prices", "field"),
    [
        (1, {"gpus": (1, 1)}, "multipliers.gpus"),
        (1, {"gpus": ()}, "multipliers.gpus"),
        (1, {"gpus": (-1,)}, "multipliers.gpus"),
        (0, {"gpus": (1,)}, "denominator"),
        (1, {"cpus": (1,)}, "multipliers.cpus[0]"),
        (1, {"memory": (1,)}, "multipliers.memory[0]"),
        (1, {"quota": (0, 1)}, "multipliers.quota[1]"),
        (1, {"quota": (1,)}, "multipliers.quota"),
        (1, {"once": (0,)}, "multipliers.once"),
    ],
)
def test_prices_that_prove_nothing_are_refused(
    denominator: int, prices: dict[str, tuple[int, ...]], field: str
) -> None:
    nodes = [Node(id="n0", gpus=2, cpus=4, memory_gib=4), Node(id="n1", gpus=2)]
    round_ = round_with(nodes, [elastic(0, (1, 2))], [Tenant(id="a", quota_gpus=1), Tenant(id="b")])
    with pytest.raises(InputError) as caught:
        priced_bound(round_, [{1: 1, 2: 2}], LinearDuals(denominator=denominator, multipliers=prices))
    assert caught.value.field == field


MANY_GPUS = round_with(
    [100_000], [elastic(job, (1, 2), tenant="a") for job in range(2)], [Tenant(id="a", quota_gpus=50_000)]
)


def test_counting_is_left_out_where_it_takes_too_long() -> None:
    jobs = [elastic(0, (1, 2)), elastic(1, (1, 2))]
    assert counted_bound(MANY_GPUS, [{1: 1}, {1: 1}]) is None
    assert counted_bound(round_with([300_000], jobs), [{1: 1}, {1: 1}]) == 2
    assert counted_bound(round_with([300_000], jobs), [{1: 1 << 61}, {1: 1}]) is None  # and it needs large numbers
    assert counted_bound(round_with([2], jobs), [{1: 1 << 61}, {1: 1 << 61}]) == 1 << 62
    assert counted_bound(round_with([2], jobs), [{1: 1 << 61}, {1: 1}]) == (1 << 61) + 1
    assert counted_bound(round_with([2], jobs), [{1: -5, 2: -9}, {}]) == 0


def test_the_better_of_prices_and_counting_is_proved() -> None:
    node = Node(id="n0", gpus=4, cpus=1)
    round_ = round_with([node], [elastic(j, (1, 2), cpus=1) for j in range(2)])
    decision = None
    assert proved_bound(round_, "afs-p:objective=speed-up", decision, ()) == (4000, Proof.COUNTING)
    cpus = LinearDuals(denominator=1, multipliers={"cpus": (1,)})  # a thousandth of a speed for a milli-CPU
    assert proved_bound(round_, "afs-p:objective=speed-up", decision, (cpus,)) == (1000, Proof.LINEAR_DUALS)
    assert proved_bound(MANY_GPUS, "afs-p:objective=speed-up", decision, ()) is None
