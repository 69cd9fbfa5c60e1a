"""What readers of workloads leave out or put in order, counted by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from muri_opt.replay.workload import Workload
from muri_opt.rounds import Job
from muri_opt.rounds.round import DEFAULT_RESOURCES

NOTES: Final[Mapping[str, str]] = {
    "no-duration": "left out: the trace does not say how long the job held its GPUs",
    "no-work": "left out: the job held its GPUs for less than half a millisecond",
    "too-large": "left out: the job asks for more GPUs than it may",
    "no-model": "left out: no scaling table reaches the GPUs the job asks for",
    "no-stages": "left out: every model with stage times was measured on more GPUs than the job asks for",
    "no-plan": "left out: the GPUs the job asks for divide among no nodes evenly",
    "later": "left out: the job comes after as many as were asked for",
    "out-of-order": "kept: the job stands after one that was submitted later, and was moved before it",
}
"""The reasons in ``Workload.notes``."""


def ordered(name: str, jobs: Iterable[Job], resources: tuple[str, ...] = DEFAULT_RESOURCES) -> Workload:
    """Return the workload of jobs in the order of a file, by submission; its notes count those out of order."""
    given = tuple(jobs)
    late, latest = 0, 0.0
    for job in given:
        submitted = job.submitted or 0.0
        late += submitted < latest
        latest = max(latest, submitted)
    by_submission = tuple(sorted(given, key=lambda job: job.submitted or 0.0))
    return Workload(name=name, jobs=by_submission, resources=resources, notes=in_order({"out-of-order": late}))


def in_order(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts above 0, in the order of ``NOTES``."""
    return {reason: counts[reason] for reason in NOTES if counts.get(reason)}


def kept(workload: Workload, jobs: Iterable[Job], reason: str) -> Workload:
    """Return the workload of the jobs that are kept of it; the others are counted under ``reason``."""
    left = tuple(jobs)
    counts = Counter(workload.notes)
    counts[reason] += len(workload.jobs) - len(left)
    return Workload(name=workload.name, jobs=left, resources=workload.resources, notes=in_order(counts))
