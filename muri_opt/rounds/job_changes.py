"""What a decision asks to be done: which jobs start, stop, move, change size or partners, and which stay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from muri_opt.rounds.decision import Assignment, Decision
from muri_opt.rounds.job import Job
from muri_opt.rounds.round import Round
from muri_opt.rounds.sharing_now import sharing_now

KINDS: Final = ("start", "stop", "move", "resize", "regroup", "keep")


class JobChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What becomes of one job: its GPUs per node ``before`` and ``after``, its plan and its partners after.

    ``restart_seconds`` is what it loses: nothing where it starts or stays, else what the job says.
    """

    job: str
    before: Mapping[str, int] | None = None
    after: Mapping[str, int] | None = None
    plan: str | None = None
    partners: tuple[str, ...] = ()
    restart_seconds: float = 0.0


class Changes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Every job of a round that runs before or after a decision, once, by what is to be done.

    A job that runs before and after is in the first of these that applies: ``resize`` (another number of GPUs, or
    another plan), ``move`` (other nodes), ``regroup`` (other partners on its GPUs), ``keep``.

    >>> result = solve_round(shipped_round("toy/two-gangs"), "fifo", "heuristic")
    >>> [change.job for change in result.changes.start]
    ['job-0', 'job-2']
    """

    start: tuple[JobChange, ...] = ()
    stop: tuple[JobChange, ...] = ()
    move: tuple[JobChange, ...] = ()
    resize: tuple[JobChange, ...] = ()
    regroup: tuple[JobChange, ...] = ()
    keep: tuple[JobChange, ...] = ()

    @property
    def restart_seconds(self) -> float:
        """The seconds that all jobs lose together."""
        losing = (*self.stop, *self.move, *self.resize, *self.regroup)
        return sum(change.restart_seconds for change in losing)

    @property
    def before(self) -> bool:
        """Whether any job ran before."""
        return bool(self.stop or self.move or self.resize or self.regroup or self.keep)

    @property
    def counts(self) -> dict[str, int]:
        """How many jobs there are of each kind that has any."""
        return {kind: len(getattr(self, kind)) for kind in KINDS if getattr(self, kind)}


def changes(round_: Round, decision: Decision) -> Changes:
    """Return what must be done to carry out a decision, job by job, with the restart seconds that it costs.

    >>> round_ = shipped_round("toy/two-gangs")
    >>> changes(round_, solve_round(round_, "fifo", "heuristic").decision).counts
    {'start': 2}
    """
    together = sharing_now(round_, decision)
    given = {job: assignment for assignment in decision.assignments for job in assignment.jobs}
    found: dict[str, list[JobChange]] = {kind: [] for kind in KINDS}
    for job in round_.jobs:
        assignment = given.get(job.id)
        if assignment is None and job.state != "running":
            continue
        kind = "start" if job.state != "running" else kind_of(job, assignment, together.get(job.id, set()))
        lost = 0.0 if kind in ("start", "keep") else job.restart_seconds or 0.0
        found[kind].append(
            JobChange(
                job=job.id,
                before=job.placement if job.state == "running" else None,
                after=None if assignment is None else assignment.gpus,
                plan=None if assignment is None else assignment.plan,
                partners=()
                if assignment is None or len(assignment.jobs) == 1
                else tuple(one for one in assignment.jobs if one != job.id),
                restart_seconds=lost,
            )
        )
    return Changes(**{kind: tuple(some) for kind, some in found.items()})


def kind_of(job: Job, assignment: Assignment | None, together: set[str]) -> str:
    """Return what becomes of a job that runs before or after; ``together`` are those on its GPUs now, and itself."""
    if job.state != "running":
        return "start"
    if assignment is None:
        return "stop"
    before = job.placement or {}
    planned = None not in (assignment.plan, job.plan) and assignment.plan != job.plan
    same = not before or before == assignment.gpus
    if planned or (not same and sum(before.values()) != sum(assignment.gpus.values())):
        return "resize"
    if not same and dict(before) != dict(assignment.gpus):
        return "move"
    return "keep" if set(assignment.jobs) == together else "regroup"
