"""What is remembered of room is what would be looked up again."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from muri_opt.rounds.generate.families import generate
from muri_opt.systems.plans import FreeNodes, PlanOptions, PlanRules


@given(st.integers(0, 30), st.lists(st.integers(0, 10**6), min_size=1, max_size=12))
def test_whether_an_option_fits_is_known_after_every_change_of_room(seed: int, draws: list[int]) -> None:
    round_ = generate("plans", jobs=6, nodes=3, seed=seed)
    options = PlanOptions.of(round_, PlanRules())
    free, taken = FreeNodes(round_, options), []
    for draw in draws:
        option = draw % len(options)
        room = np.flatnonzero(free.room(option))
        if len(room) >= options.q[option]:
            taken.append((option, room[: options.q[option]]))
            free.take(*taken[-1])
        elif taken:
            free.give(*taken.pop(draw % len(taken)))
        fitting = [free.fits(o) for o in range(len(options))]
        assert fitting == [int(free.room(o).sum()) >= options.q[o] for o in range(len(options))]
    for one in taken:
        free.give(*one)
    assert np.array_equal(free.left, [round_.amounts.G, round_.amounts.C, round_.amounts.M])
