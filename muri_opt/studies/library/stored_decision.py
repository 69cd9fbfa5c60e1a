"""A decision as the library keeps it: what the verifier needs, without the words that people read."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import UNSET, UnsetType

from muri_opt.rounds import Assignment, Decision, Waiting, WaitingReason


class StoredAssignment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An assignment; what most of them do not have is left out of the file."""

    jobs: tuple[str, ...]
    gpus: Mapping[str, int]
    order: tuple[int, ...] = (0,)
    plan: str | None = None
    cpus: Mapping[str, float] = {}
    period_seconds: float | None = None
    rates: tuple[float, ...] | UnsetType = UNSET

    def assignment(self) -> Assignment:
        """Return the assignment."""
        return Assignment(**msgspec.structs.asdict(self))


class StoredDecision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who runs where, and by reason who waits."""

    assignments: tuple[StoredAssignment, ...]
    waiting: Mapping[WaitingReason, tuple[str, ...]]

    @classmethod
    def of(cls, decision: Decision) -> StoredDecision:
        """Return the decision without details and remedies."""
        waiting: dict[WaitingReason, list[str]] = {}
        for wait in decision.waiting:
            waiting.setdefault(wait.reason, []).append(wait.job)
        assignments = tuple(
            StoredAssignment(**msgspec.structs.asdict(assignment)) for assignment in decision.assignments
        )
        return cls(assignments=assignments, waiting={reason: tuple(jobs) for reason, jobs in sorted(waiting.items())})

    def decision(self) -> Decision:
        """Return the decision; its waiting jobs have a reason and no words."""
        return Decision(
            assignments=tuple(assignment.assignment() for assignment in self.assignments),
            waiting=tuple(
                Waiting(job=job, reason=reason, detail="", remedy="")
                for reason, jobs in self.waiting.items()
                for job in jobs
            ),
        )
