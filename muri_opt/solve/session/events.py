"""What happens to a cluster, one event at a time: checked against what is known, and then applied to it.

An event that is refused changes nothing. Each one is a line of the journal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec
from msgspec.structs import replace

from muri_opt.errors import InputError
from muri_opt.rounds import Cluster, Decision, Job, Node
from muri_opt.rounds.error_text import listed, shown
from muri_opt.solve.session.state import Pending, State


class Event(Protocol):
    """Something that happened."""

    def check(self, state: State) -> None:
        """Refuse what cannot have happened."""

    def apply(self, state: State) -> None:
        """Change the state; ``check`` has passed."""


class _Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="event"):
    """An event as a line of the journal, which says by its tag what happened."""


class Submitted(_Line, frozen=True, tag="submit"):
    """A job came."""

    job: Job

    def check(self, state: State) -> None:
        """Refuse a name that a job has already, and what would make no round."""
        if self.job.id in state.jobs:
            raise InputError("job", f"{shown(self.job.id)} twice", "the name of no job that has not ended")
        _check_round(state, jobs={self.job.id: self.job})

    def apply(self, state: State) -> None:
        """Add the job after all others."""
        state.jobs[self.job.id] = self.job


class Progressed(_Line, frozen=True, tag="progress"):
    """A job has done some of its work, or it is known better how long it is."""

    job: str
    fields: Mapping[str, int | float]

    def check(self, state: State) -> None:
        """Refuse an unknown job, and fields that are no progress."""
        job = state.job(self.job)
        unknown = [name for name in self.fields if name not in PROGRESS]
        if unknown or not self.fields:
            raise InputError("progress", shown(unknown[0]) if unknown else "nothing", "one of " + ", ".join(PROGRESS))
        replace(job, **self.fields)

    def apply(self, state: State) -> None:
        """Take over what is told."""
        state.jobs[self.job] = replace(state.jobs[self.job], **self.fields)


class Finished(_Line, frozen=True, tag="finished"):
    """A running job has ended."""

    job: str

    def check(self, state: State) -> None:
        """Refuse a job that does not run."""
        _check_running(state, self.job, "cancel() for one that waits")

    def apply(self, state: State) -> None:
        """Forget the job."""
        del state.jobs[self.job]


class Failed(_Line, frozen=True, tag="failed"):
    """A running job has died and waits to be started again."""

    job: str

    def check(self, state: State) -> None:
        """Refuse a job that does not run."""
        _check_running(state, self.job, "cancel() for one that waits")

    def apply(self, state: State) -> None:
        """Let the job wait."""
        state.jobs[self.job] = _stopped(state.jobs[self.job])


class Cancelled(_Line, frozen=True, tag="cancel"):
    """A job is wanted no more, whether it runs or waits."""

    job: str

    def check(self, state: State) -> None:
        """Refuse an unknown job."""
        state.job(self.job)

    def apply(self, state: State) -> None:
        """Forget the job."""
        del state.jobs[self.job]


class PrioritySet(_Line, frozen=True, tag="priority"):
    """A job has another priority."""

    job: str
    priority: int

    def check(self, state: State) -> None:
        """Refuse an unknown job and what is no priority."""
        replace(state.job(self.job), priority=self.priority)

    def apply(self, state: State) -> None:
        """Take over the priority."""
        state.jobs[self.job] = replace(state.jobs[self.job], priority=self.priority)


class NodeAdded(_Line, frozen=True, tag="add-node"):
    """A node came, or came back."""

    node: Node

    def check(self, state: State) -> None:
        """Refuse a name that a node has already."""
        if self.node.id in state.cluster.node_index:
            raise InputError("node", f"{shown(self.node.id)} twice", "the name of no node of the cluster")
        state.with_node(self.node)

    def apply(self, state: State) -> None:
        """Add the node after all others."""
        state.cluster = state.with_node(self.node)


class NodeDrained(_Line, frozen=True, tag="drain-node"):
    """A node takes nothing new; what runs on it goes on."""

    node: str

    def check(self, state: State) -> None:
        """Refuse an unknown node."""
        state.node(self.node)

    def apply(self, state: State) -> None:
        """Say so of the node."""
        state.cluster = state.with_node(replace(state.node(self.node), state="drain"))


class NodeRemoved(_Line, frozen=True, tag="remove-node"):
    """A node is gone, and what ran on it waits again."""

    node: str

    def check(self, state: State) -> None:
        """Refuse an unknown node, and a level that would be gone with it while jobs ask for it."""
        state.node(self.node)
        _check_round(state, cluster=self._without(state), jobs=self._stopped(state))

    def apply(self, state: State) -> None:
        """Take the node out, and stop its jobs."""
        state.jobs.update(self._stopped(state))
        state.cluster = self._without(state)

    def _without(self, state: State) -> Cluster:
        return replace(state.cluster, nodes=tuple(node for node in state.cluster.nodes if node.id != self.node))

    def _stopped(self, state: State) -> dict[str, Job]:
        return {name: _stopped(job) for name, job in state.jobs.items() if self.node in (job.placement or {})}


class Decided(_Line, frozen=True, tag="decide"):
    """A decision was made; it is to be carried out."""

    now: float
    number: int
    decision: Decision

    def check(self, state: State) -> None:
        """Refuse a time before the last."""
        state.check_time(self.now)

    def apply(self, state: State) -> None:
        """Keep the decision until it is acknowledged; one before it that was not is dropped."""
        state.jobs, state.now = state.jobs_at(self.now), self.now
        state.number, state.pending = self.number, Pending(number=self.number, decision=self.decision)


class Acknowledged(_Line, frozen=True, tag="acknowledge"):
    """The last decision was carried out, but for jobs that failed to do as it says."""

    number: int
    failed: Mapping[str, str] = {}

    def check(self, state: State) -> None:
        """Refuse another step than the one that is being carried out, and jobs that it is not about."""
        if state.pending is None or state.pending.number != self.number:
            open_ = "none is being carried out" if state.pending is None else f"step {state.pending.number}"
            raise InputError("step", f"step {self.number}", f"the last step that was decided: {open_}")
        for job in self.failed:
            state.job(job)

    def apply(self, state: State) -> None:
        """Let the cluster be as the decision says; of jobs that ended meanwhile it says nothing."""
        if state.pending is not None:
            state.carry_out(_of_those_there(state, state.pending.decision), self.failed)
        state.pending = None


class Snapshot(_Line, frozen=True, tag="snapshot"):
    """All that is known, in place of the events that led to it."""

    cluster: Cluster
    resources: tuple[str, ...]
    now: float
    jobs: tuple[Job, ...]
    number: int
    pending: Pending | None = None

    @classmethod
    def of(cls, state: State) -> Snapshot:
        """Return what a session knows now."""
        return cls(
            cluster=state.cluster,
            resources=state.resources,
            now=state.now,
            jobs=tuple(state.jobs.values()),
            number=state.number,
            pending=state.pending,
        )

    def check(self, state: State) -> None:
        """Refuse nothing: it was known when it was written."""

    def apply(self, state: State) -> None:
        """Know what it says, and nothing else."""
        state.cluster, state.resources, state.now = self.cluster, self.resources, self.now
        state.jobs = {job.id: job for job in self.jobs}
        state.number, state.pending = self.number, self.pending


AnyEvent = (
    Submitted
    | Progressed
    | Finished
    | Failed
    | Cancelled
    | PrioritySet
    | NodeAdded
    | NodeDrained
    | NodeRemoved
    | Decided
    | Acknowledged
    | Snapshot
)
PROGRESS = ("remaining_iterations", "iteration_seconds", "executed_seconds", "attained_gpu_seconds", "waiting_seconds")
"""What may be told of a job while it is there."""


def _check_round(state: State, *, cluster: Cluster | None = None, jobs: Mapping[str, Job]) -> None:
    """Refuse jobs that no round with this cluster could hold."""
    trial = State(cluster=cluster or state.cluster, resources=state.resources, now=state.now, jobs=dict(jobs))
    trial.round_()


def _check_running(state: State, name: str, otherwise: str) -> None:
    if state.job(name).state != "running":
        running = listed(job.id for job in state.jobs.values() if job.state == "running")
        raise InputError(
            "job", f"{shown(name)}, which waits", f"a job that runs ({running or 'none does'}); {otherwise}"
        )


def _stopped(job: Job) -> Job:
    return replace(job, state="waiting", placement=None, restarts=(job.restarts or 0) + 1)


def _of_those_there(state: State, decision: Decision) -> Decision:
    """Return a decision without jobs and nodes that are gone: a group goes on without those that have ended."""
    assignments = []
    for one in decision.assignments:
        jobs = tuple(job for job in one.jobs if job in state.jobs)
        if jobs and all(node in state.cluster.node_index for node in one.gpus):
            assignments.append(replace(one, jobs=jobs, order=tuple(range(len(jobs)))))
    return Decision(assignments=tuple(assignments))
