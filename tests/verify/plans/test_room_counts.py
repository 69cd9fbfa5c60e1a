"""On how many nodes pieces find room, told at once, is what one finds node by node."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from muri_opt.verify.amounts import NO_LIMIT
from muri_opt.verify.plans import room_counts
from muri_opt.verify.plans.room_counts import alike, nodes_with_room

AMOUNTS = st.sampled_from([0, 1, 2, 5, NO_LIMIT])
SIZES = st.tuples(AMOUNTS, AMOUNTS, AMOUNTS)


@given(
    st.lists(st.tuples(SIZES, st.booleans(), st.booleans()), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 1), SIZES), max_size=8),
    st.sampled_from([1, 1 << 20]),
)
def test_nodes_with_room_are_those_counted_one_by_one(
    nodes: list[tuple[tuple[int, int, int], bool, bool]], pieces: list[tuple[int, tuple[int, int, int]]], cells: int
) -> None:
    free = np.array([room for room, _, _ in nodes], dtype=np.int64)
    hosts = np.array([[first for _, first, _ in nodes], [second for _, _, second in nodes]])
    kind = np.array([one for one, _ in pieces], dtype=np.int64)
    sizes = np.array([size for _, size in pieces], dtype=np.int64).reshape(-1, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room_counts, "_CELLS", cells)  # pieces are looked at one by one, or all together
        found = nodes_with_room(free, hosts, kind, sizes)
    assert found.tolist() == [
        sum(hosts[one][at] and all(free[at] >= size) for at in range(len(nodes))) for one, size in pieces
    ]


@given(st.lists(st.tuples(*[st.sampled_from([-3, 0, 4, 1 << 60])] * 3), max_size=9))
def test_rows_alike_are_equal_and_others_are_not(rows: list[tuple[int, ...]]) -> None:
    """Also where they are too large to be told apart by one word."""
    first, place = alike(np.array(rows, dtype=np.int64).reshape(-1, 3))
    assert [rows[first[at]] for at in place.tolist()] == rows
    assert len(first) == len({*rows})
