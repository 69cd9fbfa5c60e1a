"""On how many nodes a gang would be, told at once for all gangs of the same needs, against a fit of each."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from muri_opt.systems.capacity.node_sets import Demand
from muri_opt.systems.capacity.rooms_in_sets import GangsInSets, RoomsInSets
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
