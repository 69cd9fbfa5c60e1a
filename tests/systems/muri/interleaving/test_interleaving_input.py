"""Groups that are none: each is refused with the place, what was found there and what is allowed."""

import math

import numpy as np
import pytest

from muri_opt import InputError, best_period, group_periods, pair_periods
from muri_opt.systems.muri.interleaving import PATTERNS, period_of, slot_count

GOOD = [0.1, 0.2, 0.3]


@pytest.mark.parametrize(
    ("stages", "pattern", "field", "found"),
    [
        ([GOOD, [0.1, 0.2]], "cyclic", "stage_seconds[1]", "2 stage times"),
        ([GOOD, GOOD, [0.1, -0.2, 0.3]], "cyclic", "stage_seconds[2][1]", "-0.2"),
        ([[0.1, math.nan, 0.3], GOOD], "cyclic", "stage_seconds[0][1]", "nan"),
        ([GOOD, [math.inf, 0.2, 0.3]], "cyclic", "stage_seconds[1][0]", "inf"),
        ([GOOD, [0.1, "0.2", 0.3]], "cyclic", "stage_seconds[1][1]", "'0.2'"),
        ([GOOD, [0.1, 0.2, 3e9]], "cyclic", "stage_seconds[1][2]", "3000000000.0"),
        ([GOOD, "abc"], "cyclic", "stage_seconds[1]", "'abc'"),
        (7, "cyclic", "stage_seconds", "7"),
        ([], "cyclic", "stage_seconds", "no jobs"),
        ([[]], "cyclic", "stage_seconds[0]", "0 stage times"),
        ([GOOD] * 4, "cyclic", "stage_seconds[3]", "4 jobs in one group"),
        ([GOOD] * 5, "muri-4slot", "stage_seconds[4]", "5 jobs in one group"),
        ([GOOD] * 5, "muri-4slot-steady", "stage_seconds[4]", "5 jobs in one group"),
        ([[0.1] * 4], "muri-4slot", "stage_seconds[0]", "4 stage times"),
        ([[0.1] * 2], "muri-4slot-steady", "stage_seconds[0]", "2 stage times"),
        ([[0.1] * 11] * 11, "cyclic", "stage_seconds", "11 jobs on 11 slots, 3,628,800 orders"),
        ([[0.1] * 10] * 10, "muri-cyclic", "stage_seconds", "10 jobs on 10 slots, 3,628,800 orders"),
    ],
)
def test_a_bad_group_names_the_job(stages, pattern, field, found):
    with pytest.raises(InputError) as caught:
        best_period(stages, pattern)
    assert (caught.value.field, caught.value.found) == (field, found)
    assert caught.value.allowed


@pytest.mark.parametrize("call", [best_period, lambda group, name: period_of(group, [0], name)])
def test_an_unknown_pattern_names_the_nearest(call):
    with pytest.raises(InputError, match=r"pattern: found 'muri-4slots' \(did you mean 'muri-4slot'.*cyclic, muri-"):
        call([GOOD], "muri-4slots")
    with pytest.raises(InputError, match="pattern: found 4; allowed: one of cyclic"):
        call([GOOD], 4)


def test_slots_of_a_pattern():
    assert [slot_count(name, 3) for name in PATTERNS] == [3, 3, 4, 4]
    with pytest.raises(InputError, match=r"stages: found 4 stage times; allowed: 3 \(data, GPU, network\) under"):
        slot_count("muri-4slot", 4)


@pytest.mark.parametrize(
    ("slots", "pattern", "message"),
    [
        ([0], "cyclic", r"slots: found \(0,\); allowed: 2 different slots"),
        ([1, 1], "cyclic", r"slots: found \(1, 1\); allowed: 2 different slots"),
        ([0, 3], "cyclic", r"slots\[1\]: found 3; allowed: a whole number from 0 to 2"),
        ([0, 1.0], "cyclic", r"slots\[1\]: found 1.0"),
        ([0, 2], "muri-cyclic", r"slots: found \(0, 2\); allowed: the slots \(0, 1\) of the pattern 'muri-cyclic'"),
        ([1, 2], "muri-4slot", r"allowed: the slots \(0, 1\) or \(0, 2\) of the pattern 'muri-4slot'"),
    ],
)
def test_slots_that_no_job_can_take(slots, pattern, message):
    with pytest.raises(InputError, match=message):
        period_of([GOOD, GOOD], slots, pattern)


def test_whole_numbers_and_arrays_are_welcome():
    assert best_period([[1, 2], (3, 4)]) == best_period(np.array([[1.0, 2.0], [3.0, 4.0]]))


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ([[1, 2]], "stages: found .*allowed: a numpy array with 2 axes of int64, in microseconds"),
        (np.ones((2, 2)), "stages: found 2 axes of float64"),
        (np.ones((2, 2, 2), dtype=np.int64), "stages: found 3 axes of int64"),
        (np.array([[1, 2], [3, -4]]), r"stages\[1\]\[1\]: found -4; allowed: whole microseconds from 0 to 2,000,"),
        (np.array([[1, 2], [10**18, 4]]), r"stages\[1\]\[0\]: found 1000000000000000000; allowed"),
        (np.ones((2, 0), dtype=np.int64), "stages: found 0 stage times"),
        (np.ones((2, 1), dtype=np.int64), "stages: found 2 jobs in one group; allowed: at most 1"),
    ],
)
def test_arrays_of_something_else(stages, message):
    with pytest.raises(InputError, match=message):
        pair_periods(stages)


def test_arrays_of_groups_are_checked_too():
    with pytest.raises(InputError, match="stages: found 5 jobs in one group; allowed: at most 4, one per slot"):
        group_periods(np.ones((1, 5, 3), dtype=np.int64), "muri-4slot")
    with pytest.raises(InputError, match="stages: found no jobs"):
        group_periods(np.ones((1, 0, 3), dtype=np.int64))
    with pytest.raises(InputError, match=r"stages\[0\]\[1\]\[2\]: found -1"):
        group_periods(np.array([[[1, 1, 1], [1, 1, -1]]]))
