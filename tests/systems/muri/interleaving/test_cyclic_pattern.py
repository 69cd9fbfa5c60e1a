"""The cyclic pattern against brute force, and the laws it obeys."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from plain_patterns import every_way, slot_by_slot

from muri_opt import best_period, group_periods
from muri_opt.systems.muri.interleaving import period_of

SIZES = [(jobs, kinds) for kinds in range(2, 6) for jobs in range(1, kinds + 1)]
GROUPS = 5_000


def draw(rng, groups, jobs, kinds):
    """Return stage times of all magnitudes, about a quarter of them 0 and some groups full of ties."""
    stages = rng.integers(0, 10 ** rng.integers(1, 8, size=(groups, 1, 1)), size=(groups, jobs, kinds))
    return np.where(rng.random(stages.shape) < 0.25, 0, stages)


@pytest.mark.parametrize(("jobs", "kinds"), SIZES)
def test_the_best_order_is_the_best_of_all(jobs, kinds):
    rng = np.random.default_rng([jobs, kinds])
    groups = draw(rng, -(-GROUPS // len(SIZES)), jobs, kinds)
    best, worst = group_periods(groups), group_periods(groups, worst=True)
    for stages, *found in zip(groups.tolist(), *(part.tolist() for part in (*best, *worst)), strict=True):
        least, slots, greatest, bad_slots = found
        ways = every_way(stages)
        assert (least, greatest) == (min(ways), max(ways))
        assert (slot_by_slot(stages, slots), slot_by_slot(stages, bad_slots)) == (least, greatest)
        assert len(set(slots)) == len(set(bad_slots)) == jobs


def test_a_hole_between_two_jobs_helps():
    stages = [[9, 0, 9, 0], [9, 0, 9, 0]]
    found, packed = best_period(stages), best_period(stages, "muri-cyclic")
    assert (found.period_seconds, found.slots, found.order, found.efficiency) == (18, (0, 2), (0, 1), 0.5)
    assert (packed.period_seconds, packed.slots, packed.efficiency) == (36, (0, 1), 0.25)


def test_without_holes_between_them_the_jobs_sit_on_the_first_slots():
    stages = [[5, 1, 0, 0], [0, 0, 5, 1], [0, 5, 0, 0]]
    packed = best_period(stages, "muri-cyclic")
    ways = {slots: slot_by_slot(stages, slots) for slots in permutations(range(3))}
    assert packed.period_seconds == min(ways.values()) == ways[packed.slots]
    assert best_period(stages, "muri-cyclic", worst=True).period_seconds == max(ways.values())


microseconds = st.one_of(st.just(0), st.integers(0, 9), st.integers(0, 10**9))


@st.composite
def groups(draw, full=False):
    kinds = draw(st.integers(2, 4))
    jobs = kinds if full else draw(st.integers(1, kinds))
    return draw(st.lists(st.lists(microseconds, min_size=kinds, max_size=kinds), min_size=jobs, max_size=jobs))


def seconds(stages):
    return [[time / 10**6 for time in times] for times in stages]


def whole(seconds_):
    return round(seconds_ * 10**6)


@given(groups(full=True), st.integers(1, 3))
def test_turning_a_full_cycle_changes_nothing(stages, by):
    slots = list(range(len(stages)))
    turned = [(slot + by) % len(stages) for slot in slots]
    assert period_of(seconds(stages), slots).period_seconds == period_of(seconds(stages), turned).period_seconds


@given(groups())
def test_adding_a_job_never_shortens_the_period(stages):
    for number in range(1, len(stages)):
        some = best_period(seconds(stages[:number])).period_seconds
        assert some <= best_period(seconds(stages[: number + 1])).period_seconds


@given(groups(), st.integers(1, 1000))
def test_scaled_times_have_the_scaled_period(stages, factor):
    plain, scaled = (best_period(seconds([[f * t for t in times] for times in stages])) for f in (1, factor))
    assert whole(scaled.period_seconds) == factor * whole(plain.period_seconds)
    assert (scaled.slots, scaled.efficiency) == (plain.slots, plain.efficiency)


@given(groups())
def test_no_resource_and_no_job_is_faster_than_itself(stages):
    found = best_period(seconds(stages))
    period = whole(found.period_seconds)
    assert period >= max(map(sum, zip(*stages, strict=True)))
    assert period >= max(map(sum, stages))
    assert period <= sum(map(sum, stages))
    assert 0 <= found.efficiency <= 1
    total = sum(map(sum, stages))
    assert found.efficiency == (total / (len(stages[0]) * period) if period else 0)


@given(groups())
def test_holes_only_help_and_the_worst_is_no_better(stages):
    free, packed, bad = (
        best_period(seconds(stages), pattern, worst=worst).period_seconds
        for pattern, worst in (("cyclic", False), ("muri-cyclic", False), ("cyclic", True))
    )
    assert free <= packed <= bad


@given(groups(), st.randoms())
def test_the_order_in_which_jobs_are_given_changes_no_period(stages, random):
    mixed = random.sample(stages, len(stages))
    assert best_period(seconds(stages)).period_seconds == best_period(seconds(mixed)).period_seconds


@given(groups(), st.sampled_from(["cyclic", "muri-cyclic"]), st.booleans())
def test_the_answer_is_the_period_of_its_own_slots(stages, pattern, worst):
    found = best_period(seconds(stages), pattern, worst=worst)
    assert period_of(seconds(stages), found.slots, pattern) == found
    assert sorted(found.order) == list(range(len(stages)))
    assert [found.slots[job] for job in found.order] == sorted(found.slots)


def test_a_job_alone_takes_the_sum_of_its_stages():
    assert best_period([[0.25, 0, 0.5]]).period_seconds == 0.75
    assert best_period([[0.25, 0, 0.5]]).efficiency == 1 / 3


def test_stages_of_no_length_have_no_period():
    found = best_period([[0, 0], [0, 0]])
    assert (found.period_seconds, found.efficiency, found.slots) == (0, 0, (0, 1))


def test_times_count_to_the_nearest_microsecond():
    assert best_period([[0.1234564, 0.0000004]]).period_seconds == 0.123456
    assert best_period([[0.1234564, 0.0000006]]).period_seconds == 0.123457


def test_ten_jobs_on_ten_resources_are_searched_in_portions():
    rng = np.random.default_rng(3)
    order = rng.permutation(10)
    # One resource per job and slot: only one order (up to turning) has all long stages in the same slot.
    stages = np.ones((10, 10))
    for slot, job in enumerate(order):
        stages[job, -slot % 10] = 100
    found = best_period(stages)
    assert found.period_seconds == 100 + 9
    turned = np.roll(order, -list(order).index(0))
    assert found.order == tuple(turned.tolist())
