"""A machine of Hypothesis that drives a session of a policy: what it decides keeps the rules, and it survives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant as always, precondition, rule
from msgspec.structs import replace

from muri_opt.errors import InputError
from muri_opt.rounds import Cluster, Job, Node, Round
from muri_opt.solve.session.session import Session, Step
from muri_opt.systems import policy_from
from muri_opt.testing.allocators import NOT_SAID, published
from muri_opt.testing.drawing import rounds_of_family
from muri_opt.testing.gang_building import gang_job
from muri_opt.testing.invariant import Case
from muri_opt.testing.invariants_safety import SAFETY
from muri_opt.testing.kept_by_policy import promised
from muri_opt.testing.report import round_text
from muri_opt.testing.rules_and_value import Judge
from muri_opt.testing.strategies_families import NOW, Draft, family_drafts, family_of, named_job
from muri_opt.testing.strategies_gangs import gang_drafts
from muri_opt.verify import verify

STARTS: Final = 60
"""Among how many rounds a machine chooses the one to begin with."""
MOST_JOBS: Final = 6
WHICH: Final = st.integers(0, MOST_JOBS)
Place = Mapping[str, int] | None
"""Where a job runs: its GPUs per node, or nowhere."""


class SessionMachine(RuleBasedStateMachine):
    """Chooses what happens next to a session of ``policy``; the drive does it.

    It begins with a round of the family of the policy, with some of the ``fields`` of format 2. Jobs come, progress,
    end, die, are cancelled and change their priority; nodes come, drain and go; decisions are made, dropped for later
    ones, and carried out but for some jobs; and the process is killed and resumes from the journal. Every decision
    keeps the rules of the policy and all invariants of safety; carried out, it is what runs; where the policy promises
    it, deciding again changes nothing; and a session that was resumed knows what the one before it knew.
    """

    policy = "fifo"
    method = "heuristic"
    fields: frozenset[str] = frozenset()
    drive: SessionDrive

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        rounds = rounds_of_family(family_of(self.policy), STARTS, 0, self.fields)
        self.drive = SessionDrive(policy=self.policy, method=self.method)
        self.drive.begin(rounds[data.draw(st.integers(0, STARTS - 1)) % len(rounds)])

    @precondition(lambda self: len(self.drive.runs) < MOST_JOBS)
    @rule(data=st.data())
    def a_job_comes(self, data: st.DataObject) -> None:
        family = family_of(self.policy)
        drafts = gang_drafts() if family == "gangs" else family_drafts(family, running=False)
        named = gang_job if family == "gangs" else named_job
        self.drive.come(data.draw(drafts), named)

    @precondition(lambda self: self.drive.runs)
    @rule(which=WHICH, left=st.integers(1, 50), every=st.booleans())
    def jobs_progress(self, which: int, left: int, every: bool) -> None:
        self.drive.progress(which, left, every=every)

    @precondition(lambda self: self.drive.running)
    @rule(which=WHICH, how=st.sampled_from(("finished", "failed", "cancel")))
    def a_run_ends(self, which: int, how: str) -> None:
        self.drive.end(which, how)

    @precondition(lambda self: self.drive.runs)
    @rule(which=WHICH)
    def a_job_is_cancelled(self, which: int) -> None:
        self.drive.cancel(which)

    @precondition(lambda self: self.drive.runs and self.drive.honours("job.priority"))
    @rule(which=WHICH, priority=st.integers(-1, 2))
    def a_priority_changes(self, which: int, priority: int) -> None:
        self.drive.session.set_priority(_one(self.drive.runs, which), priority)

    @rule(which=WHICH, how=st.sampled_from(("comes", "drains", "goes")))
    def a_node(self, which: int, how: str) -> None:
        self.drive.node(which, how)

    @rule(passed=st.sampled_from((0, 0, 1, 60, 1000)))
    def decide(self, passed: int) -> None:
        self.drive.decide(passed)

    @precondition(lambda self: self.drive.step is not None)
    @rule(fails=st.sets(WHICH, max_size=2), some=st.booleans())
    def carry_out(self, fails: set[int], some: bool) -> None:
        self.drive.carry_out(fails if some else set())

    @rule(which=WHICH, how=st.sampled_from(("failed", "cancel", "goes", "fails")), back=st.booleans())
    def something_happens_before_a_step_is_carried_out(self, which: int, how: str, back: bool) -> None:
        self.drive.decide(1)
        if how == "goes":
            self.drive.node(which, how)
            if back:
                self.drive.node(which, "comes")
        elif how != "fails" and self.drive.running:
            self.drive.end(which, how)
        if self.drive.step is not None:
            self.drive.carry_out({which} if how == "fails" else set())

    @rule(torn=st.binary(max_size=12))
    def crash(self, torn: bytes) -> None:
        self.drive.crash(torn.replace(b"\n", b""))

    @always()
    def knows_what_happened(self) -> None:
        self.drive.check()

    def teardown(self) -> None:
        if hasattr(self, "drive"):
            self.drive.close()


def session_machine(
    policy: str, method: str = "heuristic", fields: frozenset[str] = frozenset()
) -> type[SessionMachine]:
    """Return the machine of a policy."""
    return type("SessionMachine", (SessionMachine,), {"policy": policy, "method": method, "fields": fields})


@dataclass(slots=True, kw_only=True)
class SessionDrive:
    """A session with a journal, and beside it what should be known: where every job runs, and what is to be done.

    ``then`` are the places after the step that is being carried out, of the jobs that it is about; ``kept`` are those
    of them that are not touched.
    """

    policy: str
    method: str
    runs: dict[str, Place] = field(default_factory=dict)
    then: dict[str, Place] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    step: Step | None = None
    gone: list[Node] = field(default_factory=list)
    now: float = NOW
    come_so_far: int = 0
    folder: TemporaryDirectory[str] = field(default_factory=TemporaryDirectory)
    session: Session = field(init=False)

    @property
    def running(self) -> list[str]:
        """The jobs that run."""
        return [name for name, place in self.runs.items() if place is not None]

    @property
    def journal(self) -> Path:
        """The journal of the session."""
        return Path(self.folder.name) / "journal.jsonl"

    def begin(self, round_: Round) -> None:
        """Begin with the cluster and the jobs of a round, some of which run already."""
        self.session = Session(
            round_.cluster,
            self.policy,
            self.method,
            resources=round_.resources,
            together=round_.together,
            round_format=round_.format,
            journal=self.journal,
        )
        self.come_so_far = len(round_.jobs)
        for job in round_.jobs:
            self.session.submit(self.sortable(job))
            self.runs[job.id] = job.placement if job.state == "running" else None

    def honours(self, field: str) -> bool:
        """Return whether the policy knows of a field of format 2."""
        return field in self.session.policy.honoured

    def sortable(self, job: Job) -> Job:
        """Return a job with what the policy orders jobs by, where that was not drawn: a session refuses it without."""
        usual = {"iteration_seconds": 1.0, "remaining_iterations": 10, "attained_gpu_seconds": 0.0}
        lacking = (field for field in self.session.policy.needs if getattr(job, field) is None)
        return replace(job, **{field: usual[field] for field in lacking if field in usual})

    def come(self, draft: Draft, named: Callable[[Draft, str, Cluster], Job]) -> None:
        """Submit a job."""
        job = named({**draft, "submitted": self.now}, f"j{self.come_so_far}", self.session.cluster)
        self.come_so_far += 1
        self.session.submit(self.sortable(replace(job, state="waiting", placement=None)))
        self.runs[job.id] = None

    def progress(self, which: int, left: int, *, every: bool) -> None:
        """Tell how much is left of a job, or of all."""
        if every:
            self.session.progress_all(tuple(self.runs), remaining_iterations=[left] * len(self.runs))
        else:
            self.session.progress(_one(self.runs, which), remaining_iterations=left)

    def end(self, which: int, how: str) -> None:
        """Let a running job finish, die or be cancelled."""
        name = _one(self.running, which)
        getattr(self.session, how)(name)
        if how != "failed":
            self._forget(name)
            return
        self.runs[name] = None
        if name in self.kept:
            self.then.pop(name)

    def cancel(self, which: int) -> None:
        """Cancel a job, running or waiting."""
        name = _one(self.runs, which)
        self.session.cancel(name)
        self._forget(name)

    def node(self, which: int, how: str) -> None:
        """Let a node come back, drain or go; the last one stays."""
        nodes = self.session.cluster.nodes
        if how == "comes" and self.gone:
            self.session.add_node(self.gone.pop())
        elif how == "comes" and any(node.state == "drain" for node in nodes):
            self.session.add_node(replace(next(node for node in nodes if node.state == "drain"), state="up"))
        elif how == "drains" and nodes and self.honours("node.state"):
            self.session.drain_node(nodes[which % len(nodes)].id)
        elif how == "goes" and len(nodes) > 1:
            node = nodes[which % len(nodes)]
            if not self._removed(node):
                return
            self.gone.append(replace(node, state="up"))
            self.runs = {job: None if node.id in (place or {}) else place for job, place in self.runs.items()}
            self.then = {job: None if node.id in (place or {}) else place for job, place in self.then.items()}

    def decide(self, passed: int) -> None:
        """Decide, and check the decision; a round that does not say what the policy needs is left as it is."""
        self.now += passed
        try:
            step = self.session.decide(self.now)
        except InputError as error:
            if error.found != NOT_SAID:
                raise
            return
        decision = step.result.answer
        assert verify(step.round_, step.result).violations == ()
        if self.method == "heuristic":
            self._check_safety(step.round_)
        self.then = dict.fromkeys(self.runs)
        self.then |= {job: _held(one.gpus) for one in decision.assignments for job in one.jobs}
        self.kept, self.step = {change.job for change in step.changes.keep}, step

    def carry_out(self, fails: set[int]) -> None:
        """Acknowledge the step, but for some jobs; where all is done, deciding again changes nothing."""
        assert self.step is not None
        to_run = [job for job, place in self.then.items() if place is not None]
        failed = {_one(to_run, which): "it does not run" for which in fails} if to_run else {}
        again = not failed and self._nothing_has_happened()
        self.session.acknowledge(self.step.number, failed)
        self.runs |= self.then
        self.runs |= dict.fromkeys(failed)
        self.then, self.kept, self.step = {}, set(), None
        if again and "idempotent" in {one.name for one in promised(policy_from(self.policy).name)}:
            self.decide(0)
            self._check_nothing_changes()

    def crash(self, torn: bytes) -> None:
        """Kill the process that has the session, in the middle of a line, and resume."""
        before = _known(self.session)
        self.session.close()
        with self.journal.open("ab") as file:
            file.write(torn)
        self.session = Session.resume(self.journal)
        assert _known(self.session) == before

    def check(self) -> None:
        """Compare what the session knows with what has happened."""
        if not hasattr(self, "session"):
            return
        known = {job.id: job.placement if job.state == "running" else None for job in self.session.jobs.values()}
        assert {job: _plain(place) for job, place in known.items()} == {
            job: _plain(place) for job, place in self.runs.items()
        }
        assert (self.session.pending is None) == (self.step is None)

    def close(self) -> None:
        """Remove what is on the disk."""
        if hasattr(self, "session"):
            self.session.close()
        self.folder.cleanup()

    def _check_safety(self, round_: Round) -> None:
        """Check what the algorithm of the policy makes of a round by the invariants of the kit."""
        cases: dict[Judge, Case] = {}
        for one in SAFETY:
            judge = one.under(self.policy).judge
            made = Case(allocator=published(self.policy), round_=round_, judge=judge, seconds=None)
            breach = one.checked(cases.setdefault(judge, made))
            assert breach is None, f"{breach} in\n{round_text(round_)}"

    def _removed(self, node: Node) -> bool:
        """Remove a node, or return that a level would be gone with it, one of several or one that jobs ask for."""
        before = _known(self.session)
        try:
            self.session.remove_node(node.id)
        except InputError as error:
            refused = error
        else:
            return True
        assert "within" in refused.field or refused.field.startswith("levels["), str(refused)
        assert _known(self.session) == before
        return False

    def _nothing_has_happened(self) -> bool:
        """Return whether the round of the step is still all that is known, and all of the step is still to be done.

        A node that goes and comes back leaves the round as it was, but nobody starts on it by that step any more.
        """
        if self.step is None or self.session.round_at(self.now) != self.step.round_:
            return False
        asked = {job: _held(one.gpus) for one in self.step.result.answer.assignments for job in one.jobs}
        return {job: place for job, place in self.then.items() if place is not None} == asked

    def _check_nothing_changes(self) -> None:
        if self.step is not None:
            found = self.step.changes.counts
            words = f"deciding again changes something: {found} in\n{round_text(self.step.round_)}"
            assert set(found) <= {"keep"}, words

    def _forget(self, name: str) -> None:
        del self.runs[name]
        self.then.pop(name, None)


def _known(session: Session) -> tuple[object, ...]:
    """Return all that a session knows."""
    return session.now, dict(session.jobs), session.cluster, session.pending, session.round_at(session.now)


def _one(names: Any, which: int) -> str:
    """Return one of some names; any number will do."""
    listed: list[str] = list(names)
    return listed[which % len(listed)]


def _held(gpus: Mapping[str, int]) -> Mapping[str, int]:
    return {node: count for node, count in gpus.items() if count} or dict(gpus)


def _plain(place: Place) -> dict[str, int] | None:
    return None if place is None else dict(place)
