"""Sets of nodes as bits say what rows of booleans say."""

import numpy as np
from hypothesis import given, strategies as st

from muri_opt.rounds.node_bits import EVERY_NODE, bits_of, bits_of_each, rows_of_bits, words_of


@st.composite
def some_rows(draw):
    nodes = draw(st.integers(0, 140))
    sets = draw(st.lists(st.integers(0, (1 << nodes) - 1), max_size=4))
    rows = [[bool(one >> node & 1) for node in range(nodes)] for one in sets]
    return sets, np.array(rows, dtype=np.bool_).reshape(len(sets), nodes)


@given(some_rows())
def test_bits_and_rows_say_the_same(drawn):
    sets, rows = drawn
    nodes = rows.shape[1]
    assert [bits_of(row) for row in rows] == sets
    assert bits_of_each(rows) == sets
    assert rows_of_bits(sets, nodes).tolist() == rows.tolist()
    assert rows_of_bits([EVERY_NODE], nodes).tolist() == [[True] * nodes]
    assert rows_of_bits([~one for one in sets], nodes).tolist() == (~rows).tolist()


@given(some_rows())
def test_two_rows_have_words_in_common_where_they_have_nodes_in_common(drawn):
    sets, rows = drawn
    words = words_of(rows)
    common = [
        [any((word[one] & word[other]).item() for word in words) for one in range(len(sets))]
        for other in range(len(sets))
    ]
    assert common == [[bool(one & other) for one in sets] for other in sets]
