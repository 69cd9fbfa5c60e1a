"""What is free is what there is, less what was taken and not given back."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from muri_opt import Cluster, Job, Node, Tenant
from muri_opt.rounds.amounts import UNLIMITED, Amounts
from muri_opt.rounds.free_capacity import FreeCapacity, Nodes

NODES = 4
GPUS, CPUS, MEMORY = [4, 8, 0, 2], [8000, UNLIMITED, 2000, 4000], [UNLIMITED, 4096, 1024, 0]
AMOUNTS = Amounts.of(
    Cluster(
        nodes=tuple(
            Node(
                id=f"n{s}",
                gpus=gpus,
                cpus=None if cpus == UNLIMITED else cpus / 1000,
                memory_gib=None if memory == UNLIMITED else memory / 1024,
            )
            for s, (gpus, cpus, memory) in enumerate(zip(GPUS, CPUS, MEMORY, strict=True))
        ),
        tenants=(Tenant(id="a", quota_gpus=3), Tenant(id="b")),
    ),
    (Job(id="j", gpus=2, cpus=3.0, memory_gib=1.0, tenant="a"), Job(id="k", gpus=1), Job(id="l", gpus=3, cpus=1.0)),
)

amounts = st.tuples(st.integers(0, 5), st.integers(0, 3000), st.integers(0, 2000))
nodes = st.one_of(
    st.integers(0, NODES - 1),
    st.just(slice(None)),
    st.lists(st.integers(0, NODES - 1), unique=True).map(lambda some: np.array(some, dtype=np.int64)),
)


@given(st.lists(st.tuples(nodes, amounts)), st.data())
def test_what_was_taken_is_missing_on_its_nodes_and_comes_back(
    takes: list[tuple[Nodes, tuple[int, int, int]]], data: st.DataObject
) -> None:
    free = FreeCapacity(AMOUNTS)
    left = [list(row) for row in (GPUS, CPUS, MEMORY)]
    for where, amount in takes:
        free.occupy(where, *amount)
        for row, some in zip(left, amount, strict=True):
            for s in np.arange(NODES)[where].reshape(-1).tolist():
                row[s] -= some
    assert [free.gpus.tolist(), free.cpus.tolist(), free.memory.tolist()] == left == free.left.tolist()
    part = data.draw(amounts)
    enough = [all(row[s] >= some for row, some in zip(left, part, strict=True)) for s in range(NODES)]
    assert free.holds(np.array(part)[:, None]).tolist() == enough
    for where, amount in data.draw(st.permutations(takes)):
        free.release(where, *amount)
    assert free.left.tolist() == [GPUS, CPUS, MEMORY] == [AMOUNTS.G.tolist(), AMOUNTS.C.tolist(), AMOUNTS.M.tolist()]


def test_gpus_that_fit_are_limited_by_what_goes_with_them() -> None:
    free = FreeCapacity(AMOUNTS)
    assert free.most_gpus(0).tolist() == [4, 8, 0, 0]  # 1.5 CPUs and half a GiB each
    assert free.most_gpus(0, 2).tolist() == [4, 8, 0, 0]
    free.occupy(0, 1, 3000, 0)
    assert free.most_gpus(0).tolist() == [3, 8, 0, 0]
    assert free.most_gpus(0, 2).tolist() == [2, 8, 0, 0]  # 1,834 milli-CPUs of 5,000
    assert free.most_gpus(1).tolist() == [3, 8, 0, 2]


def test_a_quota_is_used_up_overdrawn_and_given_back() -> None:
    free = FreeCapacity(AMOUNTS)
    listed, unlimited, nobody = 0, 1, -1
    assert [free.has_quota(listed, gpus) for gpus in (3, 4)] == [True, False]
    for tenant in (listed, unlimited, nobody):
        free.charge(tenant, 5)
    assert free.quota.tolist() == [-2, UNLIMITED - 5]
    assert [free.has_quota(tenant, 100) for tenant in (listed, unlimited, nobody)] == [False, True, True]
    free.charge(listed, -5)
    assert free.has_quota(listed, 3)
    assert AMOUNTS.U.tolist() == [3, UNLIMITED]
