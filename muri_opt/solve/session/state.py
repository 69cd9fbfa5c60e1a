"""What a session knows of its cluster: nodes, tenants and jobs now, and the decision that is being carried out.

Where all that changes of a job is worked out here, as a job would store it, the checks of a new job, which take twenty
times as long, are left out. What does not change stays the same object, so that whoever keeps what he worked out about
the cluster or the plans of a job, the solver process among them, knows it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Final

import msgspec
from msgspec.structs import force_setattr, replace

from muri_opt.errors import InputError
from muri_opt.rounds import Assignment, Changes, Cluster, Decision, Job, Node, Round, Together, changes
from muri_opt.rounds.error_text import listed, shown
from muri_opt.rounds.job_changes import kind_of
from muri_opt.rounds.quantities import (
    MAX_GPU_SECONDS,
    MAX_SECONDS,
    MICROSECONDS_PER_SECOND,
    MILLISECONDS_PER_SECOND,
    gpu_milliseconds,
    microseconds,
    snapped,
)
from muri_opt.rounds.round import DEFAULT_RESOURCES, ROUND_FORMATS, Format
from muri_opt.rounds.sharing_now import sharing_now
from muri_opt.rounds.used_fields import fields_in
from muri_opt.solve.session.passing_time import passing

COUNTED: Final = frozenset({"executed_seconds", "attained_gpu_seconds", "waiting_seconds"})
"""What is counted as time passes, unless somebody tells it."""


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that was made and of which nobody has said yet that it was carried out.

    Of the decision there are the assignments; ``stops`` are the jobs that ran before and are in none. A job that has
    ended since, or died where it was to stay, is in neither.
    """

    number: int
    decision: Decision
    stops: tuple[str, ...] = ()

    @classmethod
    def of(cls, number: int, decision: Decision, jobs: Iterable[Job]) -> Pending:
        """Return what is to be done of a decision about some jobs."""
        given = {job for one in decision.assignments for job in one.jobs}
        stops = tuple(job.id for job in jobs if job.state == "running" and job.id not in given)
        return cls(number=number, decision=Decision(assignments=decision.assignments), stops=stops)

    def without_job(self, name: str) -> Pending:
        """Return it without a job; a group goes on without it."""
        assignments = tuple(_without(one, name) for one in self.decision.assignments if one.jobs != (name,))
        stops = tuple(job for job in self.stops if job != name)
        return Pending(number=self.number, decision=Decision(assignments=assignments), stops=stops)

    def without_node(self, name: str) -> Pending:
        """Return it without the assignments that need a node; their jobs cannot be where they were told to be."""
        lost = {job for one in self.decision.assignments if name in one.gpus for job in one.jobs}
        assignments = tuple(one for one in self.decision.assignments if name not in one.gpus)
        stops = (*self.stops, *sorted(lost))
        return Pending(number=self.number, decision=Decision(assignments=assignments), stops=stops)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """The jobs at a moment that has not come yet, with the round they make.

    ``promoted`` are those whose service begins anew, as the policy says.
    """

    now: float
    jobs: dict[str, Job]
    round_: Round
    promoted: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class State:
    """Nodes and jobs by their ids, in the order they came, and the moment that is known of.

    ``told`` are the counts of a job that were told since: they are those at the next decision. All changes go through
    methods, which know what was worked out before and is no longer so.
    """

    cluster: Cluster
    resources: tuple[str, ...] = DEFAULT_RESOURCES
    together: tuple[Together, ...] = ()
    name: str = ""
    format: Format = ROUND_FORMATS[1]
    now: float = 0.0
    jobs: dict[str, Job] = field(default_factory=dict)
    number: int = 0
    pending: Pending | None = None
    told: dict[str, frozenset[str]] = field(default_factory=dict)
    ahead: Ahead | None = None
    made: Round | None = None
    """The round of all that is known now, if it was made."""
    todo: Changes | None = None
    """What the pending decision changes, if nothing has happened since it was made."""

    def round_(self) -> Round:
        """Return all that is known now as a round."""
        if self.made is None:
            self.made = self.round_of(self.jobs.values(), self.now)
        return self.made

    def round_of(self, jobs: Iterable[Job], now: float, cluster: Cluster | None = None) -> Round:
        """Return the round of other jobs, at another moment or on another cluster; refuse what none can hold."""
        return Round(
            format=self.format,
            name=self.name,
            now=now,
            resources=self.resources,
            cluster=cluster or self.cluster,
            jobs=tuple(jobs),
            together=self.together,
        )

    def fields_without_jobs(self) -> dict[str, str]:
        """Return the fields of format 2 that a round uses whatever jobs there are."""
        return fields_in(self.cluster, (), together=bool(self.together), two=self.format == ROUND_FORMATS[1])

    def job(self, name: object, field: str = "job") -> Job:
        """Return a job, or refuse a name that no job has; ``field`` is where it was found."""
        if not isinstance(name, str) or name not in self.jobs:
            known = listed(self.jobs) or "none"
            raise InputError(field, shown(name), f"a job of the session that has not ended: {known}")
        return self.jobs[name]

    def node(self, name: object) -> Node:
        """Return a node, or refuse a name that no node has."""
        place = self.cluster.node_index.get(name) if isinstance(name, str) else None
        if place is None:
            raise InputError("node", shown(name), f"a node of the cluster: {listed(self.cluster.node_index)}")
        return self.cluster.nodes[place]

    def put(self, jobs: Iterable[Job]) -> None:
        """Let jobs be as given, among the others or after them."""
        self.jobs.update((job.id, job) for job in jobs)
        self._changed()

    def drop(self, name: str) -> None:
        """Forget a job."""
        del self.jobs[name]
        self.told.pop(name, None)
        if self.pending is not None:
            self.pending = self.pending.without_job(name)
        self._changed()

    def let_die(self, name: str) -> None:
        """Let a running job wait; where it was to stay as it is, nothing is to be done for it now."""
        if self.pending is not None and self._was_to_stay(name, self.pending.decision):
            self.pending = self.pending.without_job(name)
        self.put([stopped(self.jobs[name])])

    def set_cluster(self, cluster: Cluster) -> None:
        """Take another cluster."""
        self.cluster = cluster
        self._changed()

    def with_node(self, node: Node) -> Cluster:
        """Return the cluster in which a node is as given, among the others or after them."""
        known = self.cluster.node_index
        nodes = [node if one.id == node.id else one for one in self.cluster.nodes]
        return replace(self.cluster, nodes=tuple(nodes if node.id in known else [*nodes, node]))

    def checked_time(self, now: float) -> float:
        """Return a moment in whole microseconds, or refuse one that is before the last."""
        moment = snapped("now", now, MAX_SECONDS, MICROSECONDS_PER_SECOND)
        if moment < self.now:
            raise InputError("now", f"{moment:g} s", f"no time before the last, {self.now:g} s")
        return moment

    def jobs_at(self, now: float, promoted: tuple[str, ...] = ()) -> dict[str, Job]:
        """Return the jobs as they are when time has passed: what runs attains service, what waits has waited.

        A job that did not say how long it had waited has done so since it was submitted.
        """
        then, told, none = microseconds(now), self.told, frozenset[str]()
        passed, jobs = then - microseconds(self.now), dict(self.jobs)
        usual = [job for name, job in jobs.items() if not told.get(name) and job.waiting_seconds is not None]
        if passed:
            jobs.update((job.id, job) for job in passing(usual, passed))
        jobs.update(
            (name, _after(job, passed, then, told.get(name, none)))
            for name, job in self.jobs.items()
            if told.get(name) or job.waiting_seconds is None
        )
        return jobs | {name: _anew(jobs[name]) for name in promoted}

    def decide(self, now: float, number: int, decision: Decision, promoted: tuple[str, ...]) -> None:
        """Let time pass, and keep a decision until it is acknowledged; one before it that was not is dropped."""
        ahead = self.ahead
        fresh = ahead is not None and (ahead.now, ahead.promoted) == (now, promoted)
        self.jobs = ahead.jobs if ahead is not None and fresh else self.jobs_at(now, promoted)
        self._changed()
        self.made = ahead.round_ if ahead is not None and fresh else None
        self.now, self.number = now, number
        self.told.clear()
        self.pending = Pending.of(number, decision, self.jobs.values())

    def carry_out(self, failed: Mapping[str, str]) -> None:
        """Let the cluster be as the pending decision says; jobs that ``failed`` wait, whatever it says of them."""
        pending = self.pending
        if pending is None:
            return
        done = self.todo or changes(self.round_(), pending.decision)
        again = {change.job for change in (*done.stop, *done.move, *done.resize, *done.regroup)}
        stops = set(pending.stops)
        after = [
            self._run(change.job, change.after, change.plan, again=change.job in again)
            for kind in (done.start, done.move, done.resize, done.regroup)
            for change in kind
            if change.after is not None and change.job not in failed
        ]
        after += [stopped(self.jobs[change.job]) for change in done.stop if change.job in stops]
        for kind in (done.keep, done.move, done.resize, done.regroup) if failed else ():
            after += [stopped(self.jobs[change.job]) for change in kind if change.job in failed]
        self.put(after)
        self.pending = None

    def _run(self, name: str, held: Mapping[str, int], plan: str | None, *, again: bool) -> Job:
        """Return a job as a decision has it run."""
        found = copy(self.jobs[name])
        placement = {node: gpus for node, gpus in sorted(held.items()) if gpus} or dict(sorted(held.items()))
        force_setattr(found, "state", "running")
        force_setattr(found, "placement", placement)
        force_setattr(found, "plan", plan or found.plan)
        if again:
            force_setattr(found, "restarts", (found.restarts or 0) + 1)
        return found

    def _was_to_stay(self, name: str, decision: Decision) -> bool:
        for one in decision.assignments:
            if name in one.jobs:
                return kind_of(self.jobs[name], one, sharing_now(self.round_(), decision).get(name, set())) == "keep"
        return False

    def _changed(self) -> None:
        self.ahead = self.made = self.todo = None


def stopped(job: Job) -> Job:
    """Return a job that ran and waits to be started again."""
    found = copy(job)
    force_setattr(found, "state", "waiting")
    force_setattr(found, "placement", None)
    force_setattr(found, "restarts", (job.restarts or 0) + 1)
    return found


def _without(one: Assignment, name: str) -> Assignment:
    if name not in one.jobs:
        return one
    jobs = tuple(job for job in one.jobs if job != name)
    return replace(one, jobs=jobs, order=tuple(range(len(jobs))))


def counted(job: Job) -> Job:
    """Return a job as it is submitted: what it does not say that it has had, it has not had.

    How long it has waited is known when it was submitted; it is worked out at the next decision.
    """
    waited = 0.0 if job.waiting_seconds is None and (job.state == "running" or job.submitted is None) else None
    return replace(
        job,
        executed_seconds=job.executed_seconds or 0.0,
        attained_gpu_seconds=job.attained_gpu_seconds or 0.0,
        waiting_seconds=job.waiting_seconds if waited is None else waited,
    )


def without_past(job: Job) -> Job:
    """Return a job that has had nothing and has not waited, but for what it says: as a policy will see it at first."""
    found = copy(job)
    for name in COUNTED:
        if getattr(job, name) is None:
            force_setattr(found, name, 0.0)
    return found


def _after(job: Job, passed: int, then: int, told: frozenset[str]) -> Job:
    """Return a job after so many microseconds as it is, but for what was told of it."""
    if told >= COUNTED or not (passed or job.waiting_seconds is None):
        return job
    later = copy(job)
    if job.waiting_seconds is None:
        force_setattr(later, "waiting_seconds", _later(0.0, max(0, then - microseconds(job.submitted or 0.0))))
    elif job.state == "waiting" and "waiting_seconds" not in told:
        force_setattr(later, "waiting_seconds", _later(job.waiting_seconds, passed))
    if job.state == "waiting":
        return later
    if "executed_seconds" not in told:
        force_setattr(later, "executed_seconds", _later(job.executed_seconds, passed))
    if "attained_gpu_seconds" not in told:
        held = max(1, sum((job.placement or {}).values()))
        had = gpu_milliseconds(job.attained_gpu_seconds or 0.0) + round(passed * held / 1000)
        force_setattr(later, "attained_gpu_seconds", min(had / MILLISECONDS_PER_SECOND, MAX_GPU_SECONDS))
    return later


def _anew(job: Job) -> Job:
    """Return a job whose service begins anew."""
    return replace(job, executed_seconds=0.0, attained_gpu_seconds=0.0, waiting_seconds=0.0)


def _later(seconds: float | None, microseconds_more: int) -> float:
    later = (microseconds(seconds or 0.0) + microseconds_more) / MICROSECONDS_PER_SECOND
    return min(later, MAX_SECONDS)
