"""The figures of a replay: completion times, waiting, use of the cluster, fairness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.replay.metrics.jobs import checked, finish_time_fairness, slowdown, waiting_seconds
from muri_opt.replay.outcome import Floats, Outcome, Timeline

SECONDS_PER_HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One replay in numbers; seconds where a name says nothing else. Of no jobs all are 0.

    What each means is said in the chapter on replays of the documentation. ``p99_muri`` is the 99th percentile as the
    Muri authors count it. ``resource_use`` has an entry per resource where jobs have stages.
    """

    jobs: int
    mean: float
    p50: float
    p95: float
    p99: float
    p99_muri: float
    makespan: float
    last_end: float
    first_start: float
    waiting: float
    fairness: float
    fragmentation: float
    capacity: float
    queue_mean: float
    queue_most: int
    running_mean: float
    utilisation: float
    gpu_hours: float
    lost_gpu_hours: float
    failed_gpu_hours: float
    slowdown_mean: float
    slowdown_p99: float
    rho_mean: float
    rho_worst: float
    restarts: int
    preemptions: int
    migrations: int
    rounds: int
    decision_seconds: float
    counted: int
    settled: int
    resource_use: Mapping[str, float]

    def as_dict(self) -> dict[str, float]:
        """Return all figures by name, ``utilisation_<resource>`` for each resource."""
        named: dict[str, float] = {
            entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "resource_use"
        }
        return named | {f"utilisation_{name}": use for name, use in self.resource_use.items()}


def summary(outcome: Outcome) -> Summary:
    """Return the figures of a replay whose jobs have all ended."""
    jobs = checked(outcome).jobs
    first, last = float(jobs.submitted.min(initial=np.inf)), float(jobs.ended.max(initial=0.0))
    makespan = max(0.0, last - first)
    completion, waiting = jobs.completion, waiting_seconds(jobs)
    slowed, rho = slowdown(jobs), finish_time_fairness(outcome)
    p50, p95, p99 = percentiles(completion, 50, 95, 99)
    gpu_seconds = float(jobs.gpu_seconds.sum())
    return Summary(
        jobs=len(jobs.ids),
        mean=mean(completion),
        p50=p50,
        p95=p95,
        p99=p99,
        p99_muri=muri_percentile(completion),
        makespan=makespan,
        last_end=last,
        first_start=mean(jobs.started - jobs.submitted),
        waiting=mean(waiting),
        fairness=mean(jobs.fairness),
        fragmentation=mean(jobs.fragmentation),
        capacity=mean(jobs.capacity),
        queue_mean=_part(float(waiting.sum()), makespan),
        queue_most=int(outcome.timeline.queue.max(initial=0)),
        running_mean=_part(float(jobs.held.sum()), makespan),
        utilisation=_part(gpu_seconds, makespan * outcome.total_gpus),
        gpu_hours=gpu_seconds / SECONDS_PER_HOUR,
        lost_gpu_hours=float(jobs.lost.sum()) / SECONDS_PER_HOUR,
        failed_gpu_hours=float(jobs.failed.sum()) / SECONDS_PER_HOUR,
        slowdown_mean=mean(slowed),
        slowdown_p99=percentiles(slowed, 99)[0],
        rho_mean=mean(rho),
        rho_worst=float(rho.max(initial=0.0)),
        restarts=int(jobs.restarts.sum()),
        preemptions=int(jobs.preemptions.sum()),
        migrations=int(jobs.migrations.sum()),
        rounds=outcome.rounds,
        decision_seconds=outcome.decision_seconds,
        counted=outcome.counted,
        settled=outcome.settled,
        resource_use=_resource_use(outcome, first, last),
    )


def mean(values: Floats) -> float:
    """Return the mean, 0 of nothing."""
    return float(values.mean()) if len(values) else 0.0


def percentiles(values: Floats, *which: float) -> list[float]:
    """Return percentiles, linear between the two nearest values; 0 of nothing."""
    if not len(values):
        return [0.0] * len(which)
    found: NDArray[np.float64] = np.percentile(values, which)
    return [float(value) for value in found]


def muri_percentile(values: Floats) -> float:
    """Return the 99th percentile as the Muri authors count it: the value at int(0.99 N), from 0, of N sorted ones."""
    return float(np.sort(values)[int(0.99 * len(values))]) if len(values) else 0.0


def time_integral(
    timeline: Timeline, values: NDArray[np.float64] | NDArray[np.int64], begin: float, end: float
) -> Floats:
    """Return the integral over time of what the timeline says, along its first axis, between two moments.

    Values hold from their moment to the next, the last one for ever; before the first there is nothing.
    """
    edges = np.clip(np.append(timeline.seconds, max(end, timeline.seconds.max(initial=end))), begin, end)
    return np.asarray(np.tensordot(np.diff(edges), np.asarray(values, dtype=np.float64), axes=1))


def _part(value: float, whole: float) -> float:
    return value / whole if whole > 0 else 0.0


def _resource_use(outcome: Outcome, begin: float, end: float) -> dict[str, float]:
    """Return the mean part of the GPUs on which each resource was at work; nothing where jobs have no stages."""
    stages = outcome.timeline.stages
    if stages.shape[1] != len(outcome.resources) or not end > begin:
        return {}
    worked = time_integral(outcome.timeline, stages, begin, end) / ((end - begin) * outcome.total_gpus)
    return dict(zip(outcome.resources, worked.tolist(), strict=True))
