"""Jobs one by one bound every grouping: by counting, by prices that need no solver, and in groups too many to list."""

from __future__ import annotations

import numpy as np
import pytest
from by_policy import settings_of
from handmade import gang, round_of
from hypothesis import event, given, strategies as st
from more_examples import more_examples
from msgspec.structs import replace
from plain_groups import Plain
from sharing_rounds import plain_policies, prices

from muri_opt import policy_from
from muri_opt.rounds import Round
from muri_opt.systems.muri.group_values import GroupRules
from muri_opt.systems.muri.program_prices import job_prices
from muri_opt.verify.muri import dual_bound
from muri_opt.verify.muri.counting import counted_bound
from muri_opt.verify.muri.dual_bound import sharing_bound
from muri_opt.verify.muri.job_bound import JobCaps
from muri_opt.verify.muri.periods import group_periods
from muri_opt.verify.muri.value import sharers_of

PATTERNS = {"cyclic": 4, "muri-cyclic": 4, "muri-4slot": 3, "muri-4slot-steady": 3}
"""Stages by pattern."""


@given(plain_policies())
@more_examples(60)
def test_no_grouping_is_worth_more_than_what_is_counted_or_priced(plain: Plain) -> None:
    best = plain.optimum()
    counted = counted_bound(plain.round_, settings_of(plain.spec))
    assert counted is not None
    assert counted >= best
    duals = job_prices(plain.round_, GroupRules.of(policy_from(plain.spec).rules))
    if duals is None:  # no job, or caps too large for multipliers
        return
    priced = sharing_bound(plain.round_, settings_of(plain.spec), duals)
    assert priced is not None
    assert priced >= best
    event("tight" if min(counted, priced) == best else "loose")


@given(plain_policies(), st.data())
@more_examples(40)
def test_any_prices_bound_jobs_one_by_one(plain: Plain, data: st.DataObject) -> None:
    """As if there were too many groups to look at."""
    duals = data.draw(prices(plain.round_))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(dual_bound, "MOST_GROUPS", -1)
        by_jobs = sharing_bound(replace(plain.round_, name="many"), settings_of(plain.spec), duals)
    assert by_jobs is not None
    assert by_jobs >= plain.optimum()


@given(st.sampled_from(sorted(PATTERNS)), st.integers(2, 4), st.booleans(), st.data())
@more_examples(100)
def test_no_period_is_shorter_than_what_caps_take_it_for(
    pattern: str, size: int, worst: bool, data: st.DataObject
) -> None:
    """Of stage times from nothing to hours, by the verifier's own periods."""
    stages = PATTERNS[pattern]
    times = st.sampled_from([0, 1, 700, 1_500_000, 7_200_000_000]) | st.integers(0, 5_000_000)
    rows = data.draw(st.lists(st.tuples(*[times] * stages), min_size=size, max_size=size))
    group = np.array(rows, dtype=np.int64)
    period = int(group_periods(pattern, group[None], worst=worst)[0])
    own = np.maximum(1, group[:, 1] - 64) if pattern == "muri-4slot" else group.sum(axis=1)
    assert period == 0 or period >= int(own.max())


def caps(round_: Round, spec: str) -> JobCaps:
    """Return the caps of all jobs of a round."""
    rules = settings_of(spec)
    return JobCaps.of(sharers_of(round_, rules), range(len(round_.jobs)), rules.most_jobs(len(round_.resources)))


def test_a_job_is_worth_a_slot_of_a_full_group_and_less_if_sharing_slows_it_down() -> None:
    round_ = round_of([1], [gang(0, 1, stage_seconds=(1.0, 2.0, 0.0, 3.0))])
    assert {int(most[0]) for most in caps(round_, "muri-s").most} == {12 * 250_000}
    slowed = [int(most[0]) for most in caps(round_, "muri-s:pattern=cyclic,preset=authors").most]
    assert slowed == [3_000_000, -(-3_000_000 * 29 // 38), -(-3_000_000 * 203 // 300), -(-3_000_000 * 203 // 274)]
