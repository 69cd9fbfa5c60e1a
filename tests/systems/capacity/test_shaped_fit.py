"""A gang in the shape it asks for: found where any split would do, on as few nodes as can be."""

from __future__ import annotations

from itertools import product

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
