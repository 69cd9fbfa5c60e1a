"""When stages run: in order, never two on one resource, each period like the one before."""

import dataclasses
from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from muri_opt import InputError, best_period
from muri_opt.systems.muri.interleaving import timeline

microseconds = st.one_of(st.just(0), st.integers(0, 9), st.integers(0, 10**7))


@st.composite
def groups(draw, kinds, slots):
    jobs = draw(st.integers(1, slots))
    return draw(st.lists(st.lists(microseconds, min_size=kinds, max_size=kinds), min_size=jobs, max_size=jobs))


def run(stages, pattern, worst=False):
    """Return interleaving, timeline and its bars as whole microseconds."""
    seconds = [[time / 10**6 for time in times] for times in stages]
    found = best_period(seconds, pattern, worst=worst)
    drawn = timeline(seconds, found)
    bars = {(bar.job, bar.stage): (whole(bar.start_seconds), whole(bar.seconds)) for bar in drawn.bars}
    assert {key: time for key, (_, time) in bars.items()} == {
        (job, stage): time for job, times in enumerate(stages) for stage, time in enumerate(times)
    }
    return found, drawn, bars, whole(drawn.period_seconds)


def whole(seconds):
    return round(seconds * 10**6)


def overlap(one, other, period):
    """Return whether two stages that repeat every period ever run at the same time."""
    (a, long), (b, wide) = one, other
    if not long or not wide:
        return False
    return (b - a) % period < long or (a - b) % period < wide


def check_order(stages, bars, period):
    """Check that every job ends a stage before it begins the next, and one iteration before the next one."""
    for job, times in enumerate(stages):
        at = bars[job, 0][0]
        begin = at
        for stage in range(len(times)):
            start, time = bars[job, stage]
            at += (start - at) % period if period else 0
            at += time
        assert at <= begin + period


@given(st.integers(2, 4).flatmap(lambda kinds: groups(kinds, kinds)), st.booleans())
def test_cyclic_stages_have_their_resource_to_themselves(stages, worst):
    found, drawn, bars, period = run(stages, "cyclic", worst)
    assert drawn.period_seconds == found.period_seconds
    assert list(drawn.slot_seconds) == sorted(drawn.slot_seconds)
    for (one, first), (other, second) in combinations(bars, 2):
        assert first != second or not overlap(bars[one, first], bars[other, second], period)
    check_order(stages, bars, period)


@given(groups(3, 4), st.booleans(), st.sampled_from(["muri-4slot", "muri-4slot-steady"]))
def test_four_slots_share_data_by_two_and_nothing_else(stages, worst, pattern):
    found, drawn, bars, period = run(stages, pattern, worst)
    if pattern == "muri-4slot-steady":
        assert drawn.period_seconds == found.period_seconds
    assert list(drawn.slot_seconds) == sorted(drawn.slot_seconds)
    assert drawn.slot_seconds[-1] <= drawn.period_seconds
    for (one, first), (other, second) in combinations(bars, 2):
        neighbours = (found.slots[one] - found.slots[other]) % 2
        if first == second and not (first == 0 and neighbours):
            assert not overlap(bars[one, first], bars[other, second], period)
    check_order(stages, bars, period)


def test_data_begun_in_the_last_slot_holds_up_the_first():
    stages = [[0.437, 0.008, 0.0016]] * 3 + [[0.799, 0.056, 0.024]]
    drawn = timeline(stages, best_period(stages, "muri-4slot"))
    assert drawn.period_seconds == 1.236
    assert drawn.slot_seconds == (0, 0.024, 0.437, 0.461)
    assert all(type(time) is float for time in drawn.slot_seconds)
    last = next(bar for bar in drawn.bars if bar.job == 3 and bar.stage == 0)
    assert (last.start_seconds, last.seconds) == (0.461, 0.799)


def test_an_interleaving_of_other_jobs_is_refused():
    found = best_period([[0.1, 0.2], [0.3, 0.4]])
    for wrong in (dataclasses.replace(found, period_seconds=0.1), best_period([[0.1, 0.2], [0.3, 0.5]])):
        with pytest.raises(InputError, match=r"interleaving: found another period than slots \(0, 1\) have"):
            timeline([[0.1, 0.2], [0.3, 0.4]], wrong)
    with pytest.raises(InputError, match=r"slots: found \(0, 1\); allowed: 1 different slots"):
        timeline([[0.1, 0.2]], found)
