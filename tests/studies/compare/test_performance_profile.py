"""Performance profiles: an example by hand, ties and times of nothing, and what holds of every study."""

from dataclasses import replace

import numpy as np
import pytest
from comparison_rows import found, refused, run, studies
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt.studies.compare.pairs import pairs_of
from muri_opt.studies.compare.profile import SHORTEST, ended, profile, reached

INF = float("inf")


def on(instance, *rows):
    return [replace(row, instance=instance) for row in rows]


BY_HAND = [
    *on("one", found("quick", 10, 1.0), run("exact", 10, 4.0), run("slow", 10, 8.0)),
    *on("two", found("quick", 9, 1.0), run("exact", 10, 6.0), found("slow", 10, 3.0)),
    *on("three", found("quick", 7, 2.0), refused("exact"), refused("slow")),
    *on("four", refused("quick"), refused("exact"), refused("slow")),
    *on("five", found("quick", None, 2.0), found("exact", None, 2.0), refused("slow")),
]
"""Five rounds: ``four`` is refused by all and does not count; ``five`` is solved by none and does."""


def test_what_is_reached_by_hand():
    told = profile(pairs_of(BY_HAND), reached)
    assert told.methods == ("quick", "exact", "slow")
    assert told.ratios.tolist() == [[1, 4, 8], [INF, 2, 1], [1, INF, INF], [INF, INF, INF]]
    assert told.parts(1).tolist() == [0.5, 0, 0.25]
    assert told.parts(2).tolist() == [0.5, 0.25, 0.25]
    assert told.parts(3.999).tolist() == [0.5, 0.25, 0.25]
    assert told.parts(4).tolist() == [0.5, 0.5, 0.25]
    assert told.parts(1e300).tolist() == [0.5, 0.5, 0.5]
    assert told.largest == 8
    assert [part.tolist() for part in told.curve(0)] == [[1], [0.5]]
    assert [part.tolist() for part in told.curve(1)] == [[2, 4], [0.25, 0.5]]


def test_what_is_solved_to_the_end_by_hand():
    told = profile(pairs_of(BY_HAND), ended)
    assert told.ratios.tolist() == [[INF, 1, 2], [INF, 1, INF], [INF] * 3, [INF] * 3]
    assert told.parts(1).tolist() == [0, 0.5, 0]
    assert [part.tolist() for part in told.curve(0)] == [[], []]


def test_those_who_tie_are_all_first():
    told = profile(pairs_of([run("a", seconds=0.3), run("b", seconds=0.3), run("c", seconds=0.6)]), ended)
    assert told.parts(1).tolist() == [1, 1, 0]


def test_times_of_nothing_and_nearly_nothing_are_the_same():
    rows = [run("a", seconds=0.0), run("b", seconds=SHORTEST / 7), run("c", seconds=4 * SHORTEST)]
    assert profile(pairs_of(rows), ended).ratios.tolist() == [[1, 1, 4]]


def test_a_method_that_solves_a_pair_twice_has_its_better_time():
    told = profile(pairs_of([run("a", seconds=8.0), run("b", seconds=1.0), run("a", seconds=2.0)]), ended)
    assert told.ratios.tolist() == [[2, 1]]


def test_a_method_that_did_not_run_has_not_solved():
    told = profile(pairs_of([*on("x", run("a")), *on("y", run("b"))]), reached)
    assert told.ratios.tolist() == [[1, INF], [INF, 1]]


def test_nothing_is_proved_where_a_value_lies_above_a_bound():
    rows = [run("a", 10), found("b", 11)]
    assert profile(pairs_of(rows), ended).parts(1).tolist() == [0, 0]
    assert profile(pairs_of(rows), reached).parts(1).tolist() == [0, 1]


def test_no_pairs_make_no_parts():
    told = profile(pairs_of([refused("a"), refused("b")]), reached)
    assert told.parts(1).tolist() == [0, 0]
    assert told.largest == 1
    assert len(told.curve(1)[0]) == 0
    assert profile([], reached).methods == ()


@more_examples(60)
@given(studies(), st.sampled_from((reached, ended)), st.floats(1, 1e8), st.floats(1, 1e8))
def test_parts_rise_from_those_of_the_fastest_to_what_is_solved(rows, solved, one, other):
    pairs = pairs_of(rows)
    told = profile(pairs, solved)
    low, high = told.parts(min(one, other)), told.parts(max(one, other))
    assert ((low >= 0) & (low <= high) & (high <= 1)).all()
    count = sum(not all(row.refused for row in pair.rows) for pair in pairs)
    assert len(told.ratios) == count
    for place, method in enumerate(told.methods):
        mine = sum(any(row.method == method and solved(pair, row) for row in pair.rows) for pair in pairs)
        ratios, parts = told.curve(place)
        assert told.parts(told.largest)[place] == mine / max(1, count)
        assert [told.parts(ratio)[place] for ratio in ratios] == parts.tolist()
        assert (np.diff(ratios) > 0).all()
    anybody = sum(any(solved(pair, row) for row in pair.rows) for pair in pairs)
    assert told.parts(1).sum() * count == pytest.approx(np.count_nonzero(told.ratios == 1), rel=1e-12)
    assert np.count_nonzero((told.ratios == 1).any(axis=1)) == anybody
    assert (told.ratios >= 1).all()


@more_examples(30)
@given(studies(), st.sampled_from((reached, ended)), st.integers(0, 40))
def test_a_faster_machine_has_the_same_profile(rows, solved, power):
    """A power of two is exact; times are kept above what counts as the shortest."""
    slow = [replace(row, solve_seconds=max(SHORTEST, row.solve_seconds)) for row in rows]
    slower = [replace(row, solve_seconds=row.solve_seconds * 2.0**power) for row in slow]
    assert np.array_equal(profile(pairs_of(slow), solved).ratios, profile(pairs_of(slower), solved).ratios)
