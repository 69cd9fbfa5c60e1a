"""What happens to a cluster, one event at a time: checked against what is known, and then applied to it.

An event that is refused changes nothing. Each one is a line of the journal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import copy
from dataclasses import replace as with_fields
from typing import Final, Protocol

import msgspec
from msgspec.structs import force_setattr, replace

from muri_opt.errors import InputError
from muri_opt.rounds import Cluster, Decision, Job, Node, Together
from muri_opt.rounds.error_text import listed, shown
from muri_opt.rounds.field_checks import check_kind
from muri_opt.rounds.round import ROUND_FORMATS, Format
from muri_opt.solve.session.progress_columns import check_names, with_columns
from muri_opt.solve.session.state import COUNTED, Pending, State, counted, stopped

_IN_ROUND: Final = re.compile(r"jobs\[\d+\]")
"""Begins a field that names a job by its place in a round."""


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
        check_kind("job", self.job, Job)
        if self.job.id in state.jobs:
            raise InputError("job", f"{shown(self.job.id)} twice", "the name of no job that has not ended")
        if self.job.placement:
            beside = (job for job in state.jobs.values() if _meet(job, self.job))
            state.round_of((*beside, self.job), state.now)
        else:
            state.round_of((self.job,), state.now, _levels_and_tenants(state.cluster))

    def apply(self, state: State) -> None:
        """Add the job after all others."""
        state.put([counted(self.job)])


class AllSubmitted(_Line, frozen=True, tag="submit-all"):
    """Several jobs came, all of them or none."""

    jobs: tuple[Job, ...]

    def check(self, state: State) -> None:
        """Refuse what :class:`Submitted` does, with the place of the job."""
        then = copy(state)
        then.jobs = dict(state.jobs)
        for place, job in enumerate(self.jobs):
            try:
                Submitted(job=job).check(then)
            except InputError as error:
                raise _of_job(error, place) from None
            then.jobs[job.id] = job

    def apply(self, state: State) -> None:
        """Add the jobs after all others."""
        state.put(map(counted, self.jobs))


class Progressed(_Line, frozen=True, tag="progress"):
    """A job has done some of its work, or it is known better how long it is."""

    job: str
    fields: Mapping[str, int | float | None]

    def check(self, state: State) -> None:
        """Refuse an unknown job, and fields that are no progress."""
        job = state.job(self.job)
        check_names(self.fields)
        replace(job, **self.fields)

    def apply(self, state: State) -> None:
        """Take over what is told."""
        state.told[self.job] = state.told.get(self.job, frozenset()) | (COUNTED & self.fields.keys())
        before = state.jobs[self.job]
        checked, after = replace(before, **self.fields), copy(before)
        for field in self.fields:  # all else stays the same objects, by which much is known of its tables and plans
            force_setattr(after, field, getattr(checked, field))
        state.put([after])


class AllProgressed(_Line, frozen=True, tag="progress-all"):
    """What is known of many jobs at once: a column for each field, an entry for each job."""

    jobs: tuple[str, ...]
    columns: Mapping[str, tuple[int | float, ...]]

    def check(self, state: State) -> None:
        """Refuse unknown jobs; what the columns say was checked when they were made."""
        if not state.jobs.keys() >= set(self.jobs):
            for place, name in enumerate(self.jobs):
                state.job(name, f"jobs[{place}]")

    def apply(self, state: State) -> None:
        """Take over what is told."""
        fields = COUNTED & self.columns.keys()
        if fields:
            again = set(self.jobs) & state.told.keys()
            state.told |= dict.fromkeys(self.jobs, fields) | {name: state.told[name] | fields for name in again}
        state.put(with_columns([state.jobs[name] for name in self.jobs], self.columns))


class Finished(_Line, frozen=True, tag="finished"):
    """A running job has ended."""

    job: str

    def check(self, state: State) -> None:
        """Refuse a job that does not run."""
        _check_running(state, self.job, "cancel() for one that waits")

    def apply(self, state: State) -> None:
        """Forget the job."""
        state.drop(self.job)


class Failed(_Line, frozen=True, tag="failed"):
    """A running job has died and waits to be started again."""

    job: str

    def check(self, state: State) -> None:
        """Refuse a job that does not run."""
        _check_running(state, self.job, "cancel() for one that waits")

    def apply(self, state: State) -> None:
        """Let the job wait."""
        state.let_die(self.job)


class Cancelled(_Line, frozen=True, tag="cancel"):
    """A job is wanted no more, whether it runs or waits."""

    job: str

    def check(self, state: State) -> None:
        """Refuse an unknown job."""
        state.job(self.job)

    def apply(self, state: State) -> None:
        """Forget the job."""
        state.drop(self.job)


class PrioritySet(_Line, frozen=True, tag="priority"):
    """A job has another priority."""

    job: str
    priority: int

    def check(self, state: State) -> None:
        """Refuse an unknown job and what is no priority."""
        replace(state.job(self.job), priority=self.priority)

    def apply(self, state: State) -> None:
        """Take over the priority."""
        state.put([replace(state.jobs[self.job], priority=self.priority)])


class NodeAdded(_Line, frozen=True, tag="add-node"):
    """A node came, or one that drained takes jobs again."""

    node: Node

    def check(self, state: State) -> None:
        """Refuse a name that a node has already, but for one that drains and can hold what runs on it."""
        check_kind("node", self.node, Node)
        place = state.cluster.node_index.get(self.node.id)
        if place is not None and state.cluster.nodes[place].state == "up":
            allowed = "the name of no node of the cluster, or of one that drains"
            raise InputError("node", f"{shown(self.node.id)} twice", allowed)
        there = (job for job in state.jobs.values() if self.node.id in (job.placement or {}))
        state.round_of(there, state.now, state.with_node(self.node))

    def apply(self, state: State) -> None:
        """Add the node after all others, or in its place."""
        state.set_cluster(state.with_node(self.node))


class NodeDrained(_Line, frozen=True, tag="drain-node"):
    """A node takes nothing new; what runs on it goes on."""

    node: str

    def check(self, state: State) -> None:
        """Refuse an unknown node."""
        state.node(self.node)

    def apply(self, state: State) -> None:
        """Say so of the node."""
        state.set_cluster(state.with_node(replace(state.node(self.node), state="drain")))


class NodeRemoved(_Line, frozen=True, tag="remove-node"):
    """A node is gone, and what ran on it waits again."""

    node: str

    def check(self, state: State) -> None:
        """Refuse an unknown node, and the last one of a level that is one of several, or that jobs ask for."""
        state.node(self.node)
        jobs = {**state.jobs, **{job.id: job for job in self._lost(state)}}
        state.round_of(jobs.values(), state.now, self._without(state))

    def apply(self, state: State) -> None:
        """Take the node out, and stop its jobs; what is being carried out needs it no more."""
        lost = self._lost(state)
        if state.pending is not None:
            state.pending = state.pending.without_node(self.node)
        state.put(lost)
        state.set_cluster(self._without(state))

    def _without(self, state: State) -> Cluster:
        return replace(state.cluster, nodes=tuple(node for node in state.cluster.nodes if node.id != self.node))

    def _lost(self, state: State) -> list[Job]:
        """Return the jobs that were on the node, without it; one that waits had only been there before."""
        there = (job for job in state.jobs.values() if self.node in (job.placement or {}))
        return [stopped(job) if job.state == "running" else replace(job, placement=None) for job in there]


class Decided(_Line, frozen=True, tag="decide"):
    """A decision was made, of which there are the assignments; it is to be carried out.

    Jobs that are ``promoted`` begin anew: what they have had counts no more.
    """

    now: float
    number: int
    decision: Decision
    promoted: tuple[str, ...] = ()

    def check(self, state: State) -> None:
        """Refuse a time before the last, and a decision about what is not there."""
        state.checked_time(self.now)
        jobs, nodes = state.jobs, state.cluster.node_index
        for one in self.decision.assignments:
            for job in one.jobs:
                if job not in jobs:
                    state.job(job)
            for node in one.gpus:
                if node not in nodes:
                    state.node(node)

    def apply(self, state: State) -> None:
        """Let time pass, and keep the decision until it is acknowledged; one before it that was not is dropped."""
        state.decide(self.now, self.number, self.decision, self.promoted)


class Acknowledged(_Line, frozen=True, tag="acknowledge"):
    """The last decision was carried out, but for jobs that failed to do as it says."""

    number: int
    failed: Mapping[str, str] = {}

    def check(self, state: State) -> None:
        """Refuse another step than the one that is being carried out, jobs that are not there, and what cannot be.

        A decision that was verified can be carried out; what has happened since may be in its way.
        """
        if state.pending is None or state.pending.number != self.number:
            open_ = "none is being carried out" if state.pending is None else f"step {state.pending.number}"
            raise InputError("step", f"step {self.number}", f"the last step that was decided: {open_}")
        for job in self.failed:
            state.job(job)
        if state.todo is None:
            trial = with_fields(state, jobs=dict(state.jobs))
            trial.carry_out(self.failed)
            trial.round_()

    def apply(self, state: State) -> None:
        """Let the cluster be as the decision says; of jobs that ended meanwhile it says nothing."""
        state.carry_out(self.failed)


class Snapshot(_Line, frozen=True, kw_only=True, tag="snapshot"):
    """All that is known, in place of the events that led to it."""

    cluster: Cluster
    resources: tuple[str, ...]
    together: tuple[Together, ...] = ()
    name: str = ""
    format: Format = ROUND_FORMATS[1]
    now: float
    jobs: tuple[Job, ...]
    number: int
    pending: Pending | None = None
    told: Mapping[str, tuple[str, ...]] = {}

    @classmethod
    def of(cls, state: State) -> Snapshot:
        """Return what a session knows now."""
        return cls(
            cluster=state.cluster,
            resources=state.resources,
            together=state.together,
            name=state.name,
            format=state.format,
            now=state.now,
            jobs=tuple(state.jobs.values()),
            number=state.number,
            pending=state.pending,
            told={job: tuple(sorted(fields)) for job, fields in state.told.items()},
        )

    def check(self, state: State) -> None:
        """Refuse nothing: it was known when it was written."""

    def apply(self, state: State) -> None:
        """Know what it says, and nothing else."""
        state.resources, state.together = self.resources, self.together
        state.name, state.format = self.name, self.format
        state.now, state.number, state.pending = self.now, self.number, self.pending
        state.jobs, state.told = {}, {job: frozenset(fields) for job, fields in self.told.items()}
        state.set_cluster(self.cluster)
        state.put(self.jobs)


AnyEvent = (
    Submitted
    | AllSubmitted
    | Progressed
    | AllProgressed
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


def _check_running(state: State, name: str, otherwise: str) -> None:
    if state.job(name).state != "running":
        running = listed(job.id for job in state.jobs.values() if job.state == "running")
        raise InputError(
            "job", f"{shown(name)}, which waits", f"a job that runs ({running or 'none does'}); {otherwise}"
        )


def _of_job(error: InputError, place: int) -> InputError:
    """Return an error about a job with its place among those submitted, not in the round that it was tried in."""
    tried = _IN_ROUND.match(error.field)
    field = f"jobs[{place}]{error.field[tried.end() :]}" if tried else f"jobs[{place}].{error.field}"
    return InputError(field, error.found, error.allowed)


def _levels_and_tenants(cluster: Cluster) -> Cluster:
    """Return all of a cluster that a job without a placement can contradict: its levels and tenants, with one node."""
    racked = (node for node in cluster.nodes if node.rack is not None)
    kept = next(racked, None) if cluster.level_names else None
    return replace(cluster, nodes=cluster.nodes[:1] if kept is None else (kept,))


def _meet(one: Job, other: Job) -> bool:
    """Return whether two jobs hold GPUs of the same node."""
    return not (one.placement or {}).keys().isdisjoint(other.placement or {})
