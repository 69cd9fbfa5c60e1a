"""Which jobs cannot be interleaved, whatever others there are."""

from __future__ import annotations

from muri_opt.errors import InputError, RefusalError
from muri_opt.rounds import Round


def check_jobs(round_: Round, policy: str) -> None:
    """Refuse a job of no GPUs, without stage times, or that prefers a place, and name it."""
    for position, job in enumerate(round_.jobs):
        prefers = job.within is not None and not job.within.required
        if job.gpus >= 1 and job.stage_seconds is not None and not prefers:
            continue
        where = f"jobs[{position}] ({job.id!r})"
        if job.gpus < 1:
            raise InputError(f"{where}.gpus", "0", "at least 1 to share GPUs")
        if job.stage_seconds is None:
            raise InputError(f"{where}.stage_seconds", "nothing", f"a time per stage: {policy!r} interleaves them")
        allowed = f"true: the policy {policy!r} prefers no place to another"
        raise RefusalError(f"{where}.within.required", "false", allowed)
