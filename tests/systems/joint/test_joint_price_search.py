"""The parts of the price search that look only at what changed, against ones that look at everything again."""

from __future__ import annotations

import numpy as np
import pytest

from muri_opt.systems.joint.groups.partners import heaviest_first
from muri_opt.systems.joint.groups.sizes import _fill, price_of


def one_by_one(gain):
    """Return the pairs of one row: the largest gain above 0 first, the first of equal ones."""
    gain, found = gain.copy(), set()
    while gain.size and gain.max() > 0:
        first, second = sorted(divmod(int(gain.argmax()), len(gain)))
        found.add((first, second))
        gain[[first, second]] = gain[:, [first, second]] = -np.inf
    return found


@pytest.mark.parametrize("seed", range(30))
def test_the_largest_gains_pair_as_one_by_one(seed):
    rng = np.random.default_rng(seed)
    jobs, rows = int(rng.integers(1, 25)), int(rng.integers(1, 4))
    gain = rng.normal(size=(rows, jobs, jobs))
    gain = gain + gain.transpose(0, 2, 1)
    gain[:, np.arange(jobs), np.arange(jobs)] = -np.inf
    before = gain.copy()
    row, first, second = heaviest_first(gain)
    for at in range(rows):
        here = row == at
        assert set(zip(first[here].tolist(), second[here].tolist(), strict=True)) == one_by_one(gain[at])
    assert (gain == before).all()


def bisected(value, counts, gpus):
    """Return the price and the sizes of a bisection that asks every group at every price."""
    chosen = value.argmax(axis=1)
    if counts[chosen].sum() <= gpus:
        return 0.0, chosen
    low, high = 0.0, float((value[:, 1:] / counts[1:]).max(initial=0.0)) * (1 + 1e-9) + 1e-300
    chosen = np.zeros(len(value), dtype=np.int64)
    for _ in range(40):
        middle = (low + high) / 2
        asked = (value - middle * counts).argmax(axis=1)
        if counts[asked].sum() > gpus:
            low = middle
            continue
        high, chosen = middle, asked
        if counts[asked].sum() == gpus:
            break
    return high, chosen


@pytest.mark.parametrize("seed", range(40))
def test_groups_that_are_settled_need_not_be_asked(seed):
    rng = np.random.default_rng(seed)
    groups, sizes, gpus = (int(rng.integers(1, most)) for most in (40, 20, 80))
    counts = np.append(0, np.sort(rng.choice(np.arange(1, 30), size=sizes, replace=False)))
    value = np.column_stack([np.zeros(groups), rng.uniform(0, 5, (groups, sizes)).cumsum(axis=1)])
    value[:, 1:][rng.random((groups, sizes)) < 0.2] = 0.0
    price, chosen = price_of(value, counts, gpus)
    expected, asked = bisected(value, counts, gpus)
    assert price == expected
    assert chosen.tolist() == asked.tolist()


def filled(value, counts, chosen, left):
    """Return the sizes after giving away what is left, all groups being looked at in every step."""
    chosen = chosen.copy()
    while left > 0:
        steps = [
            ((value[u, k] - value[u, chosen[u]]) / (counts[k] - counts[chosen[u]]), -u, -k)
            for u in range(len(value))
            for k in range(len(counts))
            if 0 < counts[k] - counts[chosen[u]] <= left and value[u, k] > value[u, chosen[u]]
        ]
        if not steps:
            break
        _, group, size = max(steps)
        left -= counts[-size] - counts[chosen[-group]]
        chosen[-group] = -size
    return chosen


@pytest.mark.parametrize("seed", range(30))
def test_what_is_left_goes_where_it_adds_most_whoever_is_looked_at_again(seed):
    rng = np.random.default_rng(seed)
    groups, sizes, left = (int(rng.integers(1, most)) for most in (12, 9, 30))
    counts = np.append(0, np.sort(rng.choice(np.arange(1, 20), size=sizes, replace=False)))
    value = np.column_stack([np.zeros(groups), rng.integers(0, 6, (groups, sizes)).cumsum(axis=1)]).astype(np.float64)
    value[:, 1:][rng.random((groups, sizes)) < 0.2] = 0.0
    chosen = rng.integers(0, sizes + 1, groups)
    expected = filled(value, counts, chosen, left)
    _fill(value, counts, chosen, left)
    assert chosen.tolist() == expected.tolist()
