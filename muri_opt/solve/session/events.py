"""What happens to a cluster, one event at a time: checked against what is known, and then applied to it.

An event that is refused changes nothing. Each one is a line of the journal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace as with_fields
from typing import Final

from msgspec.structs import force_setattr, replace

from muri_opt.errors import InputError
from muri_opt.rounds import Cluster, Decision, Job, Together
from muri_opt.rounds.error_text import listed, shown
from muri_opt.rounds.field_checks import check_kind
from muri_opt.rounds.round import ROUND_FORMATS, Format
from muri_opt.solve.session.event import Line, Told
from muri_opt.solve.session.node_events import NodeAdded, NodeDrained, NodeRemoved
from muri_opt.solve.session.progress_columns import check_names, harder_rows, with_columns
from muri_opt.solve.session.state import COUNTED, Pending, State, counted, without_past

_IN_ROUND: Final = re.compile(r"jobs\[\d+\]")
"""Begins a field that names a job by its place in a round."""


class Submitted(Line, frozen=True, tag="submit"):
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

    def jobs_told(self, state: State) -> Iterable[Told]:
        """Return the job, for which no time has passed."""
        return [Told(f"jobs[0] ({shown(self.job.id)})", None, without_past(self.job))]

    def apply(self, state: State) -> None:
        """Add the job after all others."""
        state.put([counted(self.job)])


class AllSubmitted(Line, frozen=True, tag="submit-all"):
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

    def jobs_told(self, state: State) -> Iterable[Told]:
        """Return the jobs, for which no time has passed."""
        every = enumerate(self.jobs)
        return [Told(f"jobs[{place}] ({shown(job.id)})", None, without_past(job)) for place, job in every]

    def apply(self, state: State) -> None:
        """Add the jobs after all others."""
        state.put(map(counted, self.jobs))


class Progressed(Line, frozen=True, tag="progress"):
    """A job has done some of its work, or it is known better how long it is."""

    job: str
    fields: Mapping[str, int | float | None]

    def check(self, state: State) -> None:
        """Refuse an unknown job, and fields that are no progress."""
        job = state.job(self.job)
        check_names(self.fields)
        replace(job, **self.fields)

    def jobs_told(self, state: State) -> Iterable[Told]:
        """Return the job with what is told."""
        return [_told(state.jobs[self.job], self._after(state))]

    def apply(self, state: State) -> None:
        """Take over what is told."""
        state.told[self.job] = state.told.get(self.job, frozenset()) | (COUNTED & self.fields.keys())
        state.put([self._after(state)])

    def _after(self, state: State) -> Job:
        before = state.jobs[self.job]
        checked, after = replace(before, **self.fields), copy(before)
        for field in self.fields:  # all else stays the same objects, by which much is known of its tables and plans
            force_setattr(after, field, getattr(checked, field))
        return after


class AllProgressed(Line, frozen=True, tag="progress-all"):
    """What is known of many jobs at once: a column for each field, an entry for each job."""

    jobs: tuple[str, ...]
    columns: Mapping[str, tuple[int | float, ...]]

    def check(self, state: State) -> None:
        """Refuse unknown jobs; what the columns say was checked when they were made."""
        if not state.jobs.keys() >= set(self.jobs):
            for place, name in enumerate(self.jobs):
                state.job(name, f"jobs[{place}]")

    def jobs_told(self, state: State) -> Iterable[Told]:
        """Return the jobs with more left to do, or longer to do it, than was known; less of both is in nobody's way."""
        jobs = [state.jobs[name] for name in self.jobs]
        rows = harder_rows(jobs, self.columns)
        if not rows:
            return ()
        columns = {field: tuple(values[row] for row in rows) for field, values in self.columns.items()}
        some = [jobs[row] for row in rows]
        return map(_told, some, with_columns(some, columns))

    def apply(self, state: State) -> None:
        """Take over what is told."""
        fields = COUNTED & self.columns.keys()
        if fields:
            again = set(self.jobs) & state.told.keys()
            state.told |= dict.fromkeys(self.jobs, fields) | {name: state.told[name] | fields for name in again}
        state.put(with_columns([state.jobs[name] for name in self.jobs], self.columns))


class Finished(Line, frozen=True, tag="finished"):
    """A running job has ended."""

    job: str

    def check(self, state: State) -> None:
        """Refuse a job that does not run."""
        _check_running(state, self.job, "cancel() for one that waits")

    def apply(self, state: State) -> None:
        """Forget the job."""
        state.drop(self.job)


class Failed(Line, frozen=True, tag="failed"):
    """A running job has died and waits to be started again."""

    job: str

    def check(self, state: State) -> None:
        """Refuse a job that does not run."""
        _check_running(state, self.job, "cancel() for one that waits")

    def apply(self, state: State) -> None:
        """Let the job wait."""
        state.let_die(self.job)


class Cancelled(Line, frozen=True, tag="cancel"):
    """A job is wanted no more, whether it runs or waits."""

    job: str

    def check(self, state: State) -> None:
        """Refuse an unknown job."""
        state.job(self.job)

    def apply(self, state: State) -> None:
        """Forget the job."""
        state.drop(self.job)


class PrioritySet(Line, frozen=True, tag="priority"):
    """A job has another priority."""

    job: str
    priority: int

    def check(self, state: State) -> None:
        """Refuse an unknown job and what is no priority."""
        replace(state.job(self.job), priority=self.priority)

    def jobs_told(self, state: State) -> Iterable[Told]:
        """Return the job with the priority."""
        before = state.jobs[self.job]
        return [_told(before, replace(before, priority=self.priority))]

    def apply(self, state: State) -> None:
        """Take over the priority."""
        state.put([replace(state.jobs[self.job], priority=self.priority)])


class Decided(Line, frozen=True, tag="decide"):
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


class Acknowledged(Line, frozen=True, tag="acknowledge"):
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


class Snapshot(Line, frozen=True, kw_only=True, tag="snapshot"):
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


def _told(before: Job, after: Job) -> Told:
    return Told(f"job {shown(before.id)}", before, after)


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
