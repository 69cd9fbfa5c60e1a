"""What is drawn of a replay: exact where it is short, exact means where it is long."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from replay_outcomes import at_random, by_hand, floats, without_jobs, without_nodes

from muri_opt.report.charts.replay_heat import levels
from muri_opt.report.charts.replay_series import SHORTEST, distribution, heat, means, steps


def test_the_distribution_by_hand():
    times, parts = distribution(by_hand().jobs.completion)
    assert times.tolist() == [10, 40, 100]
    assert parts.tolist() == [0.5, 0.75, 1.0]


def test_no_time_is_too_short_for_a_logarithm():
    times, parts = distribution(floats(0, 0, 5))
    assert times.tolist() == [SHORTEST, 5]
    assert parts.tolist() == pytest.approx([2 / 3, 1])


@given(st.lists(st.integers(1, 50), min_size=1, max_size=60), st.integers(2, 10))
def test_every_point_of_a_thinned_distribution_is_exact_and_both_ends_stay(values, most):
    times, parts = distribution(floats(*values), most)
    assert len(times) <= most
    assert (times[0], times[-1], parts[-1]) == (min(values), max(values), 1.0)
    for time, part in zip(times, parts, strict=True):
        assert part == sum(value <= time for value in values) / len(values)


def test_few_steps_stay_as_they_are():
    timeline = by_hand().timeline
    found = steps(timeline, timeline.queue)
    assert found.edges.tolist() == [0, 10, 20, 40, 100]
    assert found.values.tolist() == [2, 2, 1, 0]
    assert len(steps(without_jobs().timeline, without_jobs().timeline.queue).values) == 0


def test_means_by_hand():
    timeline = by_hand().timeline
    assert means(timeline, timeline.queue, floats(0, 30, 50, 100, 200)).tolist() == pytest.approx([50 / 30, 0.5, 0, 0])
    found = steps(timeline, timeline.queue, most=2)
    assert found.edges.tolist() == [0, 50, 100]
    assert found.values.tolist() == [60 / 50, 0]


@given(st.integers(0, 99), st.integers(1, 40))
def test_thinned_steps_keep_the_integral_and_the_bounds(seed, most):
    timeline = at_random("p", jobs=1, nodes=1, moments=50, seed=seed).timeline
    found = steps(timeline, timeline.queue, most)
    assert len(found.values) == most
    whole = (np.diff(timeline.seconds) * timeline.queue[:-1]).sum()
    assert (np.diff(found.edges) * found.values).sum() == pytest.approx(whole, rel=1e-9)
    assert found.values.max() <= timeline.queue.max() * (1 + 1e-9)


def test_the_heat_of_nodes_by_hand():
    timeline = by_hand().timeline
    found = heat(timeline, 0, 100, columns=5)
    assert found.rows == (range(1), range(1, 2))
    assert found.values.tolist() == [[1, 2, 0, 0, 0], [1, 2, 1, 1, 1]]
    assert heat(timeline, 0, 200, columns=2).values.tolist() == [[0.6, 0], [1.2, 0]]


def test_neighbours_share_a_row_where_there_are_many_nodes():
    timeline = at_random("p", jobs=1, nodes=7, moments=20, seed=1).timeline
    found = heat(timeline, 0, 2e5, columns=3, most=3)
    assert found.rows == (range(3), range(3, 6), range(6, 7))
    alone = heat(timeline, 0, 2e5, columns=3).values
    assert found.values[0] == pytest.approx(alone[:3].mean(axis=0), rel=1e-9)
    assert found.values[2] == pytest.approx(alone[6], rel=1e-9)


def test_without_nodes_or_time_there_is_no_heat():
    assert heat(without_nodes(by_hand()).timeline, 0, 100).rows == ()
    assert heat(without_jobs().timeline, 0, 0).rows == ()
    assert heat(by_hand().timeline, 5, 5).rows == ()


def test_shades_are_0_for_nothing_only():
    assert levels(floats(0, 1e-10, 1, 1.5, 7.9, 8), 8).tolist() == [0, 1, 1, 2, 8, 8]
