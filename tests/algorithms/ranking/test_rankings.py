"""Lists as they come in."""

import pytest

from muri_opt import InputError
from muri_opt.algorithms.ranking import Rankings


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


def test_lists_are_counted_by_length_and_weight():
    rankings = Rankings.of([[2, 0, 1], [1, 2], []], weights=[2, 3, 5])
    assert rankings.ranked.tolist() == [2, 5, 5]
    assert (len(rankings), rankings.jobs, rankings.lengths.tolist()) == (3, 3, [3, 2, 0])


def test_no_list_and_no_job_are_lists_and_jobs_too():
    empty = Rankings.of([])
    assert (empty.jobs, len(empty), empty.ranked.tolist()) == (0, 0, [])
    assert Rankings.of([], jobs=3).ranked.tolist() == [0, 0, 0]
