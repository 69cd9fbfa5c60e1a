"""Python's collector waits while an answer that is due soon is worked out, and no longer."""

import gc
from collections.abc import Iterator
from threading import Event, Thread

import pytest

from muri_opt import Cluster, Decision, InputError, Job, Limits, Node, Round, Session, solve_round
from muri_opt.solve.collector import LONGEST, collector_waits

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
