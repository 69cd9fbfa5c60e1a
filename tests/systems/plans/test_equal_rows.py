"""Equal demands have one number, and different ones do not."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from muri_opt.systems.plans.equal_rows import equal_rows


@given(st.lists(st.tuples(*[st.sampled_from([-1, 0, 7, 1 << 60])] * 3), max_size=9))
def test_demands_are_equal_where_their_numbers_are(demands: list[tuple[int, ...]]) -> None:
    """Also where they are too large to be told apart by one word."""
    first, place = equal_rows(np.array(demands, dtype=np.int64).reshape(-1, 3).T)
    assert [demands[first[at]] for at in place.tolist()] == demands
    assert len(first) == len({*demands})
