"""Decisions of gangs: what runs is feasible, what waits has the reason that the verifier finds too."""

from __future__ import annotations

import numpy as np
from brute_force import feasible_splits
from by_policy import broken_rules, wrong_reasons
from handmade import gang, round_of
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt import Round, WaitingReason
from muri_opt.systems.capacity import gang_decision
from muri_opt.testing import rounds


@given(rounds(max_jobs=3, max_nodes=2), st.booleans())
@more_examples(60)
def test_every_feasible_choice_is_a_decision_with_the_right_reasons(round_: Round, fewest: bool) -> None:
    rules = f"fifo:nodes={'fewest' if fewest else 'any'},preempt=yes"
    for splits in feasible_splits(round_, fewest=fewest):
        shares = {j: np.array(split) for j, split in enumerate(splits) if split is not None}
        decision = gang_decision(round_, shares, consolidate=fewest)
        assert broken_rules(round_, decision, rules) == []
        assert list(wrong_reasons(round_, decision, rules)) == []


def test_a_job_that_could_start_waits_for_its_priority() -> None:
    decision = gang_decision(round_of([4], [1, 4]), {0: np.array([1])}, consolidate=False)
    assert [(wait.job, wait.reason) for wait in decision.waiting] == [("j1", WaitingReason.CAPACITY)]
    decision = gang_decision(round_of([4], [1, 2]), {0: np.array([1])}, consolidate=False)
    (wait,) = decision.waiting
    assert (wait.job, wait.reason) == ("j1", WaitingReason.PRIORITY)
    assert wait.detail.startswith("asks for 2 GPUs")


def test_an_assignment_lists_only_the_nodes_it_uses() -> None:
    round_ = round_of([4, 4, 4], [gang(0, 3, cpus=1, iteration_seconds=0.5)])
    (assignment,) = gang_decision(round_, {0: np.array([1, 0, 2])}, consolidate=False).assignments
    assert assignment.gpus == {"n0": 1, "n2": 2}
    assert assignment.cpus == {"n0": 0.334, "n2": 0.668}
    assert (assignment.jobs, assignment.order, assignment.plan) == (("j0",), (0,), None)
    assert assignment.period_seconds == 0.5
