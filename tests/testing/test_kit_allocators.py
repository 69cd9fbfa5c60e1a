"""Any function can be tested: with dicts, with a limit of time, and with its faults told apart."""

import sys
import threading
import time

import msgspec
import pytest

from muri_opt import Assignment, Cluster, Decision, InputError, Job, Node, Round
from muri_opt.testing import INVARIANTS, from_dicts, published
from muri_opt.testing.allocators import NoAnswerError, TooLateError, answer

ROUND = Round(
    cluster=Cluster(nodes=(Node(id="n0", gpus=2, cpus=8.0),)), jobs=(Job(id="j0", gpus=2, cpus=4.0, submitted=0.0),)
)
BOTH = Decision(assignments=(Assignment(jobs=("j0",), gpus={"n0": 2}),))


def test_a_dict_function_sees_the_round_and_may_answer_in_short():
    seen = []
    decide = from_dicts(lambda given: seen.append(given) or {"j0": {"n0": 2}})
    assert decide(ROUND) == BOTH
    assert seen[0]["cluster"]["nodes"][0] == {"id": "n0", "gpus": 2, "cpus": 8.0}


def test_a_dict_function_may_answer_as_the_command_line_prints():
    full = {"assignments": [{"jobs": ["j0"], "gpus": {"n0": 2}}]}
    assert from_dicts(lambda _given: full)(ROUND) == BOTH
    waits = {"waiting": [{"job": "j0", "reason": "capacity", "detail": "", "remedy": ""}]}
    assert [wait.job for wait in from_dicts(lambda _given: waits)(ROUND).waiting] == ["j0"]
    assert from_dicts(lambda _given: {})(ROUND) == Decision()


@pytest.mark.parametrize("wrong", [None, [1], {"j0": {"n0": "two"}}, {"assignments": [{}]}])
def test_a_dict_of_another_shape_is_no_answer(wrong):
    with pytest.raises((InputError, msgspec.ValidationError)):
        from_dicts(lambda _given: wrong)(ROUND)
    assert "raised" in INVARIANTS["answers"].check(from_dicts(lambda _given: wrong), ROUND).detail


@pytest.mark.parametrize("seconds", [None, 30.0])
def test_what_is_no_decision_is_said(seconds):
    assert answer(lambda _round: BOTH, ROUND, seconds) is BOTH
    with pytest.raises(NoAnswerError, match="returned NoneType, not a Decision"):
        answer(lambda _round: None, ROUND, seconds)
    with pytest.raises(NoAnswerError, match="raised ZeroDivisionError"):
        answer(lambda _round: 1 // 0, ROUND, seconds)


def test_an_allocator_that_hangs_is_told_to_stop():
    left_behind = sys.gettrace() is not None and sys.version_info < (3, 12)
    ended, enough = threading.Event(), threading.Event()

    def spins(round_):
        try:
            while not enough.is_set():
                time.sleep(0.001)
        finally:
            ended.set()

    with pytest.raises(TooLateError, match=r"no decision after 0\.05 s"):
        answer(spins, ROUND, 0.05)
    if left_behind:
        enough.set()
    assert ended.wait(30)


def test_an_allocator_that_waits_in_other_code_keeps_nobody():
    enough = threading.Lock()
    enough.acquire()
    with pytest.raises(TooLateError):
        answer(lambda _round: enough.acquire(), ROUND, 0.05)
    enough.release()


def test_policies_are_allocators():
    assert published("fifo")(ROUND).running == {"j0"}
    assert published("fifo", "exact")(ROUND).running == {"j0"}


def test_an_exact_search_without_time_is_no_answer():
    with pytest.raises(NoAnswerError, match="NO_SOLUTION"):
        published("fifo", "exact", seconds=0.0)(ROUND)
