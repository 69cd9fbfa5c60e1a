"""What jobs have had when time has passed, for many jobs at once: what runs attains service, what waits has waited."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import methodcaller
from typing import Any, Final

import numpy as np
from msgspec.structs import force_setattr
from numpy.typing import NDArray

from muri_opt.rounds import Job
from muri_opt.rounds.quantities import (
    MAX_GPU_SECONDS,
    MAX_SECONDS,
    MICROSECONDS_PER_SECOND,
    MILLISECONDS_PER_SECOND,
)

_EXACT: Final = 1 << 53
"""Whole numbers up to this are exact as floats, so that arrays round as numbers do."""
_copied: Final = methodcaller("__copy__")


def passing(jobs: Sequence[Job], passed: int) -> list[Job]:
    """Return jobs after so many microseconds as they are: all of them say how long they have waited."""
    waiting = list(map(_copied, (job for job in jobs if job.state == "waiting")))
    running = list(map(_copied, (job for job in jobs if job.state != "waiting")))
    _set(waiting, "waiting_seconds", _later((job.waiting_seconds for job in waiting), passed))
    _set(running, "executed_seconds", _later((job.executed_seconds or 0.0 for job in running), passed))
    held = [max(1, sum((job.placement or {}).values())) for job in running]
    if passed * max(held, default=1) < _EXACT:
        more: Any = np.rint(passed * np.array(held, dtype=np.int64) / 1000)
    else:
        more = np.array([round(passed * gpus / 1000) for gpus in held], dtype=np.float64)
    had = np.array([job.attained_gpu_seconds or 0.0 for job in running], dtype=np.float64)
    attained = (np.rint(had * MILLISECONDS_PER_SECOND) + more) / MILLISECONDS_PER_SECOND
    _set(running, "attained_gpu_seconds", np.minimum(attained, MAX_GPU_SECONDS))
    return [*waiting, *running]


def _later(seconds: Iterable[float | None], microseconds_more: int) -> NDArray[np.float64]:
    had = np.array([*seconds], dtype=np.float64)
    later = (np.rint(had * MICROSECONDS_PER_SECOND) + microseconds_more) / MICROSECONDS_PER_SECOND
    return np.minimum(later, MAX_SECONDS)


def _set(jobs: Sequence[Job], field: str, values: NDArray[np.float64]) -> None:
    deque(map(force_setattr, jobs, repeat(field), values.tolist()), maxlen=0)  # a loop without Python's overhead
