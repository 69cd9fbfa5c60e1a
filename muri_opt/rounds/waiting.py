"""How long a job of a round has waited."""

from __future__ import annotations

from muri_opt.rounds.job import Job
from muri_opt.rounds.quantities import microseconds
from muri_opt.rounds.round import Round


def waited_by(round_: Round, job: Job) -> int:
    """Return the microseconds a job has waited: what it says, or since it was submitted, or none."""
    if job.waiting_seconds is not None:
        return microseconds(job.waiting_seconds)
    if job.submitted is not None:
        return max(0, microseconds(round_.now) - microseconds(job.submitted))
    return 0
