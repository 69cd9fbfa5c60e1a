"""How the same job fares in two decisions."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from muri_opt.studies.explain.value_parts import Part


class Difference(StrEnum):
    """What differs for a job, the first that applies in this order; nodes differ only where that changes a value."""

    WAITS = "waits in both"
    FIRST_ONLY = "runs only in the first"
    SECOND_ONLY = "runs only in the second"
    PARTNERS = "other partners"
    GPUS = "other GPU count"
    PLAN = "other plan"
    NODES = "other nodes"
    SAME = "runs alike"

    @property
    def differs(self) -> bool:
        """Whether the job is part of a change."""
        return self not in (Difference.WAITS, Difference.SAME)


def difference(first: Part, second: Part) -> Difference:
    """Return what differs between the parts of two decisions that hold a job."""
    one, other = first.assignment, second.assignment
    if one is None or other is None:
        if one is other:
            return Difference.WAITS
        return Difference.FIRST_ONLY if other is None else Difference.SECOND_ONLY
    if first.jobs != second.jobs:
        return Difference.PARTNERS
    if first.gpus != second.gpus:
        return Difference.GPUS
    cpus = [sorted(assignment.cpus.values()) for assignment in (one, other)]
    if one.plan != other.plan or (one.plan is not None and cpus[0] != cpus[1]):
        return Difference.PLAN
    return Difference.SAME if first.value == second.value else Difference.NODES


def by_job(parts: Sequence[Part]) -> dict[str, Part]:
    """Return the part that holds each job."""
    return {job: part for part in parts for job in part.jobs}


def is_moved(first: Part, second: Part) -> bool:
    """Return whether jobs run alike but on other nodes, which costs nothing."""
    here, there = first.assignment, second.assignment
    if here is None or there is None or difference(first, second) is not Difference.SAME:
        return False
    return dict(here.gpus) != dict(there.gpus)
