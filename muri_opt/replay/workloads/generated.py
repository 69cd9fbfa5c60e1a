"""Seeded random workloads that follow published statistics: the same arguments always give the same jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log
from statistics import NormalDist
from typing import Final

import numpy as np

from muri_opt.errors import unknown_name
from muri_opt.replay.workload import Workload
from muri_opt.replay.workloads.public_traces import TICK
from muri_opt.rounds import Job
from muri_opt.rounds.generate.portable_random import Draws, Ints
from muri_opt.rounds.quantities import MILLISECONDS_PER_SECOND, finite, whole

MOST_JOBS: Final = 1_000_000
MOST_GAP: Final = 1000.0
"""Seconds; a million jobs then still fit the longest time of a job."""

_SMALLEST: Final = 2.0**-53  # the step of the uniform draws: 0 itself has no logarithm and no quantile
_WEEK: Final = 604_800.0
_PHILLY_SIZES: Final = {1: 9317, 2: 221, 4: 227, 8: 200, 16: 24, 32: 8}
_PHILLY_TENANTS: Final = {
    "6214e9": 41_226,
    "11cb48": 16_091,
    "6c71a0": 9953,
    "b436b2": 7423,
    "103959": 1934,
    "ee9e8c": 1511,
    "0e4a51": 1435,
    "ed69ec": 1137,
    "7f04ca": 723,
    "2869ce": 422,
    "e13805": 374,
}
_PHILLY_TIMES: Final = ((1, 1116.0, 0.0016), (4, 366.0, 0.013), (8, 23_682.0, 0.037), (32, 21_138.0, 0.024))
"""Up to how many GPUs; the median; which part of the jobs takes more than a week."""
_PHILLY_LONGEST: Final = 4_628_226
_TIRESIAS_SIZES: Final = {2: 40, 4: 80, 8: 90, 16: 25, 32: 5}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadFamily:
    """A family of workloads: ``jobs`` and the mean ``gap`` of arrivals where nothing else is asked for.

    ``rows`` draws GPUs, whole seconds of service and tenants of so many jobs.
    """

    jobs: int
    gap: float
    rows: Callable[[Draws, int], tuple[Ints, Ints, list[str | None]]]


def generate_workload(family: str, *, jobs: int | None = None, seed: int = 0, gap: float | None = None) -> Workload:
    """Return a random workload of ``WORKLOAD_FAMILIES``; jobs arrive by a Poisson process, ``gap`` seconds apart."""
    if family not in WORKLOAD_FAMILIES:
        raise unknown_name("family of workloads", family, WORKLOAD_FAMILIES)
    chosen = WORKLOAD_FAMILIES[family]
    count = whole("jobs", chosen.jobs if jobs is None else jobs, MOST_JOBS, least=1)
    seed = whole("seed", seed, 2**63 - 1)
    between = finite("gap", chosen.gap if gap is None else gap, MOST_GAP)
    draws = Draws(seed)
    submitted = _arrivals(draws, count, between)
    gpus, seconds, tenants = chosen.rows(draws, count)
    rows = zip(gpus.tolist(), seconds.tolist(), submitted.tolist(), tenants, strict=True)
    return Workload(
        name=f"{family}/{count}-jobs-gap-{between:.15g}-seed-{seed}",
        jobs=tuple(
            Job(
                id=f"job-{position}",
                tenant=tenant,
                gpus=size,
                submitted=at / MILLISECONDS_PER_SECOND,
                remaining_iterations=work * MILLISECONDS_PER_SECOND,
                iteration_seconds=TICK,
            )
            for position, (size, work, at, tenant) in enumerate(rows)
        ),
    )


def _arrivals(draws: Draws, jobs: int, gap: float) -> Ints:
    """Return milliseconds at which jobs arrive, the first at 0."""
    gaps = -np.log(np.maximum(draws.uniform(jobs), _SMALLEST)) * (gap * MILLISECONDS_PER_SECOND)
    gaps[0] = 0
    return np.cumsum(np.rint(gaps).astype(np.int64))


def _philly(draws: Draws, jobs: int) -> tuple[Ints, Ints, list[str | None]]:
    """Return jobs with Philly's sizes; times are log-normal, through the median and the part above a week."""
    gpus = draws.pick(jobs, tuple(_PHILLY_SIZES), tuple(_PHILLY_SIZES.values()))
    most, median, above = (np.array(column) for column in zip(*_PHILLY_TIMES, strict=True))
    spread = np.array([_spread(middle, part) for middle, part in zip(median, above, strict=True)])
    row = np.searchsorted(most, gpus)
    level = np.maximum(draws.uniform(jobs), _SMALLEST)
    normal = np.fromiter(map(NormalDist().inv_cdf, level.tolist()), dtype=np.float64, count=jobs)
    seconds = np.clip(np.rint(median[row] * np.exp(spread[row] * normal)), 1, _PHILLY_LONGEST).astype(np.int64)
    names = tuple(_PHILLY_TENANTS)
    chosen = draws.pick(jobs, range(len(names)), tuple(_PHILLY_TENANTS.values()))
    return gpus, seconds, [names[place] for place in chosen.tolist()]


def _spread(median: float, above: float) -> float:
    """Return the deviation of the logarithm if this part of all times is above a week."""
    return log(_WEEK / median) / NormalDist().inv_cdf(1 - above)


def _tiresias(draws: Draws, jobs: int) -> tuple[Ints, Ints, list[str | None]]:
    """Return jobs in blocks of 240, each with exactly the published sizes in random order."""
    sizes = np.repeat(tuple(_TIRESIAS_SIZES), tuple(_TIRESIAS_SIZES.values())).astype(np.int64)
    blocks = -(-jobs // len(sizes))
    shuffled = np.argsort(draws.uniform(blocks * len(sizes)).reshape(blocks, len(sizes)), axis=1, kind="stable")
    seconds = np.rint(draws.uniform(jobs, 120, 7200)).astype(np.int64)
    return sizes[shuffled].reshape(-1)[:jobs], seconds, [None] * jobs


WORKLOAD_FAMILIES: Final[Mapping[str, WorkloadFamily]] = {
    "philly": WorkloadFamily(jobs=1000, gap=114.5, rows=_philly),
    "tiresias": WorkloadFamily(jobs=240, gap=30.0, rows=_tiresias),
}
"""Philly's sizes, times, tenants and mean gap from the flattened public trace; Tiresias' as in AFS' simulator."""
