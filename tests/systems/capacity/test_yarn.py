"""First fit on one node, else whole free nodes and a remainder."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from muri_opt.systems.capacity import first_fit


def fit(room: list[int], gpus: int, whole: list[int]) -> list[int] | None:
    before = np.array(room, dtype=np.int64)
    share = first_fit(before, gpus, np.array(whole, dtype=np.int64))
    assert before.tolist() == room  # what is free is only read
    return None if share is None else share.tolist()


@pytest.mark.parametrize(
    ("room", "gpus", "whole", "share"),
    [
        ([2, 8, 3], 3, [8, 8, 8], [0, 3, 0]),  # the first that holds it, not the tightest
        ([8, 3, 8], 8, [8, 8, 8], [8, 0, 0]),
        ([4, 4, 4], 8, [8, 8, 8], None),  # a gang that a node could hold is not spread
        ([8, 8, 8], 16, [8, 8, 8], [8, 8, 0]),
        ([7, 8, 8], 16, [8, 8, 8], [0, 8, 8]),  # only completely free nodes are taken whole
        ([3, 8, 8], 11, [8, 8, 8], [3, 8, 0]),  # the rest goes to the first node that holds it
        ([2, 8, 8], 11, [8, 8, 8], [0, 8, 3]),
        ([2, 8, 2], 11, [8, 8, 8], None),
        ([7, 7, 7], 16, [8, 8, 8], None),
        ([7, 7, 7], 9, [8, 8, 8], None),
        ([2, 4, 4], 5, [2, 4, 4], [2, 3, 0]),  # nodes of different sizes, in order
        ([0, 4], 4, [0, 4], [0, 4]),
        ([], 1, [], None),
    ],
)
def test_a_gang_is_placed_by_the_rule(room: list[int], gpus: int, whole: list[int], share: list[int] | None) -> None:
    assert fit(room, gpus, whole) == share


@given(st.integers(1, 8), st.lists(st.integers(0, 8), max_size=5), st.integers(1, 30))
def test_on_equal_nodes_it_is_the_rule_of_the_simulator(size: int, free: list[int], gpus: int) -> None:
    room = [min(size, gpus_free) for gpus_free in free]
    share = fit(room, gpus, [size] * len(room))
    full, rest = divmod(gpus, size) if gpus > size else (0, gpus)
    empty = [s for s, left in enumerate(room) if left == size][:full]
    last = [s for s, left in enumerate(room) if left >= rest and s not in empty]
    if len(empty) < full or (rest and not last):
        assert share is None
    else:
        wanted = [size if s in empty else 0 for s in range(len(room))]
        if rest:
            wanted[last[0]] = rest
        assert share == wanted
