"""Lists as they come in, pairs, disagreement."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ranking_draws import drawn_rankings, plain_cost

from muri_opt import InputError
from muri_opt.algorithms.ranking import Rankings, disagreement
from muri_opt.algorithms.ranking.disagreement import order_cost


@pytest.mark.parametrize(
    ("lists", "given_", "field", "found"),
    [
        ([[0, 1], [1, 2, 1]], {}, "lists[1][2]", "job 1 once more"),
        ([[0, 1], [0, 5]], {"jobs": 3}, "lists[1][1]", "5"),
        ([[0, -1]], {}, "lists[0][1]", "-1"),
        ([[0, 1.5]], {}, "lists[0][0]", "0.0"),
        ([[0, "b"]], {}, "lists[0][0]", "'0'"),
        ([[0, 1 << 50]], {}, "lists[0][1]", str(1 << 50)),
        ([[[0]]], {}, "lists[0]", "an array of 2 dimensions"),
        ([[0]], {"jobs": 0}, "lists[0][0]", "0"),
        ([[]], {"jobs": -1}, "jobs", "-1"),
        ([[0], [0]], {"weights": [1]}, "weights", "1 weights"),
        ([[0], [0]], {"weights": [1, 0]}, "weights[1]", "0"),
        ([[0, 1], [0]], {"weights": [1 << 39, 1]}, "weights", "a sum of 549,755,813,889"),
    ],
)
def test_bad_lists_are_refused_by_list_and_entry(lists, given_, field, found):
    with pytest.raises(InputError) as error:
        Rankings.of(lists, **given_)
    assert (error.value.field, error.value.found) == (field, found)


@pytest.mark.parametrize(("order", "field"), [([0, 1], "order"), ([0, 1, 1], "order[2]"), ([0, 1, 3], "order[2]")])
def test_an_order_names_every_job_once(order, field):
    with pytest.raises(InputError, match=re.escape(field)):
        disagreement(Rankings.of([[2, 1, 0]]), order)


def test_pairs_are_counted_by_the_lists_that_name_both():
    rankings = Rankings.of([[2, 0, 1], [1, 2], []], weights=[2, 3, 5])
    assert rankings.before.tolist() == [[0, 2, 0], [0, 0, 3], [2, 2, 0]]
    assert rankings.ranked.tolist() == [2, 5, 5]
    assert (len(rankings), rankings.lengths.tolist()) == (3, [3, 2, 0])
    assert disagreement(rankings, [2, 0, 1]) == 3
    assert disagreement(rankings, [1, 2, 0]) == 4


def test_no_list_and_no_job_are_lists_and_jobs_too():
    empty = Rankings.of([])
    assert (empty.jobs, len(empty), empty.before.shape, disagreement(empty, [])) == (0, 0, (0, 0), 0)
    assert disagreement(Rankings.of([], jobs=3), [2, 0, 1]) == 0


@given(drawn_rankings(most_jobs=9), st.data())
def test_disagreement_is_what_a_plain_count_says(rankings, data):
    order = data.draw(st.permutations(range(rankings.jobs)))
    assert disagreement(rankings, order) == plain_cost(rankings, order)
    assert order_cost(rankings.before, np.array(order)) == plain_cost(rankings, order)


@given(drawn_rankings(most_jobs=9), st.data())
def test_reversing_lists_and_order_changes_nothing(rankings, data):
    order = data.draw(st.permutations(range(rankings.jobs)))
    turned = Rankings.of([jobs[::-1] for jobs in rankings.lists], jobs=rankings.jobs, weights=rankings.weights)
    pairs = int((rankings.weights * rankings.lengths * (rankings.lengths - 1) // 2).sum())
    assert disagreement(turned, order[::-1]) == disagreement(rankings, order)
    assert disagreement(turned, order) == pairs - disagreement(rankings, order)


@given(drawn_rankings())
def test_agreed_pairs_are_in_all_lists_that_name_either(rankings):
    agreed = {tuple(pair) for pair in np.argwhere(rankings.agreed).tolist()}
    for a in range(rankings.jobs):
        for b in range(rankings.jobs):
            known = [jobs.tolist() for jobs in rankings.lists if a in jobs or b in jobs]
            same = all(a in jobs and b in jobs and jobs.index(a) < jobs.index(b) for jobs in known)
            assert ((a, b) in agreed) == (bool(known) and same)
