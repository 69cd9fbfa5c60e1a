"""Seeded workloads with failures, for the simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from types import MappingProxyType
from typing import Final

import numpy as np

from muri_opt.errors import InputError
from muri_opt.replay.failures.attempts import MAX_MILLISECONDS, JobFailures
from muri_opt.replay.failures.cluster_run import ClusterJob
from muri_opt.replay.failures.generator import MOST_JOBS, FailureModel, failures_from
from muri_opt.rounds.field_checks import pairs
from muri_opt.rounds.generate.portable_random import Draws
from muri_opt.rounds.quantities import MAX_COUNT, MAX_GPUS, finite, whole

MIXED_SIZES: Final[Mapping[int, int]] = MappingProxyType({1: 70, 2: 8, 4: 9, 8: 10, 16: 3})
"""Parts of jobs by GPUs, as in the generated rounds."""
RUN_SPREAD: Final = 1.5
"""Standard deviation of the logarithm of a run time."""
_LONGEST_RUN: Final = 14 * 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Jobs by submission, and the failures of each."""

    jobs: tuple[ClusterJob, ...]
    failures: tuple[JobFailures, ...]


def draw_workload(
    jobs: int,
    *,
    seed: int,
    gpus: int,
    load: float = 0.8,
    sizes: Mapping[int, int] = MIXED_SIZES,
    model: FailureModel | None = None,
) -> Workload:
    """Return jobs that would keep ``load`` of ``gpus`` GPUs busy while they are submitted, if none failed.

    Sizes above ``gpus`` are cut to it. Run times are log-normal around the medians by size of the Philly trace; a job
    that fails later than that has a run time of its longest failing trial: it would have run for at least so long.
    """
    count = whole("jobs", jobs, MOST_JOBS)
    draws = Draws(whole("seed", seed, 2**63 - 1))
    most = whole("gpus", gpus, MAX_GPUS, 1)
    busy = finite("load", load, 10.0, positive=True)
    parts = {
        whole("sizes key", size, MAX_GPUS, 1): whole(f"sizes[{size}]", part, MAX_COUNT)
        for size, part in pairs("sizes", sizes)
    }
    if not any(parts.values()):
        raise InputError("sizes", "no part above 0", "at least one size with a part above 0")
    asked = np.minimum(draws.pick(count, list(parts), list(parts.values())), most)
    levels = np.clip(draws.uniform(count), 2.0**-53, None).tolist()
    normal = np.fromiter(map(NormalDist().inv_cdf, levels), dtype=np.float64, count=count)
    median = np.array([_median_minutes(size) for size in asked.tolist()]) * 60_000
    drawn = np.clip(np.rint(median * np.exp(RUN_SPREAD * normal)), 1000, _LONGEST_RUN).astype(np.int64)
    failures = failures_from(draws, count, FailureModel() if model is None else model)
    longest = np.fromiter((_longest(job) for job in failures), dtype=np.int64, count=count)
    run = np.maximum(drawn, longest)
    span = min(float((asked * run).sum()) / (most * busy), float(MAX_MILLISECONDS))
    submitted = np.sort(draws.uniform(count, 0, span)).astype(np.int64)
    rows = zip(submitted.tolist(), asked.tolist(), run.tolist(), strict=True)
    return Workload(
        jobs=tuple(
            ClusterJob(id=f"job-{at}", submitted=begin, gpus=size, milliseconds=length)
            for at, (begin, size, length) in enumerate(rows)
        ),
        failures=failures,
    )


def _longest(job: JobFailures) -> int:
    return max((trial.milliseconds for trial in job.trials), default=0)


def _median_minutes(gpus: int) -> float:
    """Return the median run time by size, as read off the figures of the Philly trace's authors."""
    if gpus == 1:
        return 20.0
    if gpus <= 4:
        return 30.0
    return 220.0 if gpus <= 8 else 150.0
