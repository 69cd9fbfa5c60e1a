"""Python's collector waits while an answer that is due soon is worked out, and no longer."""

import gc
import os
from collections.abc import Iterator
from threading import Event, Thread

import pytest

from muri_opt import Cluster, Decision, InputError, Job, Limits, Node, Round, Session, solve_round
from muri_opt.solve import collector
from muri_opt.solve.collector import LONGEST, MANY, collector_waits

ROUND = Round(now=0.0, cluster=Cluster(nodes=(Node(id="n0", gpus=1),)), jobs=(Job(id="a", gpus=1, submitted=0.0),))


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.enable()
    yield
    if not was_on:
        gc.disable()


def _on_while_deciding(limits: Limits) -> bool:
    """Return whether the collector is on while a policy decides."""
    seen = []

    def asked(round_: Round) -> Decision:
        seen.append(gc.isenabled())
        return Decision(assignments=())

    solve_round(ROUND, asked, "heuristic", limits)
    return seen[0]


@pytest.mark.parametrize(
    ("limits", "on"),
    [
        (Limits(), False),
        (Limits(seconds=LONGEST), False),
        (Limits(seconds=LONGEST + 1), True),
        (Limits(seconds=None), True),
        (Limits(work=1), True),
    ],
)
def test_it_waits_under_short_limits_and_goes_on_afterwards(limits: Limits, on: bool) -> None:
    assert _on_while_deciding(limits) == on
    assert gc.isenabled()


@pytest.mark.parametrize("limits", [Limits(seconds=LONGEST + 1), Limits(seconds=None), Limits(work=1)])
def test_under_others_it_goes_on_after_many_new_objects(limits: Limits) -> None:
    before = gc.get_threshold()
    with collector_waits(limits):
        with collector_waits(limits):
            assert gc.get_threshold() == (MANY, *before[1:])
        assert gc.get_threshold() == (MANY, *before[1:])
    assert gc.get_threshold() == before


@pytest.mark.parametrize("first", [0, MANY + 1])
def test_one_that_waits_longer_is_left_alone(first: int) -> None:
    before = gc.get_threshold()
    gc.set_threshold(first, *before[1:])
    try:
        with collector_waits(Limits(seconds=None)):
            assert gc.get_threshold()[0] == first
        assert gc.get_threshold()[0] == first
    finally:
        gc.set_threshold(*before)


def test_it_goes_on_after_an_error() -> None:
    wrong = Round(now=0.0, cluster=ROUND.cluster, jobs=(Job(id="a", gpus=1),))
    with pytest.raises(InputError):
        solve_round(wrong, "muri-s", "heuristic")
    assert gc.isenabled()


def test_one_that_was_off_stays_off() -> None:
    gc.disable()
    with Session(ROUND.cluster, "fifo", "heuristic") as session:
        session.submit(ROUND.jobs[0])
        session.decide(0.0)
    assert not gc.isenabled()


def test_it_waits_for_the_last_of_several_threads() -> None:
    inside, leave = Event(), Event()

    def other() -> None:
        with collector_waits(Limits(seconds=1)):
            inside.set()
            leave.wait()

    thread = Thread(target=other)
    with collector_waits(Limits(seconds=1)):
        thread.start()
        inside.wait()
    still_off = not gc.isenabled()
    leave.set()
    thread.join()
    assert still_off
    assert gc.isenabled()


def test_calls_that_overlap_without_end_do_not_keep_it_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(collector.time, "monotonic", lambda: now)
    first, second, third = (collector_waits(Limits(seconds=1)) for _ in range(3))
    first.__enter__()
    now = LONGEST
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    now = LONGEST + 1
    third.__enter__()
    second.__exit__(None, None, None)
    assert gc.isenabled()
    third.__exit__(None, None, None)
    assert gc.isenabled()
    with collector_waits(Limits(seconds=1)):
        assert not gc.isenabled()


def test_it_goes_on_in_a_process_that_is_forked_meanwhile() -> None:
    with collector_waits(Limits(seconds=1)):
        child = os.fork()
        if not child:
            try:
                on = gc.isenabled()
                collector._OFF.end()
                with collector_waits(Limits(seconds=1)):
                    off = not gc.isenabled()
                os._exit(0 if on and off and gc.isenabled() else 1)
            finally:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        assert not gc.isenabled()
    assert gc.isenabled()
