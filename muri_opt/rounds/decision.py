"""What was decided: who runs where, and who waits for which reason. No objective value is stored here."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property

import msgspec
from msgspec import UNSET, UnsetType


class WaitingReason(StrEnum):
    """Why a job does not run in this round: what keeps it from starting, or that it runs now and is stopped.

    >>> [reason.value for reason in WaitingReason][:3]
    ['quota', 'capacity', 'fragmentation']
    """

    QUOTA = "quota"
    CAPACITY = "capacity"
    FRAGMENTATION = "fragmentation"
    PRIORITY = "priority"
    BACKOFF = "backoff"
    STOPPED = "stopped"
    HELD = "held"
    NOT_BEFORE = "not-before"


class Assignment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One or more jobs on the same GPUs, exclusive of every other assignment.

    ``order`` are the positions of ``jobs`` in their interleaving; ``gpus`` and ``cpus`` are amounts per node id. Jobs
    that share in lock step have one period; where they run freely each has its rate instead, against running alone.

    >>> Assignment(jobs=("a",), gpus={"n0": 2}).gpus
    {'n0': 2}
    """

    jobs: tuple[str, ...]
    order: tuple[int, ...] = (0,)
    plan: str | None = None
    gpus: Mapping[str, int]
    cpus: Mapping[str, float] = {}
    period_seconds: float | None = None
    rates: tuple[float, ...] | UnsetType = UNSET


class Change(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One way to let a waiting job start: jobs to stop or to move, time to wait, a node to add, or a larger quota.

    ``preempt`` are the jobs to stop. ``move`` are the GPUs per node id that a job would have then. The node to add has
    ``add_gpus`` GPUs in ``rack``, and CPUs and memory without limit; where it matters it is ``like`` another one in its
    GPU type, labels and units. ``raise_quota`` are further GPUs for the tenant of the waiting job, and for all above it
    that have a quota. ``gpus`` are all GPUs stopped, moved or added.
    """

    preempt: tuple[str, ...] = ()
    move: Mapping[str, Mapping[str, int]] = {}
    wait_seconds: float | None = None
    add_gpus: int | None = None
    rack: str | None = None
    like: str | None = None
    raise_quota: int | None = None
    gpus: int = 0


class Waiting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A job that does not run: the rule that binds, in words, and what would let it start.

    >>> result = solve_round(shipped_round("toy/two-gangs"), "fifo", "heuristic")
    >>> [(wait.job, wait.reason.value) for wait in result.decision.waiting]
    [('job-1', 'capacity')]
    """

    job: str
    reason: WaitingReason
    detail: str
    remedy: str
    changes: tuple[Change, ...] = ()


class Decision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """Every job of the round once: in an assignment or among the waiting.

    >>> sorted(solve_round(shipped_round("toy/two-gangs"), "fifo", "heuristic").decision.running)
    ['job-0', 'job-2']
    """

    assignments: tuple[Assignment, ...] = ()
    waiting: tuple[Waiting, ...] = ()

    @cached_property
    def running(self) -> frozenset[str]:
        """Ids of all assigned jobs."""
        return frozenset(job for assignment in self.assignments for job in assignment.jobs)
