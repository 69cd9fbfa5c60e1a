"""Rounds on their way to a solver process: they arrive as they were, and what is there already is not sent again."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any

from hypothesis import given, strategies as st
from msgspec.structs import replace

from muri_opt import Cluster, Job, Node, Plan, Round
from muri_opt.rounds.generate.families import generate
from muri_opt.solve.solvers.round_transfer import Parcel, Receiver, Sender

FAMILIES = ("gangs", "interleaving", "elastic", "plans", "configurations")
ROUND = generate("plans", jobs=4, nodes=2, seed=1)


class Line:
    """A sender and a receiver with pickles between them."""

    def __init__(self) -> None:
        self.sender, self.receiver = Sender(), Receiver()
        self.parcel: Any = None

    def send(self, argument: Any) -> Any:
        (self.parcel,) = self.sender.pack((argument,))
        (found,) = self.receiver.unpack(ForkingPickler.loads(ForkingPickler.dumps((self.parcel,))))
        return found


def later(round_: Round, keep: list[bool], *, seconds: float) -> Round:
    """Return the round some time later, with some of its jobs, which kept their plans."""
    jobs = tuple(replace(job, waiting_seconds=seconds) for job, stays in zip(round_.jobs, keep, strict=False) if stays)
    return replace(round_, now=seconds, jobs=jobs)


@given(
    st.sampled_from(FAMILIES), st.lists(st.lists(st.booleans(), min_size=5, max_size=5), max_size=4), st.integers(0, 9)
)
def test_rounds_arrive_as_they_were(family: str, stays: list[list[bool]], seed: int) -> None:
    line, first = Line(), generate(family, jobs=5, nodes=2, seed=seed)
    for round_ in (first, *(later(first, keep, seconds=1.0 + at) for at, keep in enumerate(stays)), first):
        found = line.send(round_)
        assert (found, found.fingerprint) == (round_, round_.fingerprint)
        assert line.send(round_) is found


def test_the_same_round_and_what_is_no_round_are_sent_as_little_as_they_are() -> None:
    line = Line()
    line.send(ROUND)
    line.send(ROUND)
    assert line.parcel == Parcel(new={})
    assert line.send("text") == line.parcel == "text"
    assert line.sender.last is ROUND


def test_plans_and_the_cluster_are_sent_once_and_stay_the_same_objects() -> None:
    line = Line()
    first = line.send(ROUND)
    assert set(line.parcel.new) == {id(ROUND.cluster), *(id(job.plans) for job in ROUND.jobs)}
    second = line.send(later(ROUND, [True] * 4, seconds=1.0))
    assert line.parcel.new == {}
    assert second.cluster is first.cluster
    assert all(mine.plans is before.plans for mine, before in zip(second.jobs, first.jobs, strict=True))


def test_what_a_round_had_no_more_is_sent_again() -> None:
    line, gone = Line(), ROUND.jobs[3].plans
    line.send(ROUND)
    line.send(later(ROUND, [True, True, True, False], seconds=1.0))
    line.send(later(ROUND, [True] * 4, seconds=2.0))
    assert line.parcel.new == {id(gone): gone}


def test_plans_made_anew_are_never_taken_for_those_that_had_their_place() -> None:
    """An object that is made where another one was has its id: what was sent must live as long as its key counts."""
    line = Line()
    cluster = Cluster(nodes=(Node(id="n", gpus=4),))
    for gpus in (1, 2, 3, 4) * 20:
        plans = (Plan(name="p", gpus=gpus, throughput=float(gpus)),)
        round_ = Round(cluster=cluster, jobs=(Job(id="a", gpus=1, plans=plans),))
        assert line.send(round_) == round_
        del plans, round_
