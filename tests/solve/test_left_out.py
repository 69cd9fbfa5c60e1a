"""When an algorithm or a bound is left out for want of time, by what steps took before."""

from __future__ import annotations

import pytest

from muri_opt import Limits, policy_from
from muri_opt.rounds.generate.families import generate
from muri_opt.solve import search, timed
from muri_opt.solve.pace import MOST_KNOWN, Pace

LARGE = generate("gangs", jobs=200, nodes=40, seed=1)


@pytest.fixture
def pace(monkeypatch: pytest.MonkeyPatch) -> Pace:
    """Expectations of this test alone."""
    fresh = Pace()
    monkeypatch.setattr(timed, "PACE", fresh)
    return fresh


def asks(policy: str, seconds: float) -> search.Search:
    return search.Search(round_=LARGE, policy=policy_from(policy), method="auto", limits=Limits(seconds=seconds))


def test_an_algorithm_is_not_left_out_for_a_bound_that_cannot_be_had_in_time(pace: Pace) -> None:
    """Who is told no bound has at least the policy's own answer."""
    pace.took("bound", "afs-l", 200, 100.0)
    assert not asks("afs-l", 60.0)._is_too_long(40.0)
    pace.took("rules", "afs-l", 200, 40.0)  # without which there is no answer
    assert asks("afs-l", 60.0)._is_too_long(40.0)


def test_an_algorithm_is_not_left_out_for_a_simple_answer_that_takes_longer(pace: Pace) -> None:
    assert asks("afs-l", 60.0)._is_too_long(70.0)
    pace.took("simple", "afs-l", 200, 80.0)
    assert not asks("afs-l", 60.0)._is_too_long(70.0)
    assert asks("afs-l", 60.0)._is_too_long(90.0)


@pytest.mark.parametrize("policy", ["joint-s", "joint-l", "muri-s", "muri-l"])
def test_nothing_stands_in_for_an_algorithm_with_an_early_answer(policy: str, pace: Pace) -> None:
    pace.took("algorithm", policy, 200, 1e6)
    late = asks(policy, 0.001)
    assert not late._is_too_long(1e6)
    assert late._most_seconds() is None


def test_a_bound_is_late_by_no_more_than_the_limit_itself(pace: Pace) -> None:
    """A caller who asks for an answer at once does not wait four times as long for a bound."""
    pace.took("bound", "srtf", 200, 0.15)
    assert asks("srtf", 0.01).is_late_for("bound", by=asks("srtf", 0.01).bound_lateness())
    assert [asks("srtf", seconds).bound_lateness() for seconds in (0.0, 0.05, 10.0)] == [0.02, 0.05, 0.2]


def test_no_more_is_remembered_than_so_many_steps() -> None:
    known = Pace()
    for number in range(MOST_KNOWN + 10):
        known.took("algorithm", f"policy-{number}", 10, 1.0)
    assert len(known._taken) == MOST_KNOWN
    assert known.expected("algorithm", "policy-0", 10) == 0.0
    assert known.expected("algorithm", f"policy-{MOST_KNOWN}", 10) == 1.0


def test_a_policy_that_learns_is_remembered_as_one() -> None:
    policy = policy_from("joint-l:weights=gittins")
    assert policy.learned(3.0).learned(5.0).paced_as == policy.paced_as == policy.spec
    assert policy.learned(3.0).spec != policy.spec
