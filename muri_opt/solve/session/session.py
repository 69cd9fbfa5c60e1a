"""``Session``: submit, progress, finish; decide; acknowledge; and again."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import RLock
from types import TracebackType
from typing import Final

from muri_opt.errors import InputError
from muri_opt.rounds import Changes, Cluster, Decision, Job, Limits, Node, Result, Round, Together, changes
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.field_checks import check_kind
from muri_opt.rounds.round import DEFAULT_RESOURCES, ROUND_FORMATS, Format
from muri_opt.solve.collector import collector_waits
from muri_opt.solve.round import check_method, solve_round
from muri_opt.solve.session.event import Event, Told
from muri_opt.solve.session.events import (
    Acknowledged,
    AllProgressed,
    AllSubmitted,
    Cancelled,
    Decided,
    Failed,
    Finished,
    PrioritySet,
    Progressed,
    Snapshot,
    Submitted,
)
from muri_opt.solve.session.journal import FORMAT, Header, Journal
from muri_opt.solve.session.node_events import NodeAdded, NodeDrained, NodeRemoved
from muri_opt.solve.session.progress_columns import checked_columns
from muri_opt.solve.session.state import Ahead, State
from muri_opt.systems import DEFAULT_POLICY, Named, admit_job, policy_from

MOST_GROWTH: Final = 8
"""A journal that is so many times as large as when it was begun is written anew."""
LEAST_SIZE: Final = 1 << 20
"""Bytes up to which no journal is written anew."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Step:
    """One decision of a session: the round as it was, its result, and what must be done now.

    >>> Session(Cluster(nodes=())).decide(now=5.0).number
    1
    """

    number: int
    round_: Round
    result: Result
    changes: Changes


class Session:
    """A cluster from round to round. It keeps what is known, so that a caller tells only what happens.

    ``journal`` is a file to which every event is written before it is answered; :meth:`resume` goes on from it after a
    crash. Calls from several threads come one after another. ``resources``, ``together`` and ``name`` are those of the
    rounds, and ``round_format`` their format: in the first, gangs may mix GPU types. A step that is not acknowledged
    changes nothing but the time: the next one takes its place. ``any_job`` takes jobs that the policy could decide no
    round with, for decisions that are made elsewhere and adopted; else they are refused.

    >>> session = Session(Cluster(nodes=(Node(id="n0", gpus=4),)), policy="srtf")
    >>> session.submit(Job(id="a", gpus=2, iteration_seconds=1.0, remaining_iterations=60))
    >>> step = session.decide(now=0.0)
    >>> [change.job for change in step.changes.start]
    ['a']
    >>> session.acknowledge(step)
    >>> session.decide(now=10.0).changes.counts
    {'keep': 1}
    """

    def __init__(
        self,
        cluster: Cluster,
        policy: Named = DEFAULT_POLICY,
        method: str = "auto",
        limits: Limits | None = None,
        *,
        resources: tuple[str, ...] = DEFAULT_RESOURCES,
        together: tuple[Together, ...] = (),
        name: str = "",
        round_format: Format = ROUND_FORMATS[1],
        journal: str | os.PathLike[str] | Journal | None = None,
        any_job: bool = False,
    ) -> None:
        self.policy, self.method, self.limits = policy_from(policy), method, limits or Limits()
        check_method(method)
        check_kind("limits", self.limits, Limits)
        self._state = State(cluster=cluster, resources=resources, together=together, name=name, format=round_format)
        self._lock, self._closed, self._any_job = RLock(), False, any_job
        self._state.round_()  # refuses what no round can hold
        if isinstance(journal, Journal):  # one that resume() has opened
            for event in journal.events:
                event.apply(self._state)
            self._journal: Journal | None = journal
        elif journal is not None:
            header = Header(format=FORMAT, policy=self.policy.spec, method=method, limits=self.limits)
            self._journal = Journal.create(journal, header, Snapshot.of(self._state))
        else:
            self._journal = None

    @classmethod
    def resume(cls, journal: str | os.PathLike[str], policy: Named | None = None) -> Session:
        """Return the session of a journal as it was after the last event that was answered.

        ``policy`` has to be given only where it was a function or another object that has no text.
        """
        opened = Journal.open(journal)
        said = opened.header
        try:
            return cls(Cluster(nodes=()), policy or said.policy, said.method, said.limits, journal=opened)
        except BaseException:
            opened.close()
            raise

    @property
    def now(self) -> float:
        """The moment of the last decision."""
        return self._state.now

    @property
    def jobs(self) -> Mapping[str, Job]:
        """The jobs that have not ended, by id, as they are now."""
        with self._lock:
            return dict(self._state.jobs)

    @property
    def cluster(self) -> Cluster:
        """Nodes and tenants as they are now."""
        return self._state.cluster

    @property
    def pending(self) -> tuple[int, Decision] | None:
        """The number and the decision of a step that was not acknowledged; after a crash, ask what was carried out.

        Of the decision there are the assignments, without jobs that have ended since.
        """
        pending = self._state.pending
        return None if pending is None else (pending.number, pending.decision)

    def submit(self, job: Job) -> None:
        """Add a job."""
        self._tell(Submitted(job=job))

    def submit_all(self, jobs: Iterable[Job]) -> None:
        """Add several jobs, all of them or, where one is refused, none. It is one event."""
        self._tell(AllSubmitted(jobs=tuple(jobs)))

    def progress(self, job: str, **fields: float) -> None:
        """Say what is known of a job now, such as ``remaining_iterations=1200``."""
        self._tell(Progressed(job=job, fields=fields))

    def progress_all(self, jobs: Iterable[str], **columns: Iterable[float]) -> None:
        """Say what is known of many jobs now, such as ``remaining_iterations=[1200, 7]``: one entry for each job.

        It is one event, and one line of the journal. Columns may be arrays.
        """
        names = tuple(jobs)
        self._tell(AllProgressed(jobs=names, columns=checked_columns(names, columns)))

    def finished(self, job: str) -> None:
        """Say that a running job has ended."""
        self._tell(Finished(job=job))

    def failed(self, job: str) -> None:
        """Say that a running job has died; it waits to be started again."""
        self._tell(Failed(job=job))

    def cancel(self, job: str) -> None:
        """Take out a job, running or waiting."""
        self._tell(Cancelled(job=job))

    def set_priority(self, job: str, priority: int) -> None:
        """Give a job another priority; the larger goes first."""
        self._tell(PrioritySet(job=job, priority=priority))

    def add_node(self, node: Node) -> None:
        """Add a node."""
        self._tell(NodeAdded(node=node))

    def drain_node(self, node: str) -> None:
        """Let a node take nothing new."""
        self._tell(NodeDrained(node=node))

    def remove_node(self, node: str) -> None:
        """Take out a node; the jobs on it wait again."""
        self._tell(NodeRemoved(node=node))

    def decide(self, now: float, limits: Limits | None = None) -> Step:
        """Return what is to be done at a moment, which is not before the last; ``limits`` are for this time only.

        :class:`~muri_opt.NoAnswer` where there is no decision: none is possible, or none was found in time. Then
        nothing has changed, the time neither.
        """
        asked, began = limits or self.limits, time.monotonic()
        with self._lock, collector_waits(asked):
            round_ = self.round_at(now)
            if asked.seconds is not None:  # making the round counts, too
                asked = asked.with_seconds(max(0.0, asked.seconds - (time.monotonic() - began)))
            result = solve_round(round_, self.policy, self.method, asked)
            decision = result.answer
            if not result.certificate.feasible:
                raise _broken(result)
            todo = result.changes or changes(round_, decision)
            number = self.adopt(now, decision, todo)
            return Step(number=number, round_=round_, result=result, changes=todo)

    def round_at(self, now: float) -> Round:
        """Return the round that :meth:`decide` would decide at a moment."""
        with self._lock:
            moment, state = self._state.checked_time(now), self._state
            if state.ahead is None or state.ahead.now != moment:
                jobs = state.jobs_at(moment)
                names = tuple(jobs)
                promoted = tuple(names[place] for place in self.policy.promoted(tuple(jobs.values())))
                jobs = state.jobs_at(moment, promoted) if promoted else jobs
                round_ = state.round_of(jobs.values(), moment)
                state.ahead = Ahead(now=moment, jobs=jobs, round_=round_, promoted=promoted)
            return state.ahead.round_

    @property
    def promoted(self) -> tuple[str, ...]:
        """The jobs that begin anew with the round that :meth:`round_at` has made: they have waited for too long."""
        ahead = self._state.ahead
        return () if ahead is None else ahead.promoted

    def adopt(self, now: float, decision: Decision, todo: Changes | None = None) -> int:
        """Take a decision that was made elsewhere of :meth:`round_at` this moment; return its number.

        Whoever made it has verified it: a decision that cannot be carried out leaves a state that no round can hold.
        ``todo`` is what it changes, if that is known.
        """
        with self._lock:
            round_, state = self.round_at(now), self._state
            known = todo or changes(round_, decision)
            assignments, promoted = Decision(assignments=decision.assignments), self.promoted
            number = state.number + 1
            self._tell(Decided(now=round_.now, number=number, decision=assignments, promoted=promoted))
            state.todo = known
            return number

    def acknowledge(self, step: Step | int, failed: Mapping[str, str] | None = None) -> None:
        """Say that a step, or the one of a number, was carried out, but for jobs that ``failed`` to, each with why."""
        number = step.number if isinstance(step, Step) else step
        if failed is not None and not isinstance(failed, Mapping):
            raise InputError("failed", shown(failed), "why jobs failed, by their ids")
        self._tell(Acknowledged(number=number, failed=dict(failed or {})))

    def compact(self) -> None:
        """Write the journal anew, as long as what it says now; done from time to time without being asked."""
        with self._lock:
            self._check_open()
            if self._journal is not None:
                self._journal.compact(Snapshot.of(self._state))

    def close(self) -> None:
        """Let another process resume the journal; the session takes no more events."""
        with self._lock:
            self._closed = True
            if self._journal is not None:
                self._journal.close()

    def __enter__(self) -> Session:
        """Return the session, to be closed at the end of a ``with``."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the session."""
        self.close()

    def _tell(self, event: Event) -> None:
        """Check an event, write it down, apply it."""
        with self._lock:
            self._check_open()
            event.check(self._state)
            for told in () if self._any_job else event.jobs_told(self._state):
                self._check_told(told)
            if self._journal is not None:
                self._journal.append(event)
            event.apply(self._state)
            if self._journal is not None and self._journal.size > max(LEAST_SIZE, MOST_GROWTH * self._journal.start):
                self._compact_if_possible(self._journal)

    def _check_told(self, told: Told) -> None:
        """Refuse a job that the policy could decide no round with; one that was there and is as bad goes on."""
        try:
            self._admit(told.after, told.where)
        except InputError as error:
            if told.before is None or self._is_admitted(told.before):
                raise error from None

    def _is_admitted(self, job: Job) -> bool:
        try:
            self._admit(job, "job")
        except InputError:
            return False
        return True

    def _admit(self, job: Job, where: str) -> None:
        state = self._state
        admit_job(self.policy, state.round_of((job,), state.now), state.fields_without_jobs(), where)

    def _check_open(self) -> None:
        if self._closed:
            raise InputError("session", "one that was closed", "an open one; Session.resume() opens its journal")

    def _compact_if_possible(self, journal: Journal) -> None:
        """Write the journal anew; a disk that has no room for both leaves it as it is, and the event stands."""
        try:
            journal.compact(Snapshot.of(self._state))
        except OSError:
            journal.start = journal.size


def _broken(result: Result) -> InputError:
    first = result.certificate.violations[0]
    found = f"one that breaks the rule {first.rule} ({first.where}): {first.detail}"
    return InputError(f"decision of policy {result.policy!r}", found, "a decision that keeps the rules")
