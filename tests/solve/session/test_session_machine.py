"""Sessions of every policy, driven by drawn events: rules and invariants are kept, and nothing is lost in a crash."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from session_machine import session_machine

from muri_opt.systems import POLICIES, policy_from

SHORT = settings(
    max_examples=5,
    stateful_step_count=16,
    deadline=None,
    database=None,
    derandomize=True,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
LONG = settings(SHORT, max_examples=150, stateful_step_count=30, derandomize=False)
ONE_OF_EACH = ("tiresias", "muri-s", "afs-l", "rubick", "philly")


@pytest.mark.parametrize("policy", ONE_OF_EACH)
def test_a_session_of_each_family(policy: str) -> None:
    run_state_machine_as_test(session_machine(policy), settings=SHORT)


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_sessions_of_every_policy(policy: str) -> None:
    run_state_machine_as_test(session_machine(policy), settings=LONG)


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_sessions_of_every_policy_with_all_that_it_honours(policy: str) -> None:
    run_state_machine_as_test(session_machine(policy, fields=policy_from(policy).honoured), settings=LONG)


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_sessions_that_solve_every_round(policy: str) -> None:
    few = settings(LONG, max_examples=15, stateful_step_count=15)
    run_state_machine_as_test(session_machine(policy, "auto"), settings=few)
