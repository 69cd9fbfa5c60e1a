"""The joint round within a budget: who starts beside all that runs comes first, the search for changes after it."""

from __future__ import annotations

import pytest
from joint_rounds import large_joint_round
from msgspec.structs import replace

from muri_opt import Limits, Round, policy_from
from muri_opt.rounds import Budget, after, changes
from muri_opt.systems.joint.nodes import places
from muri_opt.verify import broken_rules, decision_value

OVER = Budget(limits=Limits(seconds=1e-9), began=0.0)
LONG = Limits(seconds=1e9)


def later(round_: Round, policy: str) -> Round:
    """Return the round after a decision, in which some jobs are new."""
    then = after(round_, policy_from(policy).decide(round_, 0))
    fresh = {"state": "waiting", "placement": None, "plan": None}
    jobs = [
        replace(job, id=f"new-{place}", **fresh) if place % 7 == 0 and job.plans is None else job
        for place, job in enumerate(then.jobs)
    ]
    return replace(then, jobs=tuple(jobs))


@pytest.mark.parametrize(
    "policy", ["joint-s", pytest.param("joint-l", marks=pytest.mark.slow), "joint-s:restarts=stops"]
)
def test_what_is_found_soonest_stops_nobody_and_starts_others(policy: str) -> None:
    chosen, round_ = policy_from(policy), later(large_joint_round(3, jobs=450, nodes=30), policy)
    soon = chosen.decide_within(round_, 0, OVER)
    assert not broken_rules(round_, chosen.rules, soon)
    assert set(changes(round_, soon).counts) <= {"keep", "start"}
    assert changes(round_, soon).counts.get("start", 0) > 0
    whole = chosen.decide(round_, 0)
    assert decision_value(round_, chosen.rules, soon) <= decision_value(round_, chosen.rules, whole)


@pytest.mark.parametrize(("jobs", "nodes"), [(60, 4), (450, 30)])
def test_a_limit_that_cuts_nothing_changes_nothing(jobs: int, nodes: int) -> None:
    chosen, round_ = policy_from("joint-s"), later(large_joint_round(5, jobs=jobs, nodes=nodes), "joint-s")
    assert chosen.decide_within(round_, 0, Budget(limits=LONG)) == chosen.decide(round_, 0)


@pytest.mark.parametrize("jobs", [60, 450])
def test_groups_that_stay_are_placed_at_once_as_one_after_another(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen, round_ = policy_from("joint-l"), later(large_joint_round(7, jobs=jobs, nodes=jobs // 15), "joint-l")
    at_once = chosen.decide(round_, 0)
    monkeypatch.setattr(places._Placing, "all_stay", lambda *_: False)
    assert chosen.decide(round_, 0) == at_once
