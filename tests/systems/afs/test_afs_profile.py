"""Which GPU counts are measured next, and which shares are legal."""

import pytest

from muri_opt.errors import InputError
from muri_opt.systems.afs import legal_shares, next_measurements


def test_the_largest_count_comes_first():
    assert next_measurements({}, 16) == (16,)
    assert next_measurements({1: 1.0, 4: 3.0}, 16) == (16,)


def test_then_the_least_known_counts_on_the_way_down():
    """Between 1 and 16 GPUs at 1 and 8 a second: 4 GPUs take 1/4 to 1/2 of a second, 2 GPUs 1/2 to 1."""
    assert next_measurements({16: 8.0}, 16) == (1,)
    assert next_measurements({1: 1.0, 16: 8.0}, 16) == (8,)
    assert next_measurements({1: 1.0, 8: 5.0, 16: 8.0}, 16) == (12, 5)
    assert next_measurements({4: 3.0, 16: 8.0}, 16) == (10, 1)


def test_what_is_as_good_as_known_is_left_out():
    assert next_measurements({1: 1.0, 2: 1.9, 3: 2.7}, 3) == ()
    assert next_measurements({1: 1.0, 9: 9.0}, 9) == ()  # linear: both bounds agree
    assert next_measurements({1: 1.0, 9: 1.04}, 9) == ()  # flat: they agree within the tolerance
    assert next_measurements({1: 1.0, 9: 1.04}, 9, tolerance=0.01) == (9 - 1,)
    assert next_measurements({1: 1.0, 4: 8.0}, 4) == (3,)  # better than linear: the bounds cross
    assert next_measurements({1: 1.0, 2: 2.0, 99: 9.0}, 2) == ()  # beyond the most is of no use


def test_every_count_is_measured_in_the_end():
    table = {}
    while counts := next_measurements(table, 12, tolerance=0.0):
        assert list(counts) == sorted(counts, reverse=True)
        assert not table.keys() & set(counts)
        table.update({k: k**0.7 for k in counts})
    assert sorted(table) == list(range(1, 13))


def test_measuring_needs_a_gpu():
    with pytest.raises(InputError, match="most_gpus: found 0; allowed: a whole number from 1"):
        next_measurements({}, 0)


def test_legal_shares_divide_or_fill_nodes():
    assert legal_shares(4, 17) == (1, 2, 4, 8, 12, 16)
    assert legal_shares(6, 20) == (1, 2, 3, 6, 12, 18)
    assert legal_shares(8, 5) == (1, 2, 4)
    assert legal_shares(1, 3) == (1, 2, 3)
    assert legal_shares(4, 0) == ()
    with pytest.raises(InputError, match="gpus_per_node: found 0; allowed: a whole number from 1"):
        legal_shares(0, 4)
