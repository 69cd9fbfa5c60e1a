"""Where one gang goes: the tightest node, else as few nodes as possible."""

from __future__ import annotations

import numpy as np
import pytest
from handmade import gang, round_of
from hypothesis import given, strategies as st

from muri_opt import Node
from muri_opt.systems.capacity import best_fit, fewest_nodes, held_gpus, nodes_needed


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


ROOMS = st.lists(st.integers(0, 6), max_size=6).map(lambda values: ints(*values))


@pytest.mark.parametrize(
    ("room", "gpus", "share"),
    [
        ((4, 2), 2, (0, 2)),  # the tightest node that holds it whole
        ((2, 4, 2), 2, (2, 0, 0)),  # the first of equals
        ((4, 3), 5, (4, 1)),  # the roomiest node filled, the rest on the other
        ((4, 1, 2), 5, (4, 1, 0)),  # the rest on the tightest node that holds it
        ((1, 1, 1), 3, (1, 1, 1)),
        ((0, 3), 3, (0, 3)),
        ((2, 2), 0, (0, 0)),
    ],
)
def test_hand_made_shares(room: tuple[int, ...], gpus: int, share: tuple[int, ...]) -> None:
    found = best_fit(ints(*room), gpus)
    assert found is not None
    assert found.tolist() == list(share)


@pytest.mark.parametrize("room", [(), (0, 0), (2, 2)])
def test_a_gang_that_does_not_fit_is_not_placed(room: tuple[int, ...]) -> None:
    assert best_fit(ints(*room), 5) is None


def test_gpus_held_now_are_kept_while_they_fit() -> None:
    held = ints(2, 1)
    kept = best_fit(ints(4, 4), 3, held)
    assert kept is not None
    assert kept.tolist() == [2, 1]
    moved = best_fit(ints(1, 4), 3, held)
    assert moved is not None
    assert moved.tolist() == [0, 3]
    grown = best_fit(ints(4, 4), 4, held)
    assert grown is not None
    assert grown.tolist() == [4, 0]


@given(ROOMS, st.integers(1, 12))
def test_a_share_is_whole_within_the_room_and_on_as_few_nodes_as_possible(room: np.ndarray, gpus: int) -> None:
    before = room.copy()
    share = best_fit(room, gpus)
    assert (room == before).all()
    assert (share is None) == (room.sum() < gpus)
    if share is not None:
        assert share.sum() == gpus
        assert (share >= 0).all()
        assert (share <= room).all()
        assert np.count_nonzero(share) == nodes_needed(room, gpus)


@given(ROOMS, st.integers(1, 12))
def test_nodes_needed_counts_the_roomiest(room: np.ndarray, gpus: int) -> None:
    roomiest = sorted(room.tolist(), reverse=True)
    counts = [count for count in range(len(roomiest) + 1) if sum(roomiest[:count]) >= gpus]
    assert nodes_needed(room, gpus) == min(counts, default=len(roomiest) + 1)


def test_fewest_nodes_counts_cpus_and_memory_too() -> None:
    nodes = [Node(id="n0", gpus=8, cpus=4), Node(id="n1", gpus=8, memory_gib=6), Node(id="n2", gpus=3)]
    jobs = [gang(0, 8), gang(1, 8, cpus=8), gang(2, 8, memory_gib=8), gang(3, 8, cpus=8, memory_gib=8), gang(4, 20)]
    round_ = round_of(nodes, jobs)
    # On n0 fit 4 GPUs with a CPU each, on n1 fit 6 with a GiB each.
    assert [fewest_nodes(round_, job) for job in range(5)] == [1, 1, 1, 2, 4]


def test_only_a_running_job_holds_gpus() -> None:
    jobs = [
        gang(0, 3, state="running", placement={"n2": 1, "n0": 2}),
        gang(1, 3, placement={"n0": 3}),
        gang(2, 3),
    ]
    round_ = round_of([4, 4, 4], jobs)
    held = [held_gpus(round_, job) for job in range(3)]
    assert held[0] is not None
    assert held[0].tolist() == [2, 0, 1]
    assert held[1:] == [None, None]
