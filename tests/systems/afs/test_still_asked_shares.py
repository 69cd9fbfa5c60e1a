"""Where rounds say where jobs may be, shares that were decided and carried out are decided again."""

from __future__ import annotations

import numpy as np
import pytest
from asked_shares import GROUPS, POLICIES, asked_shares_round
from elastic_draws import elastic, round_with

from muri_opt import Decision, Round, policy_from
from muri_opt.rounds import after
from muri_opt.systems.afs.still_shares import MOST_TURNS, still_shares

RESTLESS = [("types", 58), ("shape", 53), ("shape", 40), ("states", 31), ("all", 13)]
"""Rounds in which the rule, asked again, says something else, as where jobs are decides what they share."""


def places(decision: Decision) -> dict[str, dict[str, int]]:
    return {one.jobs[0]: dict(one.gpus) for one in decision.assignments}


@pytest.mark.parametrize("policy", POLICIES)
def test_decided_again_nothing_changes(policy: str) -> None:
    for group, seed in [*RESTLESS, *((group, seed) for group in GROUPS for seed in range(4))]:
        round_ = asked_shares_round(seed, group)
        first = policy_from(policy).decide(round_, 0)
        again = policy_from(policy).decide(after(round_, first), 0)
        assert places(again) == places(first), (group, seed)


def test_where_shares_never_settle_the_first_are_taken() -> None:
    asked = list[Round]()

    def contrary(round_: Round) -> dict[int, np.ndarray]:
        asked.append(round_)
        return {0: np.array([1 + len(asked) % 2, 0])}

    assert still_shares(round_with([2, 2], [elastic(0, (1, 2))]), contrary)[0].tolist() == [2, 0]
    assert len(asked) == 1 + MOST_TURNS
