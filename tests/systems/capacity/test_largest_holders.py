"""Who holds most on some nodes: the largest first, of equal ones the first, and nobody who holds nothing there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from muri_opt import Cluster, Job, Node, Round
from muri_opt.systems.capacity.holders import Holders

HELD = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 3)), max_size=12)


def holders_of(held: list[tuple[int, int, int]]) -> Holders:
    round_ = Round(
        cluster=Cluster(nodes=tuple(Node(id=f"n{place}", gpus=99) for place in range(3))),
        jobs=tuple(Job(id=f"j{place}", gpus=1) for place in range(6)),
    )
    group, node, gpus = np.array(held, dtype=np.int64).reshape(-1, 3).T
    return Holders.of_amounts(round_, [(job,) for job in range(6)], group, node, (gpus, gpus, gpus))


def largest(held: list[tuple[int, int, int]], nodes: set[int], number: int) -> list[tuple[str, int]]:
    sums = {job: sum(amount for one, at, amount in held if one == job and at in nodes) for job in range(6)}
    line = sorted((job for job in sums if sums[job]), key=lambda job: -sums[job])[:number]
    return [(f"'j{job}' holds", sums[job]) for job in line]


def test_jobs_that_share_are_named_each_in_quotes() -> None:
    jobs = tuple(Job(id=name, gpus=1) for name in ("a", "it's", "c"))
    round_ = Round(cluster=Cluster(nodes=(Node(id="n", gpus=3),)), jobs=jobs)
    for group, words in (((0, 1), "'a' and \"it's\" hold"), ((0, 1, 2), "'a', \"it's\" and 'c' hold")):
        parts = tuple(np.array([1]) for _ in range(3))
        holders = Holders.of_amounts(round_, [group], np.array([0]), np.array([0]), parts)
        assert holders.most(holders.gpus, np.array([0])) == [(words, 1)]


@given(HELD, st.sets(st.integers(0, 2)), st.integers(0, 4))
def test_the_largest_holders_are_those_of_a_sorted_list(
    held: list[tuple[int, int, int]], nodes: set[int], number: int
) -> None:
    holders = holders_of(held)
    found = holders.most(holders.gpus, np.array(sorted(nodes), dtype=np.int64), number)
    assert found == largest(held, nodes, number)


@given(HELD, st.lists(st.sets(st.integers(0, 2)), max_size=5), st.integers(0, 4), st.integers(1, 40))
def test_of_many_sets_of_nodes_at_once_they_are_the_same(
    held: list[tuple[int, int, int]], sets: list[set[int]], number: int, together: int
) -> None:
    holders, nodes = holders_of(held), np.array([2, 0, 1])
    where = np.array([[node in some for node in nodes.tolist()] for some in sets], dtype=np.bool_).reshape(-1, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("muri_opt.systems.capacity.holders._MOST_NUMBERS", together)
        found = holders.most_of_each(holders.gpus, nodes, where, number)
    assert found == [largest(held, some, number) for some in sets]
