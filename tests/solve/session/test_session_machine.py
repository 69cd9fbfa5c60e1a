"""Sessions of every policy, driven by drawn events: rules and invariants are kept, and nothing is lost in a crash."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from session_machine import session_machine

from muri_opt import InputError
from muri_opt.solve.session.state import Pending, State, stopped
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


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", int)


@pytest.mark.parametrize("policy", ONE_OF_EACH)
def test_a_session_of_each_family(policy: str) -> None:
    run_state_machine_as_test(session_machine(policy), settings=SHORT)


def _forgetful(state: State, name: str) -> None:
    """Let a job die, and say that it runs once the step is acknowledged."""
    state.put([stopped(state.jobs[name])])


def _careless(pending: Pending, name: str) -> Pending:
    return pending


def _optimistic(state: State, failed: object, carry_out: Any = State.carry_out) -> None:
    carry_out(state, {})


@pytest.mark.parametrize(
    ("kind", "method", "broken"),
    [
        (State, "let_die", _forgetful),
        (Pending, "without_node", _careless),
        (State, "carry_out", _optimistic),
    ],
)
def test_a_session_with_a_fault_is_found(
    kind: type, method: str, broken: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, method, broken)
    with pytest.raises((AssertionError, InputError, KeyError)):
        run_state_machine_as_test(session_machine("fifo"), settings=settings(SHORT, max_examples=60))


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
