"""Who holds most on some nodes: the largest first, of equal ones the first, and nobody who holds nothing there."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from muri_opt import Cluster, Job, Node, Round
from muri_opt.systems.capacity.holders import Holders

HELD = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 3)), max_size=12)


@given(HELD, st.sets(st.integers(0, 2)), st.integers(0, 4))
def test_the_largest_holders_are_those_of_a_sorted_list(
    held: list[tuple[int, int, int]], nodes: set[int], number: int
) -> None:
    round_ = Round(
        cluster=Cluster(nodes=tuple(Node(id=f"n{place}", gpus=99) for place in range(3))),
        jobs=tuple(Job(id=f"j{place}", gpus=1) for place in range(6)),
    )
    group, node, gpus = np.array(held, dtype=np.int64).reshape(-1, 3).T
    holders = Holders.of_amounts(round_, [(job,) for job in range(6)], group, node, (gpus, gpus, gpus))
    sums = {job: sum(amount for one, at, amount in held if one == job and at in nodes) for job in range(6)}
    largest = sorted((job for job in sums if sums[job]), key=lambda job: -sums[job])[:number]
    found = holders.most(holders.gpus, np.array(sorted(nodes), dtype=np.int64), number)
    assert found == [(f"j{job}", sums[job]) for job in largest]
