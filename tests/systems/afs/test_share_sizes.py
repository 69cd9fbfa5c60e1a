"""GPU counts a share may have."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from muri_opt import Cluster, InputError, Node
from muri_opt.systems.afs import share_sizes
from muri_opt.systems.afs.node_sizes import gpus_per_node


def cluster(*gpus: int) -> Cluster:
    return Cluster(nodes=tuple(Node(id=f"n{s}", gpus=count) for s, count in enumerate(gpus)))


@given(st.integers(0, 16), st.integers(0, 5), st.integers(0, 2))
def test_sizes_are_all_that_divide_a_node_or_are_made_of_nodes(size: int, nodes: int, empty: int) -> None:
    made = cluster(*[size] * nodes, *[0] * empty)
    total = size * nodes
    assert share_sizes(made, "any").tolist() == list(range(1, total + 1))
    assert share_sizes(made, "node").tolist() == [k for k in range(1, total + 1) if size % k == 0 or k % size == 0]
    assert gpus_per_node(made) == (size if total else 1)


def test_four_gpus_a_node() -> None:
    assert share_sizes(cluster(4, 4, 4), "node").tolist() == [1, 2, 4, 8, 12]


def test_unequal_nodes_have_no_sizes() -> None:
    with pytest.raises(InputError) as caught:
        share_sizes(cluster(8, 4, 0, 8), "node")
    assert (caught.value.field, caught.value.found) == ("cluster.nodes", "nodes of 4, 8 GPUs")
    assert share_sizes(cluster(2, 1), "any").tolist() == [1, 2, 3]
