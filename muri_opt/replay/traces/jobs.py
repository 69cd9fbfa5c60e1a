"""One job of a trace: what it asked for, when it ran and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

Status = Literal["passed", "killed", "failed", "running", "unknown"]


class Attempt(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One time a job held its GPUs; ``end`` ``None`` is not known, an empty ``placement`` likewise.

    The last attempt of a job without an end is still running when the trace ends.
    """

    start: float
    end: float | None = None
    placement: Mapping[str, int] = {}

    @property
    def seconds(self) -> float | None:
        """How long the attempt took."""
        return None if self.end is None else self.end - self.start


class TraceJob(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One job; times are seconds from the beginning of the trace, ``None`` is "the trace does not say".

    ``gpus`` are those of the first attempt where attempts are recorded. ``duration`` is the time from the first start
    to the last end, pauses between attempts included, or the trace's own column where it records no attempts.
    """

    id: str
    submitted: float
    gpus: int
    tenant: str | None = None
    user: str | None = None
    cpus: float | None = None
    memory_gib: float | None = None
    status: Status = "unknown"
    attempts: tuple[Attempt, ...] = ()
    duration: float | None = None

    @property
    def first_start(self) -> float | None:
        """When the first attempt began."""
        return self.attempts[0].start if self.attempts else None

    @property
    def last_end(self) -> float | None:
        """When the last attempt ended; ``None`` for a job that is still running."""
        return self.attempts[-1].end if self.attempts else None

    @property
    def queueing_delay(self) -> float | None:
        """Seconds from submission to the first start."""
        return self.attempts[0].start - self.submitted if self.attempts else None

    @property
    def run_time(self) -> float | None:
        """Seconds from the first start to the last end."""
        end = self.last_end
        return None if end is None else end - self.attempts[0].start

    @property
    def service_seconds(self) -> float | None:
        """Seconds on GPUs over all attempts, or the duration where no attempt is recorded."""
        if not self.attempts:
            return self.duration
        total = 0.0
        for attempt in self.attempts:
            if attempt.end is None:
                return None
            total += attempt.end - attempt.start
        return total

    def is_present(self, seconds: float) -> bool:
        """Return whether the job has been submitted and has not ended at a moment.

        Without attempts the trace does not say when the job started: it is present for its duration after submission,
        as if it had started at once. A job whose end is not known never leaves.
        """
        if seconds < self.submitted:
            return False
        if self.attempts:
            end = self.attempts[-1].end
        else:
            end = None if self.duration is None else self.submitted + self.duration
        return end is None or seconds < end

    def executed_by(self, seconds: float) -> float:
        """Return the seconds on GPUs until a moment; an attempt before the last whose end is not known counts 0."""
        total = 0.0
        for attempt in self.attempts:
            if attempt.end is not None:
                total += max(0.0, min(seconds, attempt.end) - attempt.start)
        last = self.attempts[-1] if self.attempts else None
        if last is not None and last.end is None:
            total += max(0.0, seconds - last.start)
        return total

    def attempt_at(self, seconds: float) -> Attempt | None:
        """Return the attempt that covers a moment, from its start until before its end."""
        for attempt in self.attempts:
            if attempt.start <= seconds and attempt.end is not None and seconds < attempt.end:
                return attempt
        last = self.attempts[-1] if self.attempts else None
        return last if last is not None and last.end is None and last.start <= seconds else None
