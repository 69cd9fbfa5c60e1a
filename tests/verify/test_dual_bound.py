"""PriceTable are read in one way for all chapters: what is refused, what is free, and what everything costs."""

from __future__ import annotations

import pytest
from handmade import round_of

from muri_opt import InputError, Node, Tenant
from muri_opt.rounds import LinearDuals
from muri_opt.verify.dual_bound import PriceTable, pooled_supply

SUPPLY = {"gpus": (3, 5), "quota": (2, None)}


def duals(denominator: int = 1, **multipliers: tuple[int, ...]) -> LinearDuals:
    return LinearDuals(denominator=denominator, multipliers=multipliers)


def test_the_bound_is_the_price_of_everything_and_all_profits_rounded_down() -> None:
    prices = PriceTable.read(duals(10, gpus=(4, 1), quota=(7, 0)), SUPPLY)
    assert (prices.denominator, prices.everything) == (10, 3 * 4 + 5 * 1 + 2 * 7)
    assert prices.bound([]) == 3
    assert prices.bound([8]) == 3
    assert prices.bound([8, 1]) == 4
    assert prices.bound([-40]) == -1


def test_what_is_left_out_is_free() -> None:
    prices = PriceTable.read(duals(), SUPPLY)
    assert prices.of == {"gpus": (0, 0), "quota": (0, 0)}
    assert prices.everything == 0


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (duals(0), "denominator"),
        (duals(-1), "denominator"),
        (duals(gpus=(1,)), "multipliers.gpus"),
        (duals(gpus=(1, -1)), "multipliers.gpus"),
        (duals(quota=(1, 1)), "multipliers.quota[1]"),
        (duals(cpus=(1,)), "multipliers.cpus"),
    ],
)
def test_prices_that_prove_nothing_are_refused_by_their_label(given: LinearDuals, field: str) -> None:
    with pytest.raises(InputError) as refused:
        PriceTable.read(given, SUPPLY)
    assert refused.value.field == field


def test_prices_of_what_must_be_used_up_may_have_any_sign() -> None:
    assert PriceTable.read(duals(gpus=(1, -1)), SUPPLY, signed=True).everything == 3 - 5
    with pytest.raises(InputError):
        PriceTable.read(duals(gpus=(1, -1, 0)), SUPPLY, signed=True)


def test_nodes_together_have_no_limit_where_one_of_them_has_none() -> None:
    nodes = [Node(id="n0", gpus=2, cpus=4, memory_gib=1), Node(id="n1", gpus=3, cpus=0.5)]
    round_ = round_of(nodes, [], [Tenant(id="red", quota_gpus=2), Tenant(id="free")])
    assert pooled_supply(round_) == {"gpus": (5,), "cpus": (4500,), "memory": (None,), "quota": (2, None)}
