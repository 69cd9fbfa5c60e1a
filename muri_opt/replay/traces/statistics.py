"""What a trace says as a whole: sizes, durations by size, GPU time by tenant, how jobs ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from muri_opt.replay.traces.jobs import TraceJob
from muri_opt.replay.traces.trace import Trace

SIZE_CLASSES: Final[Mapping[str, Callable[[int], bool]]] = {
    "1": lambda gpus: gpus == 1,
    "2-4": lambda gpus: 2 <= gpus <= 4,
    "5-8": lambda gpus: 5 <= gpus <= 8,
    ">8": lambda gpus: gpus > 8,
}
"""The classes of the Philly study."""
_STATUSES: Final = ("passed", "killed", "failed", "running", "unknown")
_SECONDS_PER_HOUR: Final = 3600.0
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Durations of some jobs in seconds; ``p90`` is the shortest that at least 90 % of them do not exceed."""

    jobs: int
    median: float
    mean: float
    p90: float
    p99: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The jobs of one number of GPUs, as shares of all jobs and of all GPU time."""

    gpus: int
    jobs: int
    share: float
    gpu_time_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantUse:
    """What one tenant did; ``None`` stands for the jobs of no tenant."""

    tenant: str | None
    jobs: int
    gpu_hours: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStatistics:
    """Numbers of a trace; times are ``None`` where no job has one.

    GPU hours are GPUs times the seconds of all attempts. Jobs without a known end, ``without_duration``, are in no
    time and in no GPU hour.
    """

    jobs: int
    gpu_hours: float
    without_duration: int
    sizes: tuple[Size, ...]
    durations: Times | None
    durations_by_size: Mapping[str, Times | None]
    queueing_delays: Times | None
    tenants: tuple[TenantUse, ...]
    statuses: Mapping[str, int]


def statistics(trace: Trace) -> TraceStatistics:
    """Return the statistics of a trace; tenants come with the most GPU hours first."""
    hours = [(job, (job.service_seconds or 0.0) * job.gpus / _SECONDS_PER_HOUR) for job in trace.jobs]
    total = sum(spent for _, spent in hours)
    by_size, by_tenant = _summed(hours, lambda job: job.gpus), _summed(hours, lambda job: job.tenant)
    jobs_by_tenant = Counter(job.tenant for job in trace.jobs)
    statuses = Counter(job.status for job in trace.jobs)
    return TraceStatistics(
        jobs=len(trace.jobs),
        gpu_hours=total,
        without_duration=sum(job.duration is None for job in trace.jobs),
        sizes=tuple(
            Size(
                gpus=gpus,
                jobs=count,
                share=count / len(trace.jobs),
                gpu_time_share=by_size[gpus] / total if total else 0.0,
            )
            for gpus, count in sorted(Counter(job.gpus for job in trace.jobs).items())
        ),
        durations=_times(job.duration for job in trace.jobs),
        durations_by_size={
            name: _times(job.duration for job in trace.jobs if belongs(job.gpus))
            for name, belongs in SIZE_CLASSES.items()
        },
        queueing_delays=_times(job.queueing_delay for job in trace.jobs),
        tenants=tuple(
            TenantUse(tenant=tenant, jobs=jobs_by_tenant[tenant], gpu_hours=spent)
            for tenant, spent in sorted(by_tenant.items(), key=lambda pair: (-pair[1], pair[0] or ""))
        ),
        statuses={status: statuses[status] for status in _STATUSES if statuses[status]},
    )


def _summed(hours: Iterable[tuple[TraceJob, float]], key: Callable[[TraceJob], Key]) -> dict[Key, float]:
    found: dict[Key, float] = {}
    for job, spent in hours:
        found[key(job)] = found.get(key(job), 0.0) + spent
    return found


def _times(seconds: Iterable[float | None]) -> Times | None:
    found = np.array([value for value in seconds if value is not None])
    if not found.size:
        return None
    p90, p99 = (float(value) for value in np.percentile(found, (90, 99), method="inverted_cdf"))
    return Times(
        jobs=int(found.size),
        median=float(np.median(found)),
        mean=float(found.mean()),
        p90=p90,
        p99=p99,
        most=float(found.max()),
    )
