"""Sets of nodes by amounts have all nodes with so much left, and few others, while what is left shrinks."""

from __future__ import annotations

from random import Random

import pytest

from muri_opt.rounds.amounts import UNLIMITED
from muri_opt.systems.capacity.amount_levels import AmountLevels


@pytest.mark.parametrize("most", [0, 3, 11, 100, 64_000])
def test_no_node_with_enough_is_left_out_and_those_that_lack_a_step_are(most: int) -> None:
    draw = Random(most)
    for _ in range(20):
        left = [draw.choice([UNLIMITED, draw.randint(0, most), draw.randint(-2, most)]) for _ in range(9)]
        levels, step = AmountLevels(left), max(1, -(-max([one for one in left if one < UNLIMITED], default=0) // 12))
        for _ in range(30):
            amount = draw.randint(0, most + 2)
            found = levels.nodes_with(amount)
            for node, has in enumerate(left):
                inside = bool(found >> node & 1)
                assert inside or has < amount
                assert not inside or has > amount - step or has >= 12 * step or amount < step
            taken = [draw.randrange(len(left)) for _ in range(draw.randint(0, 3))]
            for node in taken:
                left[node] -= draw.randint(0, 1 + most // 2)
            levels.look_at(taken)
