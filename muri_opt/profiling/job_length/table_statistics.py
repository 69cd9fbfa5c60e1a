"""What a job table says about predictability, times and sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from muri_opt.errors import InputError
from muri_opt.profiling.job_length.job_table import JobRecord
from muri_opt.rounds.field_checks import check_kind, items

_Key = TypeVar("_Key", int, str)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTimes:
    """Running times of some jobs in seconds; ``p90`` is the shortest that at least 90 % of them do not exceed."""

    median: float
    mean: float
    p90: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStatistics:
    """Counts of jobs, and their running times, ``None`` where there are none.

    ``incomplete`` counts the jobs with some empty cell by the fields that are missing. ``gpus`` and ``tasks`` count the
    jobs by GPUs, and by (parameter servers, workers), the most frequent of the latter first.
    """

    jobs: int
    predictable: int
    repeated: int
    repeated_predictable: int
    incomplete: tuple[tuple[str, int], ...]
    times: RunningTimes | None
    predictable_times: RunningTimes | None
    unpredictable_times: RunningTimes | None
    gpus: tuple[tuple[int, int], ...]
    tasks: tuple[tuple[tuple[int, int], int], ...]
    fewest_cpus: int
    most_cpus: int

    @property
    def first(self) -> int:
        """Return how many jobs are first submissions."""
        return self.jobs - self.repeated

    @property
    def first_predictable(self) -> int:
        """Return how many first submissions are predictable."""
        return self.predictable - self.repeated_predictable

    @property
    def precision(self) -> float | None:
        """Return the share of predictable jobs among the repeated ones."""
        return _share(self.repeated_predictable, self.repeated)

    @property
    def recall(self) -> float | None:
        """Return the share of repeated jobs among the predictable ones."""
        return _share(self.repeated_predictable, self.predictable)

    @property
    def accuracy(self) -> float:
        """Return the share of jobs about which "repeated means predictable, first means not" is right."""
        return (self.repeated_predictable + self.first - self.first_predictable) / self.jobs


def statistics(records: Iterable[JobRecord]) -> TableStatistics:
    """Return the statistics of the jobs, of which there is at least one."""
    jobs = items("records", records)
    if not jobs:
        raise InputError("records", "none", "at least one job")
    for position, job in enumerate(jobs):
        check_kind(f"records[{position}]", job, JobRecord)
    tasks = Counter((job.ps, job.workers) for job in jobs if job.ps is not None)
    cpus = [job.cpus for job in jobs]
    return TableStatistics(
        jobs=len(jobs),
        predictable=sum(job.predictable for job in jobs),
        repeated=sum(job.repeated for job in jobs),
        repeated_predictable=sum(job.repeated and job.predictable for job in jobs),
        incomplete=_counted(name for job in jobs for name in job.missing),
        times=_times(job.seconds for job in jobs),
        predictable_times=_times(job.seconds for job in jobs if job.predictable),
        unpredictable_times=_times(job.seconds for job in jobs if not job.predictable),
        gpus=_counted(job.gpus for job in jobs),
        tasks=tuple(sorted(tasks.items(), key=lambda pair: (-pair[1], pair[0]))),
        fewest_cpus=min(cpus),
        most_cpus=max(cpus),
    )


def _counted(values: Iterable[_Key]) -> tuple[tuple[_Key, int], ...]:
    return tuple(sorted(Counter(values).items()))


def _times(seconds: Iterable[float]) -> RunningTimes | None:
    found = np.array(list(seconds))
    if not found.size:
        return None
    p90 = np.percentile(found, 90, method="inverted_cdf")
    return RunningTimes(
        median=float(np.median(found)), mean=float(found.mean()), p90=float(p90), most=float(found.max())
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
