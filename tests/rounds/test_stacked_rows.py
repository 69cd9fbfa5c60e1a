"""Arrays stacked from those of the last time are those stacked anew."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given, strategies as st

from muri_opt.rounds.stacked_rows import RowStack


@dataclass(frozen=True, eq=False)
class Thing:
    """A thing with rows of two kinds."""

    rows: np.ndarray
    speed: np.ndarray


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=8),
    st.lists(st.tuples(st.lists(st.integers(0, 7), unique=True, max_size=8), st.booleans()), max_size=6),
)
def test_what_is_stacked_is_what_the_things_have_in_their_order(
    sizes: list[int], calls: list[tuple[list[int], bool]]
) -> None:
    things = [
        Thing(np.arange(2 * size).reshape(size, 2) + 100 * number, np.full(size, number / 2))
        for number, size in enumerate(sizes)
    ]
    stack, none = RowStack(), (np.zeros((0, 2), dtype=np.int64), np.zeros(0))
    for places, both in calls:
        some = [things[place] for place in places if place < len(things)]
        stacked = stack.of(some, [len(thing.rows) for thing in some])
        rows = stacked.column("rows", none[0])
        assert rows.tolist() == [row for thing in some for row in thing.rows.tolist()]
        assert stacked.begins.tolist() == np.cumsum([0, *(len(thing.rows) for thing in some)]).tolist()
        if both:  # a column that the last ones were not asked for is made anew
            assert stacked.column("speed", none[1]).tolist() == [one for thing in some for one in thing.speed.tolist()]
        assert stacked.column("rows", none[0]) is rows
