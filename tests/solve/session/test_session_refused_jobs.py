"""A job that the policy of a session could decide no round with is refused when it is told of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from muri_opt import Cluster, Decision, InputError, Job, Node, Policy, Round, Session
from muri_opt.rounds import Guarantee, NodeRange, Plan, Within
from muri_opt.solve.session.events import Submitted
from muri_opt.solve.session.journal import Journal
from muri_opt.systems import POLICIES
from muri_opt.systems.gangs import GangPolicy, list_decision

NODES = tuple(Node(id=f"n{at}", gpus=4, levels={"rack": f"r{at // 2}"}) for at in range(4))
CLUSTER = Cluster(nodes=NODES, levels=("rack",))
PLANS = tuple(Plan(name=f"ps1-w{size}", gpus=size, throughput=float(size)) for size in (1, 2, 4))
WHOLE = Job(
    id="a",
    gpus=2,
    submitted=0.0,
    iteration_seconds=1.0,
    remaining_iterations=60,
    stage_seconds=(0.1, 0.2, 0.6, 0.1),
    scaling={1: 1.0, 2: 1.8, 4: 3.0},
    plans=PLANS,
    plan="ps1-w2",
    restart_seconds=5.0,
)
SETTINGS = (
    *POLICIES,
    "philly:objective=completion",
    "rubick:change=plans",
    "rubick:objective=completion",
    "aiturbo:objective=time",
    "afs-l:packing=node",
    "joint-s:shares=powers",
    "muri-s:pattern=muri-cyclic",
)
ODD: tuple[dict[str, Any], ...] = (
    {},
    *({field: None} for field in ("submitted", "iteration_seconds", "remaining_iterations", "stage_seconds")),
    *({field: None} for field in ("scaling", "plans", "restart_seconds")),
    {"plan": None},
    {"plans": None, "plan": None},
    {"plans": None, "plan": None, "scaling": None},
    {"plans": None, "plan": None, "scaling": None, "iteration_seconds": None},
    {"plans": None, "plan": None, "iteration_seconds": 0.0},
    {"plans": None, "plan": None, "stage_seconds": (0.0, 0.0, 0.0, 0.0)},
    {"iteration_seconds": 0.0},
    {"gpus": 0},
    {"gpus": 3},
    {"gpus": 8},
    {"gpus": 8, "plans": None, "plan": None},
    {"scaling": {2: 1.0}},
    {"scaling": {2: 1.0}, "plans": None, "plan": None},
    {"plans": (*PLANS, PLANS[0])},
    {"plans": tuple(replace(plan, name="odd") for plan in PLANS), "plan": "odd"},
    {"plans": tuple(replace(plan, throughput=1e-9) for plan in PLANS), "remaining_iterations": 10**15},
    {"guarantee": Guarantee(throughput=100.0)},
    {"within": Within(level="rack")},
    {"within": Within(level="rack", required=False)},
    {"nodes": NodeRange(least=2, most=3)},
    {"nodes": NodeRange(least=9, most=9)},
    {"priority": 3},
    {"preemptible": False},
    {"movable": False},
    {"gpu_types": ("A100",)},
    {"model": "gpt"},
    {"time_limit_seconds": 100.0},
    {"held": "by its user"},
    {"deadline": 1000.0},
    {"deadline": 1000.0, "remaining_iterations": None},
    {"deadline": 1000.0, "remaining_iterations": None, "scaling": None},
    {"deadline": 0.5, "remaining_iterations": None},
    {"state": "running", "placement": {"n0": 2}},
    {"state": "running", "placement": {"n0": 1}},
)


def odd_jobs() -> list[Job]:
    """Return the jobs that can be at all."""
    found = []
    for fields in ODD:
        try:
            found.append(replace(WHOLE, **fields))
        except InputError:
            continue  # no job is so
    return found


@pytest.mark.parametrize("spec", SETTINGS)
def test_what_is_taken_is_decided_and_what_is_refused_could_not_be(spec: str) -> None:
    taken = 0
    for job in odd_jobs():
        session, unchecked = Session(CLUSTER, spec, "heuristic"), Session(CLUSTER, spec, "heuristic")
        Submitted(job=job).apply(unchecked._state)
        try:
            session.submit(job)
        except InputError:
            assert not session.jobs
            with pytest.raises(InputError, match=r"^jobs\[0\] \('a'\)|^job\."):
                unchecked.decide(0.0)
            continue
        taken += 1
        session.decide(0.0)
    assert taken


@pytest.mark.parametrize("spec", ["fifo", "srtf", "rubick", "aiturbo", "deadline", "afs-l"])
def test_a_job_that_is_to_go_on_where_it_cannot_is_refused(spec: str) -> None:
    session = Session(CLUSTER, spec, "heuristic")
    wide = {f"n{at}": 4 for at in range(4)}
    with pytest.raises(InputError, match=r"^jobs\[0\] \('a'\)"):
        session.submit(replace(WHOLE, state="running", placement=wide, preemptible=False))
    session.submit(replace(WHOLE, state="running", placement={"n0": 2}, preemptible=False))
    session.decide(1.0)


def test_the_refusal_names_the_job_the_field_and_what_would_do(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Session(CLUSTER, "joint-s", "heuristic", journal=path) as session:
        session.submit(WHOLE)
        before = path.read_bytes(), session.jobs
        bare, urgent = replace(WHOLE, id="b", remaining_iterations=None), replace(WHOLE, id="c")
        for happened, words in (
            (
                lambda: session.submit(bare),
                "jobs[0] ('b').remaining_iterations: found nothing; allowed: a number: 'joint-s' needs it",
            ),
            (lambda: session.submit_all([urgent, bare]), "jobs[1] ('b').remaining_iterations: found nothing"),
            (lambda: session.progress("a", remaining_iterations=None), "job 'a'.remaining_iterations: found nothing"),
        ):
            with pytest.raises(InputError) as error:
                happened()
            assert words in str(error.value)
            assert (path.read_bytes(), session.jobs) == before
        assert session.decide(1.0).changes.counts == {"start": 1}


def test_columns_and_priorities_cannot_bring_about_what_is_refused() -> None:
    session = Session(CLUSTER, "joint-s", "heuristic")
    session.submit_all([replace(WHOLE, id=name, plans=None, plan=None) for name in "ab"])
    with pytest.raises(InputError, match=r"^job 'b'.iteration_seconds: found 0; allowed: a time above 0"):
        session.progress_all(["a", "b"], iteration_seconds=[2.0, 0.0])
    assert session.jobs["a"].iteration_seconds == 1.0
    session.progress_all(["a", "b"], iteration_seconds=[2.0, 3.0], remaining_iterations=[0, 10**6])
    session.decide(1.0)

    function = Session(CLUSTER, a_function, "heuristic")
    with pytest.raises(InputError, match=r"^jobs\[0\] \('a'\).submitted: found nothing"):
        function.submit(Job(id="a", gpus=1))  # the rules of a bare function count by submission
    function.submit(Job(id="a", gpus=1, submitted=0.0))
    with pytest.raises(InputError) as error:
        function.set_priority("a", 3)
    assert str(error.value).startswith("job 'a'.priority: found job.priority, which the policy ")
    assert "allowed: a job without it; or a session that decides by what honours it: fifo" in str(error.value)
    assert function.decide(1.0).changes.counts == {"start": 1}


def test_a_journal_that_has_such_a_job_already_goes_on_and_lets_it_be_mended(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Session(CLUSTER, "joint-s", "heuristic", journal=path) as session:
        session.submit(WHOLE)
    for name in "bc":  # as a version wrote it that took every job
        bare = {"remaining_iterations": None, "iteration_seconds": None, "plans": None, "plan": None}
        opened = Journal.open(path)
        opened.append(Submitted(job=replace(WHOLE, id=name, scaling=None, stage_seconds=None, **bare)))
        opened.close()
    with Session.resume(path) as session:
        with pytest.raises(InputError, match="remaining_iterations"):
            session.decide(1.0)
        session.cancel("c")
        session.set_priority("b", 2)
        session.progress("b", remaining_iterations=7)  # one thing after another may be told
        with pytest.raises(InputError, match="iteration_seconds"):
            session.decide(1.0)
        session.progress_all(["b"], iteration_seconds=[1.0])
        assert session.decide(1.0).changes.counts == {"start": 2}
    assert [job.id for job in session.jobs.values()] == ["a", "b"]


def a_function(round_: Round) -> Decision:
    """Return the jobs as they are listed."""
    return list_decision(round_, range(len(round_.jobs)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsOnly(Policy):
    """A policy of a caller that decides no round of one job alone, and says what it needs."""

    @property
    def needs(self) -> tuple[str, ...]:
        return ("model",)

    def check(self, round_: Round) -> None:
        if len(round_.jobs) % 2:
            raise InputError("jobs[0] ('a').together", "nobody", "a partner")

    def decide(self, round_: Round, seed: int) -> Decision:
        return list_decision(round_, range(len(round_.jobs)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Indulgent(GangPolicy):
    """A policy of a caller that takes jobs which the class that it begins with would refuse."""

    def check(self, round_: Round) -> None:
        pass

    def decide(self, round_: Round, seed: int) -> Decision:
        return list_decision(round_, [at for at, job in enumerate(round_.jobs) if job.gpus])


def honouring_models(kind: Callable[..., Policy], name: str) -> Policy:
    """Return a policy that honours what jobs say of their models."""
    kind.honours = frozenset({"job.model"})
    return kind(name=name)


def test_what_cannot_be_told_of_a_job_alone_is_not_refused_for_a_policy_of_the_caller() -> None:
    session = Session(CLUSTER, honouring_models(PairsOnly, "pairs"), "heuristic")
    with pytest.raises(InputError, match=r"^jobs\[0\] \('a'\).model: found nothing; allowed: a value: 'pairs' needs"):
        session.submit(Job(id="a", gpus=1))
    session.submit(Job(id="a", gpus=1, model="gpt", submitted=0.0))
    with pytest.raises(InputError, match="a partner"):
        session.decide(1.0)
    session.submit(Job(id="b", gpus=1, model="gpt", submitted=0.0))
    assert session.decide(1.0).changes.counts == {"start": 2}

    taken = Session(CLUSTER, Indulgent(name="srtf"), "heuristic")
    taken.submit(Job(id="a", gpus=0, remaining_iterations=1, iteration_seconds=1.0))
    assert list(taken.jobs) == ["a"]
