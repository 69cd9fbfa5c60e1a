"""The messages of a session: open it, tell it what happens, ask what to do, say what was done."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, field

from muri_opt.cli.serve.messages import (
    AskedLimits,
    Message,
    known_policy,
    limits_left,
    read_part,
    result_content,
)
from muri_opt.errors import InputError
from muri_opt.rounds import Cluster, Job, Node
from muri_opt.rounds.round import DEFAULT_RESOURCES
from muri_opt.systems import DEFAULT_POLICY, policy_from

if TYPE_CHECKING:
    from muri_opt.cli.serve.service import Service
    from muri_opt.solve.session.session import Session

FIRST = "main"
"""The name of a session of which no message says another."""


class Open(Message, frozen=True, kw_only=True, tag="session/open"):
    """Begin a session, or go on with one that is open or left a journal; the answer says which, and what is known.

    One that goes on decides as it did: another policy, method or limits are refused. Its cluster is what it knows.
    """

    session: str = FIRST
    cluster: Raw
    policy: str | msgspec.UnsetType = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET
    limits: AskedLimits | msgspec.UnsetType = msgspec.UNSET
    resources: tuple[str, ...] = DEFAULT_RESOURCES

    def answer(self, service: Service, received: float) -> Any:
        """Return the state of the session."""
        cluster: Cluster = read_part("cluster", self.cluster, Cluster)
        policy = DEFAULT_POLICY if self.policy is msgspec.UNSET else known_policy(self.policy)
        method = "auto" if self.method is msgspec.UNSET else self.method
        limits = (AskedLimits() if self.limits is msgspec.UNSET else self.limits).limits()
        found, resumed = service.open(self.session, cluster, policy, method, limits, self.resources)
        if resumed:
            self._check_same(found)
        return {"resumed": resumed, "policy": found.policy.spec, **_state(found)}

    def _check_same(self, found: Session) -> None:
        """Refuse to let a session that goes on decide in another way than it was opened with."""
        known = {"policy": found.policy.spec, "method": found.method, "limits": found.limits}
        asked: dict[str, Any] = {"policy": self.policy, "method": self.method, "limits": self.limits}
        if isinstance(self.policy, str):
            asked["policy"] = policy_from(self.policy).spec
        if isinstance(self.limits, AskedLimits):
            asked["limits"] = self.limits.limits()
        for field_, value in asked.items():
            if value is not msgspec.UNSET and value != known[field_]:
                allowed = f"{known[field_]}, as the session was opened with; another session decides in another way"
                raise InputError(field_, str(value), allowed)


class Told(Message, frozen=True, kw_only=True):
    """Something that happened; the answer is empty and comes when it is in the journal."""

    session: str = FIRST

    def answer(self, service: Service, received: float) -> Any:
        """Tell the session."""
        self.tell(service.session(self.session))
        return {}

    @abstractmethod
    def tell(self, session: Session) -> None:
        """Tell a session."""


class Submit(Told, frozen=True, kw_only=True, tag="session/submit"):
    """Jobs are submitted in their order, all of them or none."""

    jobs: tuple[Raw, ...]

    def tell(self, session: Session) -> None:
        """Submit them, once all can be read."""
        jobs: list[Job] = [read_part(f"jobs[{place}]", text, Job) for place, text in enumerate(self.jobs)]
        session.submit_all(jobs)


class Progress(Told, frozen=True, kw_only=True, tag="session/progress"):
    """What is known of jobs now: a column of numbers for each field, an entry for each job."""

    jobs: tuple[str, ...]
    columns: Mapping[str, tuple[int | float, ...]]

    def tell(self, session: Session) -> None:
        """Tell it in one event."""
        session.progress_all(self.jobs, **self.columns)


class Finish(Told, frozen=True, kw_only=True, tag="session/finish"):
    """A running job has ended."""

    job: str

    def tell(self, session: Session) -> None:
        """Take it out."""
        session.finished(self.job)


class Fail(Told, frozen=True, kw_only=True, tag="session/fail"):
    """A running job has died and waits again."""

    job: str

    def tell(self, session: Session) -> None:
        """Let it wait."""
        session.failed(self.job)


class Cancel(Told, frozen=True, kw_only=True, tag="session/cancel"):
    """A job is taken out, running or waiting."""

    job: str

    def tell(self, session: Session) -> None:
        """Take it out."""
        session.cancel(self.job)


class SetPriority(Told, frozen=True, kw_only=True, tag="session/priority"):
    """A job has another priority."""

    job: str
    priority: int

    def tell(self, session: Session) -> None:
        """Set it."""
        session.set_priority(self.job, self.priority)


class AddNode(Told, frozen=True, kw_only=True, tag="session/add-node"):
    """A node is there."""

    node: Raw

    def tell(self, session: Session) -> None:
        """Add it."""
        node: Node = read_part("node", self.node, Node)
        session.add_node(node)


class DrainNode(Told, frozen=True, kw_only=True, tag="session/drain-node"):
    """A node takes nothing new."""

    node: str

    def tell(self, session: Session) -> None:
        """Drain it."""
        session.drain_node(self.node)


class RemoveNode(Told, frozen=True, kw_only=True, tag="session/remove-node"):
    """A node is gone; the jobs on it wait again."""

    node: str

    def tell(self, session: Session) -> None:
        """Take it out."""
        session.remove_node(self.node)


class Decide(Message, frozen=True, kw_only=True, tag="session/decide"):
    """Ask what is to be done at a moment; the answer has the number of the step, its changes and its result."""

    session: str = FIRST
    now: float
    deadline_seconds: float | None = None

    def answer(self, service: Service, received: float) -> Any:
        """Return the step."""
        session = service.session(self.session)
        limits = limits_left(session.limits, self.deadline_seconds, received)
        step = session.decide(self.now, limits)
        return {"step": step.number, "changes": step.changes, "result": result_content(step.result, limits)}


class Acknowledge(Told, frozen=True, kw_only=True, tag="session/acknowledge"):
    """A step was carried out, but for the jobs that failed to, each with why."""

    step: int
    failed: Mapping[str, str] = field(default_factory=dict)

    def tell(self, session: Session) -> None:
        """Tell it."""
        session.acknowledge(self.step, dict(self.failed))


class State(Message, frozen=True, kw_only=True, tag="session/state"):
    """Ask what a session knows: its time, its jobs, and the step that was not acknowledged."""

    session: str = FIRST

    def answer(self, service: Service, received: float) -> Any:
        """Return it."""
        return _state(service.session(self.session))


class Close(Message, frozen=True, kw_only=True, tag="session/close"):
    """Let another process have the journal of a session."""

    session: str = FIRST

    def answer(self, service: Service, received: float) -> Any:
        """Close it."""
        service.close(self.session)
        return {}


def _state(session: Session) -> dict[str, Any]:
    pending = session.pending
    jobs = session.jobs
    return {
        "now": session.now,
        "jobs": {name: {"state": job.state, "placement": job.placement} for name, job in jobs.items()},
        "nodes": [node.id for node in session.cluster.nodes],
        "pending": None if pending is None else {"step": pending[0], "decision": msgspec.to_builtins(pending[1])},
    }
