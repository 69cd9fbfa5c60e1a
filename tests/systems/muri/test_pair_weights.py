"""Weights that are kept from rounds before are those that would be worked out."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from muri_opt.systems.muri.options import AUTHORS, PAPER, GroupingOptions
from muri_opt.systems.muri.pair_weights import FEW, KEPT, PairWeights, weights_in_blocks


def drawn(draw: Random, count: int, stages: int) -> list[bytes]:
    """Return the stage times of groups of one to three jobs, a few of them alike."""
    rows = [
        np.array(
            [[draw.randint(0, 9) for _ in range(stages)] for _ in range(draw.choice([1, 1, 2, 3]))], dtype=np.int64
        )
        for _ in range(count - 5)
    ]
    return [row.tobytes() for row in (*rows, *rows[:5])]


@pytest.mark.parametrize(
    ("options", "stages"), [(PAPER, 4), (AUTHORS, 3), (GroupingOptions(largest_group=3, least_weight=0.5), 3)]
)
def test_kept_weights_are_those_worked_out_anew(options: GroupingOptions, stages: int) -> None:
    """Groups come and go and change their places; other stages and options are not taken for these."""
    draw = Random(1)
    kept = PairWeights()
    members = drawn(draw, FEW + 20, stages)
    for turn in range(4):
        members = [*draw.sample(members, len(members) - 10), *drawn(draw, 10, stages)]
        found = kept.of(members, stages, options)
        assert found.tolist() == PairWeights().of(members, stages, options).tolist()
        found[:] = -turn  # what is handed out is the caller's own
        other = GroupingOptions(largest_group=2)
        assert kept.of(members, stages, other).tolist() == PairWeights().of(members, stages, other).tolist()


def test_no_more_is_kept_than_some_matrices() -> None:
    draw, kept = Random(2), PairWeights()
    for _ in range(KEPT + 2):
        kept.of(drawn(draw, FEW, 4), 4, PAPER)
    assert len(kept._kept) == KEPT


@pytest.mark.parametrize(("options", "stages"), [(PAPER, 4), (AUTHORS, 3)])
def test_weights_of_all_blocks_at_once_are_those_of_each(options: GroupingOptions, stages: int) -> None:
    draw = Random(3)
    members = drawn(draw, 50, stages)
    line = np.array(draw.sample(range(50), 50))
    blocks = [np.sort(line[start : start + 12]) for start in range(0, 50, 12)]
    for block, found in zip(blocks, weights_in_blocks(members, blocks, stages, options), strict=True):
        alone = PairWeights().of([members[place] for place in block.tolist()], stages, options)
        np.fill_diagonal(alone, 0)
        assert found.tolist() == alone.tolist()
