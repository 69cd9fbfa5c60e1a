"""The kit takes a policy, or a subclass of one, and judges it by its own rules."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from muri_opt import Decision, Policy, Round, policy_from
from muri_opt.systems.gangs import list_decision
from muri_opt.testing import SAFETY, check_allocator, find_breaches


class LargestFirst(Policy):
    def decide(self, round_: Round, seed: int) -> Decision:
        return list_decision(round_, sorted(range(len(round_.jobs)), key=lambda place: -round_.jobs[place].gpus))


class StopsThoughItSaysNot(LargestFirst):
    @property
    def rules(self) -> Mapping[str, str]:
        return {"chapter": "gangs", "preempt": "no"}


@pytest.mark.parametrize("policy", [LargestFirst, LargestFirst(name="mine"), policy_from("srtf")])
def test_a_policy_is_tested_like_a_function(policy: Policy | type[Policy]) -> None:
    report = check_allocator(policy, SAFETY, max_examples=40, require_exercised=False)
    assert report.ok


def test_a_policy_is_held_to_the_rules_it_says() -> None:
    report = find_breaches(StopsThoughItSaysNot, SAFETY, max_examples=60, require_exercised=False)
    assert not report.ok
    assert "stays" in str(report)
