"""What all formats with recorded starts ask of the times of a job."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from muri_opt.replay.traces.jobs import Attempt


def left_out(submitted: float | None, attempts: Sequence[Attempt]) -> str:
    """Return the reason to leave a job out for its times, or nothing.

    Where a clock goes backwards nobody knows which of two times is wrong, and a queueing delay or a run time below 0
    would poison every mean.
    """
    if submitted is None:
        return "no-submission-time"
    if not attempts:
        return "no-attempt"
    if any(attempt.end is not None and attempt.end < attempt.start for attempt in attempts):
        return "end-before-start"
    if attempts[0].start < submitted:
        return "start-before-submission"
    for before, after in pairwise(attempts):
        if after.start < (before.start if before.end is None else before.end):
            return "overlapping-attempts"
    return ""


def run_time(attempts: Sequence[Attempt]) -> float | None:
    """Return the seconds from the first start to the last end, ``None`` where the job is still running."""
    end = attempts[-1].end
    return None if end is None else end - attempts[0].start
