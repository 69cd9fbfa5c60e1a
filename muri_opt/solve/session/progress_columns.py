"""What may be told of jobs while they are there: one job's fields, or a column of each field for many jobs."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import repeat
from operator import methodcaller
from typing import Any, Final

import numpy as np
from msgspec.structs import force_setattr

from muri_opt.errors import InputError
from muri_opt.rounds import Job
from muri_opt.rounds.error_text import number_range, shown, whole_range
from muri_opt.rounds.quantities import (
    MAX_COUNT,
    MAX_GPU_SECONDS,
    MAX_ITERATIONS,
    MAX_SECONDS,
    MICROSECONDS_PER_SECOND,
    MILLISECONDS_PER_SECOND,
)

_WHOLE: Final = {"remaining_iterations": MAX_ITERATIONS, "restarts": MAX_COUNT}
_TIMES: Final = {
    "iteration_seconds": (MAX_SECONDS, MICROSECONDS_PER_SECOND),
    "executed_seconds": (MAX_SECONDS, MICROSECONDS_PER_SECOND),
    "attained_gpu_seconds": (MAX_GPU_SECONDS, MILLISECONDS_PER_SECOND),
    "waiting_seconds": (MAX_SECONDS, MICROSECONDS_PER_SECOND),
}
PROGRESS: Final = (*_WHOLE, *_TIMES)
"""What may be told of a job while it is there."""

_TRUTHS: Final = frozenset({bool, np.bool_})
_copied: Final = methodcaller("__copy__")
Columns = Mapping[str, tuple[int | float, ...]]


def check_names(fields: Collection[str], of: str = "progress") -> None:
    """Refuse fields that are no progress, and none at all."""
    unknown = [name for name in fields if name not in PROGRESS]
    if unknown or not fields:
        raise InputError(of, shown(unknown[0]) if unknown else "nothing", "one of " + ", ".join(PROGRESS))


def checked_columns(jobs: Sequence[str], columns: Mapping[str, Iterable[float]]) -> Columns:
    """Return columns as a job would store them, each checked at once; the first entry that is wrong is named."""
    check_names(columns, "columns")
    if len(set(jobs)) < len(jobs):
        known = set[str]()
        for place, job in enumerate(jobs):
            if job in known:
                raise InputError(f"jobs[{place}]", f"{shown(job)} twice", "each job once")
            known.add(job)
    return {field: tuple(_checked(field, jobs, values)) for field, values in columns.items()}


def with_columns(jobs: Sequence[Job], columns: Columns) -> list[Job]:
    """Return jobs with columns that were checked: the checks of a new job, which take twenty times as long, are not."""
    found = list(map(_copied, jobs))
    for field, values in columns.items():
        deque(map(force_setattr, found, repeat(field), values), maxlen=0)  # a loop without Python's overhead
    return found


def harder_rows(jobs: Sequence[Job], columns: Columns) -> list[int]:
    """Return the places of jobs of which columns tell what a policy may refuse although it took the job as it was.

    That is more iterations left or a longer one than was known, and one that takes no time.
    """
    found = set[int]()
    for field in ("remaining_iterations", "iteration_seconds"):
        for row, (job, value) in enumerate(zip(jobs, columns.get(field, ()), strict=False)):
            before = getattr(job, field)
            if before is None or value > before or value == 0 < before:
                found.add(row)
    return sorted(found)


def _checked(field: str, jobs: Sequence[str], values: Iterable[float]) -> list[Any]:
    if not isinstance(values, Iterable):
        raise InputError(field, shown(values), f"a list with an entry for each of the {len(jobs)} jobs")
    told = values if isinstance(values, np.ndarray) else list(values)
    column = _column(told)
    if column.shape[:1] != (len(jobs),):
        raise InputError(field, f"{column.size} entries", f"one for each of the {len(jobs)} jobs")
    if field in _WHOLE:
        _check(field, jobs, told, column, _WHOLE[field], whole_range(0, _WHOLE[field]))
        whole: list[Any] = column.tolist()
        return whole
    most, parts = _TIMES[field]
    if column.dtype.kind in "iuf":
        column = column.astype(np.float64)  # a narrower type could not hold so many parts
    _check(field, jobs, told, column, most, number_range(most, positive=False))
    times: list[Any] = (np.rint(column * parts) / parts).tolist()
    return times


def _has_truths(told: Any) -> bool:
    """Return whether a list has an entry that is true or false: beside numbers an array takes it for one."""
    return not isinstance(told, np.ndarray) and not _TRUTHS.isdisjoint(map(type, told))


def _column(told: Any) -> Any:
    try:
        return np.asarray(told)
    except ValueError:  # lists of several lengths among the entries
        return np.asarray(told, dtype=object)


def _check(field: str, jobs: Sequence[str], told: Any, column: Any, most: float, allowed: str) -> None:
    """Refuse a column with an entry that is no number of the field, below 0 or above ``most``, as it was told."""
    whole = field in _WHOLE
    plain = column.ndim == 1 and column.dtype.kind in ("iu" if whole else "f") and not _has_truths(told)
    if not column.size or (plain and column.min() >= 0 and column.max() <= most):
        return
    kinds = int if whole else (int, float)
    for job, entry in zip(jobs, column.tolist() if isinstance(told, np.ndarray) else told, strict=True):
        one = entry.item() if isinstance(entry, np.generic) else entry
        if isinstance(one, bool) or not isinstance(one, kinds) or not 0 <= one <= most:
            raise InputError(f"{field} of job {shown(job)}", shown(one), allowed)
    raise InputError(field, f"entries of the type {column.dtype}", f"each {allowed}")
