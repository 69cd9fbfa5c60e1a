"""The verifier's own exact method equals trying everything, and stops when it has tried enough."""

from __future__ import annotations

from brute_force import optimum
from by_policy import enumerated_optimum
from handmade import round_of
from hypothesis import example, given, strategies as st

from muri_opt import Node, Round
from muri_opt.systems.orders import ORDERS
from muri_opt.testing import rounds

FRAGMENTED = round_of([3, 3], [2, 2, 2])


@given(rounds(max_jobs=4, max_nodes=2), st.sampled_from(sorted(ORDERS)), st.booleans(), st.booleans(), st.booleans())
@example(FRAGMENTED, "fifo", False, True, True)
def test_enumeration_equals_trying_everything(
    round_: Round, order: str, lexicographic: bool, fewest: bool, preempt: bool
) -> None:
    objective, nodes = "lexicographic" if lexicographic else "weighted", "fewest" if fewest else "any"
    spec = f"{order}:objective={objective},nodes={nodes},preempt={'yes' if preempt else 'no'}"
    found = enumerated_optimum(round_, spec)
    assert found == optimum(round_, order, lexicographic=lexicographic, fewest=fewest, preempt=preempt)


def test_three_gangs_of_two_fit_two_nodes_of_three_only_when_spread() -> None:
    assert enumerated_optimum(FRAGMENTED, "fifo:objective=weighted") == 2 * (3 + 2 + 1)
    assert enumerated_optimum(FRAGMENTED, "fifo:nodes=fewest,objective=weighted") == 2 * (3 + 2)


def test_the_step_budget_is_kept() -> None:
    rules = "fifo:objective=weighted"
    needed = next(steps for steps in range(1000) if enumerated_optimum(FRAGMENTED, rules, steps=steps) is not None)
    assert needed > 1
    assert enumerated_optimum(FRAGMENTED, rules, steps=needed - 1) is None
    assert enumerated_optimum(FRAGMENTED, rules, steps=needed + 1) == 12


def test_like_nodes_are_tried_once_however_many_there_are() -> None:
    nodes = [Node(id=f"n{s}", gpus=1 + s % 2) for s in range(1500)]
    found = enumerated_optimum(round_of(nodes, [7, 5]), "fifo:objective=weighted", steps=500)
    assert found == 2 * 7 + 1 * 5


def test_nothing_to_run_is_worth_nothing() -> None:
    for round_ in (round_of([], []), round_of([4], []), round_of([], [1]), round_of([0], [1])):
        assert enumerated_optimum(round_, "srtf:objective=lexicographic") == 0
