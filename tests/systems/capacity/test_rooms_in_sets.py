"""On how many nodes a gang would be, told at once for all gangs of the same needs, against a fit of each."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, strategies as st

from muri_opt.rounds.amounts import gpus_that_fit, rooms_that_fit
from muri_opt.rounds.quantities import MAX_CPUS, MAX_MEMORY_GIB, mebibytes, milli_cpus
from muri_opt.systems.capacity.node_sets import Demand
from muri_opt.systems.capacity.rooms_in_sets import GangsInSets, RoomsInSets, gpus_inside
from muri_opt.systems.capacity.shaped_fit import fit_in_sets


def demands(data: st.DataObject, nodes: int) -> Demand:
    of = data.draw(st.lists(st.integers(0, 2), min_size=nodes, max_size=nodes))
    sets = tuple(np.flatnonzero(np.array(of) == one) for one in sorted(set(of) - {2}))
    least, most = data.draw(st.integers(1, 3)), data.draw(st.none() | st.integers(1, 3))
    shaped = data.draw(st.booleans())
    return Demand(sets=sets, least=least if shaped else 1, most=most if shaped else None, even=False)


@given(st.data())
def test_as_many_nodes_as_the_fit_of_each(data: st.DataObject) -> None:
    nodes = data.draw(st.integers(1, 6))
    free = [np.array(data.draw(st.lists(st.integers(0, 9), min_size=nodes, max_size=nodes))) for _ in range(3)]
    rooms, demand = RoomsInSets(*free), demands(data, nodes)
    for _ in range(3):
        needs, gpus = data.draw(st.tuples(st.integers(0, 3), st.integers(0, 3))), data.draw(st.integers(0, 20))
        limit = data.draw(st.none() | st.integers(1, 4))
        share = fit_in_sets(rooms.of(needs), gpus, demand, limit)
        assert rooms.fewest_nodes(needs, gpus, demand, limit) == (None if share is None else np.count_nonzero(share))


@given(st.data())
def test_many_gangs_fit_at_once_where_each_does(data: st.DataObject) -> None:
    nodes = data.draw(st.integers(1, 6))
    free = [np.array(data.draw(st.lists(st.integers(-1, 9), min_size=nodes, max_size=nodes))) for _ in range(3)]
    rooms, some = RoomsInSets(*free), [demands(data, nodes) for _ in range(data.draw(st.integers(1, 3)))]
    ask = st.tuples(st.tuples(st.integers(0, 3), st.integers(0, 3)), st.integers(0, 20), st.sampled_from(some))
    asked = data.draw(st.lists(ask, max_size=6))
    assert rooms.hold(GangsInSets.of(asked, nodes)) == [rooms.fewest_nodes(*one) is not None for one in asked]


MOST = milli_cpus(MAX_CPUS), mebibytes(MAX_MEMORY_GIB)


@given(st.data())
def test_rooms_of_many_needs_are_those_of_each_to_the_last_gpu(data: st.DataObject) -> None:
    nodes, many = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    needs = np.array(
        [[data.draw(st.sampled_from([0, 1, 3]) | st.integers(0, most)) for most in MOST] for _ in range(many)]
    )
    free = [np.array([data.draw(st.integers(-9, 10**6)) for _ in range(nodes)])]
    for need in needs.T:  # amounts that are just enough for some GPUs, or one too few
        parts = st.integers(0, 1_000), st.sampled_from([-1, 0, 1])
        some = [data.draw(st.sampled_from(need.tolist())) for _ in range(nodes)]
        free.append(np.array([one * data.draw(parts[0]) + data.draw(parts[1]) for one in some]))
    rooms = rooms_that_fit(needs, *free)
    assert rooms.tolist() == [gpus_that_fit((cpus, memory), *free).tolist() for cpus, memory in needs.tolist()]


@pytest.mark.parametrize(("kinds", "rows", "entries"), [(2, 3, 40), (40, 30, 60), (300, 5, 700), (1, 1, 1), (3, 3, 0)])
def test_gpus_that_fit_inside_rows_are_those_of_their_nodes(kinds: int, rows: int, entries: int) -> None:
    draw, nodes = Random(kinds), 200
    free = tuple(np.array([draw.randint(0, most) for _ in range(nodes)]) for most in (8, 40, 60))
    needs = np.array([[draw.randint(0, 7), draw.randint(0, 9)] for _ in range(kinds)])
    inside = np.array([[draw.random() < 0.3 for _ in range(nodes)] for _ in range(rows)])
    kind, row = (np.array([draw.randrange(most) for _ in range(entries)], dtype=int) for most in (kinds, rows))
    rooms = [
        int(gpus_that_fit((cpus, memory), *free)[inside[at]].sum())
        for (cpus, memory), at in zip(needs[kind].tolist(), row, strict=True)
    ]
    assert gpus_inside(free, needs, kind, inside, row).tolist() == rooms
