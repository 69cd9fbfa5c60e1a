"""Shares are kept where a change does not pay its restart, and only there."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt.systems.afs import ShareValues, kept_shares

Case = tuple[list[int], list[int], list[list[int]], list[int], int]


def kept(shares: list[int], present: list[int], worth: list[list[int]], tenths: list[int], gpus: int) -> list[int]:
    """Return the shares that are kept, where a change leaves so many tenths of what a share is worth."""
    fresh = np.array([[0, *row] for row in worth], dtype=np.int64).reshape(len(shares), -1)
    values = ShareValues(fresh=fresh, changed=fresh * np.array(tenths, dtype=np.int64)[:, None] // 10)
    ints = [np.array(numbers, dtype=np.int64) for numbers in (shares, present)]
    found = kept_shares(*ints, values, [(np.arange(len(shares)), gpus)])
    assert ints[0].tolist() == shares
    return found.tolist()


EVEN = [10, 20, 30, 40]


@pytest.mark.parametrize(
    ("wants", "has", "tenths", "expected"),
    [
        (4, 2, 6, 4),  # 24 > 20
        (4, 2, 5, 2),  # 20 is no gain
        (4, 2, 10, 4),  # free to grow
        (2, 4, 10, 4),  # fewer GPUs never pay while there are more
        (4, 0, 5, 4),  # it starts: nothing to keep
        (0, 4, 5, 4),  # nobody needs what it has
        (3, 3, 5, 3),
    ],
)
def test_a_change_must_gain_more_than_it_costs(wants: int, has: int, tenths: int, expected: int) -> None:
    assert kept([wants], [has], [EVEN], [tenths], 4) == [expected]


def test_a_share_that_is_taken_for_another_job_stays_taken() -> None:
    assert kept([0, 4], [4, 0], [EVEN, EVEN], [9, 9], 4) == [0, 4]
    assert kept([1, 3], [4, 0], [EVEN, EVEN], [9, 9], 4) == [1, 3]


def test_gpus_that_growth_in_vain_gives_back_are_there_for_others() -> None:
    assert kept([1, 3], [2, 2], [EVEN, EVEN], [9, 6], 4) == [2, 2]


def test_a_gpu_goes_from_one_job_to_another_only_if_both_together_gain() -> None:
    steep = [10, 20, 50, 60]
    assert kept([1, 3], [2, 2], [EVEN, steep], [9, 9], 4) == [1, 3]  # 9 + 45 > 20 + 20
    assert kept([1, 3], [2, 2], [EVEN, EVEN], [9, 9], 4) == [2, 2]  # 9 + 27 < 20 + 20, although 27 > 20
    assert kept([0, 4], [2, 2], [EVEN, EVEN], [9, 9], 4) == [0, 4]  # a job that stops is the rule's to choose


def test_no_limit_is_exceeded() -> None:
    even = np.array([[0, *EVEN]] * 3)
    values = ShareValues(fresh=even, changed=even)
    limits = [(np.arange(3), 6), (np.array([0, 1]), 3)]
    found = kept_shares(np.array([1, 1, 1]), np.array([3, 2, 3]), values, limits)
    assert found.tolist() == [1, 2, 3]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    jobs = draw(st.integers(1, 5))
    shares = draw(st.lists(st.integers(0, 4), min_size=jobs, max_size=jobs))
    present = draw(st.lists(st.integers(0, 4), min_size=jobs, max_size=jobs))
    worth = [draw(st.lists(st.integers(0, 20), min_size=4, max_size=4)) for _ in range(jobs)]
    tenths = draw(st.lists(st.integers(0, 10), min_size=jobs, max_size=jobs))
    return shares, present, worth, tenths, sum(shares) + draw(st.integers(0, 4))


def worth_of(case: Case, result: list[int]) -> int:
    _, present, worth, tenths, _ = case
    total = 0
    for job, got in enumerate(result):
        one = worth[job][got - 1] if got else 0
        total += one if got == present[job] or not present[job] else one * tenths[job] // 10
    return total


@given(cases())
@more_examples(400)
def test_what_is_undone_pays_and_no_change_is_left_that_does_not(case: Case) -> None:
    shares, present, _, _, gpus = case
    result = kept(*case)
    assert sum(result) <= gpus
    assert all(got in (old, new) if old else got == new for got, old, new in zip(result, present, shares, strict=True))
    assert worth_of(case, result) >= worth_of(case, shares)
    for job, (got, old) in enumerate(zip(result, present, strict=True)):
        back = [*result[:job], old, *result[job + 1 :]]
        if old and got != old and sum(back) <= gpus:  # undone alone
            assert worth_of(case, back) < worth_of(case, result)


@given(cases())
@more_examples(400)
def test_two_changes_that_are_not_worth_it_together_are_undone(case: Case) -> None:
    shares, present, _, _, gpus = case
    result = kept(*case)
    for one, other in product(range(len(shares)), repeat=2):
        back = list(result)
        back[one], back[other] = present[one], present[other]
        shrunk = 0 < result[one] < present[one]
        if shrunk and 0 < present[other] < result[other] and sum(back) <= gpus:
            assert worth_of(case, back) < worth_of(case, result)


@given(cases())
@more_examples(400)
def test_decided_again_nothing_changes(case: Case) -> None:
    shares, _, worth, tenths, gpus = case
    result = kept(*case)
    assert kept(shares, result, worth, tenths, gpus) == result
