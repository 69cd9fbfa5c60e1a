"""One capacity: the best for every amount, against trying everything."""

from itertools import product

import numpy as np
from hypothesis import given, strategies as st

from muri_opt.algorithms.knapsack import OneResource

OPTIONS = st.lists(st.tuples(st.integers(0, 5), st.integers(-2, 9)), max_size=4)


@given(st.lists(OPTIONS, max_size=4), st.integers(0, 9))
def test_the_best_of_every_amount_is_the_best_there_is(choices, capacity):
    arrays = [np.array(options, dtype=np.int64).reshape(len(options), 2).T for options in choices]
    programme = OneResource([(sizes, values) for sizes, values in arrays], capacity)
    ways = [[(0, 0), *options] for options in choices]
    for amount in range(capacity + 1):
        sums = [tuple(map(sum, zip(*way, strict=True))) or (0, 0) for way in product(*ways)]
        best = max(value for size, value in sums if size <= amount)
        taken = [options[place] for options, place in zip(choices, programme.chosen(amount), strict=True) if place >= 0]
        assert programme.best[amount] == best == sum(value for _, value in taken)
        assert sum(size for size, _ in taken) <= amount


def test_of_equally_good_options_the_smallest_is_taken():
    programme = OneResource([(np.array([3, 1, 2]), np.array([5, 5, 5]))], 4)
    assert programme.chosen(4) == [1]
    assert programme.chosen(0) == [-1]
