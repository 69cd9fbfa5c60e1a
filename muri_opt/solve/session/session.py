"""``Session``: submit, progress, finish; decide; acknowledge; and again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from threading import RLock
from types import TracebackType
from typing import Final

from muri_opt.rounds import Changes, Cluster, Decision, Job, Limits, Node, Result, Round, changes
from muri_opt.rounds.round import DEFAULT_RESOURCES
from muri_opt.solve.round import solve_round
from muri_opt.solve.session.events import (
    Acknowledged,
    Cancelled,
    Decided,
    Event,
    Failed,
    Finished,
    NodeAdded,
    NodeDrained,
    NodeRemoved,
    PrioritySet,
    Progressed,
    Snapshot,
    Submitted,
)
from muri_opt.solve.session.journal import FORMAT, Header, Journal
from muri_opt.solve.session.state import State
from muri_opt.systems import DEFAULT_POLICY, Named, policy_from

MOST_GROWTH: Final = 8
"""A journal that is so many times as large as what it says now is written anew."""
LEAST_SIZE: Final = 1 << 20
"""Bytes below which no journal is written anew."""


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
    crash. Calls from several threads come one after another. A step that is not acknowledged changes nothing but the
    time: the next one takes its place.

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
        journal: str | os.PathLike[str] | Journal | None = None,
    ) -> None:
        self.policy, self.method, self.limits = policy_from(policy), method, limits or Limits()
        self._state, self._lock = State(cluster=cluster, resources=resources), RLock()
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
        """The number and the decision of a step that was not acknowledged; after a crash, ask what was carried out."""
        pending = self._state.pending
        return None if pending is None else (pending.number, pending.decision)

    def submit(self, job: Job) -> None:
        """Add a job."""
        self._tell(Submitted(job=job))

    def progress(self, job: str, **fields: float) -> None:
        """Say what is known of a job now, such as ``remaining_iterations=1200``."""
        self._tell(Progressed(job=job, fields=fields))

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

    def decide(self, now: float) -> Step:
        """Return what is to be done at a moment, which is not before the last."""
        with self._lock:
            self._state.check_time(now)
            round_ = self._state.round_(self._state.jobs_at(now), now)
            result = solve_round(round_, self.policy, self.method, self.limits)
            number, decision = self._state.number + 1, result.answer
            self._tell(Decided(now=now, number=number, decision=decision))
            return Step(number=number, round_=round_, result=result, changes=changes(round_, decision))

    def acknowledge(self, step: Step | int, failed: Mapping[str, str] | None = None) -> None:
        """Say that a step, or the one of a number, was carried out, but for jobs that ``failed`` to, each with why."""
        number = step if isinstance(step, int) else step.number
        self._tell(Acknowledged(number=number, failed=dict(failed or {})))

    def compact(self) -> None:
        """Write the journal anew, as long as what it says now; done from time to time without being asked."""
        with self._lock:
            if self._journal is not None:
                self._journal.compact(Snapshot.of(self._state))

    def close(self) -> None:
        """Let another process resume the journal; the session takes no more events."""
        with self._lock:
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
            event.check(self._state)
            if self._journal is not None:
                self._journal.append(event)
            event.apply(self._state)
            if self._journal is not None and self._journal.size > max(LEAST_SIZE, MOST_GROWTH * self._journal.start):
                self.compact()
