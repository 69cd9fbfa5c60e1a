"""Shares are kept where a change does not pay its restart, and only there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from muri_opt.systems.afs import NEVER, kept_shares


def kept(shares: list[int], present: list[int], times: list[list[int]], restart: list[int], gpus: int) -> list[int]:
    time = np.array([[NEVER, *row] for row in times], dtype=np.int64).reshape(
        len(shares), 1 + max(map(len, times), default=1)
    )
    ints = [np.array(values, dtype=np.int64) for values in (shares, present)]
    found = kept_shares(*ints, time, np.array(restart, dtype=np.int64), gpus)
    assert ints[0].tolist() == shares
    return found.tolist()


HALVED = [12, 6, 4, 3]


@pytest.mark.parametrize(
    ("wants", "has", "restart", "expected"),
    [
        (4, 2, 2, 4),  # 3 + 2 < 6
        (4, 2, 3, 2),  # 3 + 3 is no gain
        (2, 4, 1, 4),  # fewer GPUs never pay while there are more
        (2, 4, 0, 2),  # free to change
        (4, 0, 9, 4),  # it starts: nothing to keep
        (0, 4, 9, 0),  # it stops: that is no restart
        (3, 3, 9, 3),
    ],
)
def test_a_change_must_save_more_than_it_costs(wants: int, has: int, restart: int, expected: int) -> None:
    assert kept([wants], [has], [HALVED], [restart], 4) == [expected]


def test_gpus_that_growth_in_vain_gives_back_are_there_for_others() -> None:
    assert kept([1, 3], [2, 2], [HALVED, HALVED], [1, 9], 4) == [2, 2]
    assert kept([1, 3], [2, 2], [HALVED, HALVED], [1, 1], 4) == [1, 3]  # the second change pays: no GPU is left


def test_times_near_the_largest_do_not_overflow() -> None:
    assert kept([2], [1], [[NEVER - 1, NEVER - 2]], [2**61], 4) == [1]
    assert kept([], [], [], [], 4) == []


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[int], list[int], list[list[int]], list[int], int]:
    jobs = draw(st.integers(1, 5))
    shares = draw(st.lists(st.integers(0, 4), min_size=jobs, max_size=jobs))
    present = draw(st.lists(st.integers(0, 4), min_size=jobs, max_size=jobs))
    times = [draw(st.lists(st.integers(0, 20), min_size=4, max_size=4)) for _ in range(jobs)]
    restart = draw(st.lists(st.integers(0, 8), min_size=jobs, max_size=jobs))
    return shares, present, times, restart, sum(shares) + draw(st.integers(0, 4))


@given(cases())
@settings(max_examples=400)
def test_only_what_does_not_pay_is_kept_within_the_gpus(
    case: tuple[list[int], list[int], list[list[int]], list[int], int],
) -> None:
    shares, present, times, restart, gpus = case
    result = kept(shares, present, times, restart, gpus)
    assert sum(result) <= gpus
    for job, got in enumerate(result):
        old, new = present[job], shares[job]
        in_vain = old > 0 and new > 0 and restart[job] > 0 and times[job][new - 1] + restart[job] >= times[job][old - 1]
        assert got in ((old, new) if in_vain else (new,))
        if in_vain and got != old:  # kept back by nothing but the GPUs
            assert sum(result) + old - new > gpus
