"""Resources that another implies: leaving them out changes nothing about what fits."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from muri_opt.algorithms.knapsack import Options


@st.composite
def knapsacks(draw: st.DrawFn) -> Options:
    """Draw one option for each of a few jobs; some resources are in proportion to the first."""
    jobs, first = draw(st.integers(1, 4)), draw(st.integers(0, 6))
    scale = draw(st.sampled_from([1, 10**15]))
    use, capacity = [[draw(st.integers(0, 4)) for _ in range(jobs)]], [first]
    for _ in range(draw(st.integers(0, 3))):
        times = draw(st.integers(1, 3))
        less = [times * each - draw(st.integers(0, 1)) for each in use[0]]
        use.append([max(0, each) * scale for each in less])
        capacity.append((times * first + draw(st.integers(-1, 1)) if first else draw(st.integers(0, 3))) * scale)
    has = np.maximum(capacity, 0)
    return Options.of(np.arange(jobs), np.ones(jobs, dtype=np.int64), np.array(use).T, has, jobs=jobs)


@given(knapsacks())
def test_what_fits_is_the_same_without_implied_resources(options):
    fewer = options.under(options.binding())
    assert 1 <= len(fewer.capacity) <= len(options.capacity)
    for taken in range(1 << options.jobs):
        choice = np.array([job if taken >> job & 1 else -1 for job in range(options.jobs)], dtype=np.int64)
        assert fewer.fits(choice) == options.fits(choice)


def test_of_resources_in_proportion_the_first_is_left():
    use = np.array([[1, 2, 500], [3, 6, 900]])
    options = Options.of([0, 1], [1, 1], use, [4, 8, 2_000], jobs=2)
    assert options.under(options.binding()).capacity.tolist() == [4]


def test_a_resource_there_is_none_of_implies_nothing():
    options = Options.of([0, 1], [1, 1], np.array([[0, 3], [0, 2]]), [0, 4], jobs=2)
    assert options.under(options.binding()).capacity.tolist() == [4]
