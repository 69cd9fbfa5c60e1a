"""The pairs of groups that may be joined are those that a plain loop finds, in its order."""

from __future__ import annotations

from fractions import Fraction
from itertools import count, islice

import numpy as np
import pytest

from muri_opt.systems.muri.joined_groups import _from_least_loss, pairs_to_join


def one_by_one(sizes, gpus, new, largest, most):
    """Go through the new groups; each is paired with those that can be, or with some of them in turn."""
    each = max(1, most // max(1, len(new)))
    pairs = []
    for turn, one in enumerate(new):
        able = [v for v in range(len(sizes)) if gpus[v] == gpus[one] and sizes[v] < largest]
        if len(able) > each:
            able = [able[at % len(able)] for at in islice(count(turn * each % len(able)), each)]
        fits = [other for other in able if sizes[one] + sizes[other] <= largest]
        pairs += [(one, other) for other in fits if other not in new or one < other]
    return pairs


@pytest.mark.parametrize("seed", range(60))
def test_pairs_are_those_of_a_plain_loop(seed: int) -> None:
    draw = np.random.default_rng(seed)
    groups = int(draw.integers(0, 30))
    sizes, gpus = draw.integers(1, 5, groups), 2 ** draw.integers(0, 3, groups)
    new = draw.permutation(groups)[: int(draw.integers(0, groups + 1))]
    largest, most = int(draw.integers(1, 5)), int(draw.choice([1, 7, 40, 1000]))
    first, second = pairs_to_join(sizes, gpus, new, largest, most)
    found = list(zip(first.tolist(), second.tolist(), strict=True))
    assert found == one_by_one(sizes.tolist(), gpus.tolist(), new.tolist(), largest, most)


def test_two_new_groups_are_one_pair_and_more_than_most_are_shared_out() -> None:
    sizes, gpus = np.array([1, 1, 1, 1]), np.array([1, 1, 1, 1])
    first, second = pairs_to_join(sizes, gpus, np.array([0, 1]), 2, 100)
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)]
    first, second = pairs_to_join(sizes, gpus, np.array([0, 1]), 2, 4)
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == [(0, 1), (1, 2), (1, 3)]


@pytest.mark.parametrize("digits", [0, 45, 60, 2_000])
def test_unions_that_lose_least_for_a_gpu_come_first(digits: int) -> None:
    """Of any values: where jobs have many priorities these are beyond floats, and so are their losses."""
    draw = np.random.default_rng(digits)
    values = [int(each) << digits for each in draw.integers(1, 40, 12)]
    gpus = draw.integers(1, 6, 12)
    first, second = (at.reshape(-1) for at in np.indices((12, 12)))
    lost = [int(each) << int(draw.choice((0, digits))) for each in draw.integers(-3, 9, 144)]
    both = [values[one] + values[other] for one, other in zip(first.tolist(), second.tolist(), strict=True)]
    joint = np.array([whole - loss for whole, loss in zip(both, lost, strict=True)], dtype=object)
    joint = joint if digits > 45 else joint.astype(np.int64)
    line = _from_least_loss(values, joint, first, second, gpus).tolist()
    each = [Fraction(loss, int(gpus[one])) for loss, one in zip(lost, first.tolist(), strict=True)]
    assert line == sorted(range(144), key=each.__getitem__)
