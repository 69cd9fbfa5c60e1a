"""A gang in the shape it asks for: found where any split would do, on as few nodes as can be."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
from hypothesis import given, strategies as st

from muri_opt.rounds import Cluster, Job, Node, Round, Within
from muri_opt.systems.capacity.node_sets import Demand, node_sets
from muri_opt.systems.capacity.shaped_fit import fit_in_sets, shaped_fit

ROOMS = st.lists(st.integers(0, 4), min_size=1, max_size=4)


@given(ROOMS, st.integers(1, 8), st.integers(1, 3), st.none() | st.integers(1, 4), st.booleans())
def test_a_shape_is_found_if_there_is_one_on_the_fewest_nodes(
    room: list[int], gpus: int, least: int, most: int | None, even: bool
) -> None:
    every = [split for split in product(*(range(has + 1) for has in room)) if sum(split) == gpus]
    counts = [
        sum(map(bool, split))
        for split in every
        if least <= sum(map(bool, split)) <= (len(room) if most is None else most)
        and (not even or len({part for part in split if part}) == 1)
    ]
    found = shaped_fit(np.array(room), gpus, least, most, even=even)
    if not counts:
        assert found is None
        return
    assert found is not None
    assert tuple(found.tolist()) in every
    assert np.count_nonzero(found) == min(counts)
    assert not even or len(set(found[found > 0].tolist())) == 1


def test_a_gang_goes_to_one_set_the_one_with_the_fewest_nodes_and_the_least_room() -> None:
    sets = (np.array([0, 1]), np.array([2, 3]), np.array([4]))
    demand = Demand(sets=sets, least=1, most=None, even=False)
    room = np.array([4, 4, 3, 4, 4])
    assert fit_in_sets(room, 4, demand).tolist() == [0, 0, 0, 0, 4]
    assert fit_in_sets(room, 7, demand).tolist() == [0, 0, 3, 4, 0]
    assert fit_in_sets(room, 8, demand).tolist() == [4, 4, 0, 0, 0]
    assert fit_in_sets(room, 9, demand) is None
    assert fit_in_sets(room, 8, demand, 1) is None


def test_sets_are_apart_by_type_and_unit_and_plain_rounds_have_none() -> None:
    nodes = [Node(id=f"n{s}", gpus=4, gpu_type="ab"[s // 2], rack=f"r{s % 2}") for s in range(4)]
    jobs = (Job(id="a", gpus=1), Job(id="b", gpus=1, within=Within(level="rack")), Job(id="c", gpus=1, held=""))
    sets = node_sets(Round(cluster=Cluster(nodes=tuple(nodes)), jobs=jobs))
    assert [[some.tolist() for some in sets.of(job).sets] for job in range(3)] == [
        [[0, 1], [2, 3]],
        [[0], [1], [2], [3]],
        [],
    ]
    assert node_sets(Round(cluster=Cluster(nodes=tuple(nodes)), jobs=jobs[:1])) is None


def set_by_set(room: np.ndarray, gpus: int, demand: Demand, most: int | None) -> np.ndarray | None:
    """Return the best share by a look at each set in turn."""
    found = []
    for place, nodes in enumerate(demand.sets):
        share = shaped_fit(room[nodes], gpus, demand.least, most, even=demand.even)
        if share is not None and room[nodes].sum() >= gpus:
            found.append((np.count_nonzero(share), room[nodes].sum(), place, share))
    if not found:
        return None
    *_, place, share = min(found, key=lambda one: one[:3])
    whole = np.zeros_like(room)
    whole[demand.sets[place]] = share
    return whole


@given(
    st.lists(st.lists(st.integers(-1, 5), min_size=1, max_size=5), min_size=0, max_size=6),
    st.integers(1, 12),
    st.integers(1, 3),
    st.none() | st.integers(1, 4),
    st.booleans(),
)
def test_many_sets_together_give_what_each_in_turn_does(
    rooms: list[list[int]], gpus: int, least: int, most: int | None, even: bool
) -> None:
    room = np.maximum(np.array([has for own in rooms for has in own], dtype=np.int64), 0)
    ends = np.cumsum([0, *map(len, rooms)])
    sets = tuple(np.arange(start, end) for start, end in pairwise(ends.tolist()))
    demand = Demand(sets=sets, least=least, most=most, even=even)
    for limit in (None, 1, 2, 5):
        fewest = min((one for one in (most, limit) if one is not None), default=None)
        expected, share = set_by_set(room, gpus, demand, fewest), fit_in_sets(room, gpus, demand, limit)
        assert (share is None) == (expected is None)
        assert share is None or share.tolist() == expected.tolist()
