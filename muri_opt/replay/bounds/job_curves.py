"""How fast jobs of a workload can be, and what that takes: the least GPUs that any schedule can spend on a rate.

A job that holds k GPUs alone runs at the rate of its table, its plan or its request and takes k GPUs. In a group every
resource of the GPUs serves one job at a time, so the period is at least the sum over its jobs of the times of any one
stage: each job takes of every resource of the GPUs the part of the time that its stage takes, and no more is counted.
And no period is shorter than the stages of a job one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from muri_opt.replay.outcome import Floats, Ints
from muri_opt.replay.workload import Workload
from muri_opt.rounds import Job
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND, microseconds
from muri_opt.systems.curves import scaling_table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """The corners of the least GPUs by rate: ``rate`` as part of the fastest, rising to 1, and ``gpus`` taken there.

    Between corners both are mixed in time, and below the first in proportion. Gains shrink: it is convex. Of resource r
    of these GPUs the job takes the part ``uses[r]``; where GPUs are not shared there is one resource, and all of it.
    """

    rate: Floats
    gpus: Floats
    uses: Floats

    @property
    def least_gpus(self) -> float:
        """GPU seconds that a second of work at the fastest rate takes at least."""
        return float(self.gpus[0] / self.rate[0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JobCurves:
    """Jobs that are submitted at ``submitted`` and take ``fastest`` seconds at best; job j has the curve ``of[j]``."""

    submitted: Floats
    fastest: Floats
    curves: tuple[Curve, ...]
    of: Ints

    def work(self, mixture: Floats) -> Floats:
        """Return the least GPU seconds of each job if resources count as in a mixture, which adds up to 1."""
        least = np.array([curve.least_gpus * float(curve.uses @ mixture) for curve in self.curves])
        found: Floats = self.fastest * least[self.of]
        return found


def job_curves(workload: Workload, gpus: int, *, sharing: bool) -> JobCurves:
    """Return the jobs of a workload on so many GPUs, which they may share or not."""
    resources = len(workload.resources) if sharing else 1
    known: dict[tuple[object, ...], int] = {}
    curves: list[Curve] = []
    of, fastest = np.zeros(len(workload.jobs), dtype=np.int64), np.zeros(len(workload.jobs))
    for place, job in enumerate(workload.jobs):
        uses, quicker = _uses(job) if sharing and job.stage_seconds else ((1.0,) * resources, 1.0)
        points = _points(job, gpus, quicker)
        top = max(rate for rate, _ in points)
        fastest[place] = (job.remaining_iterations or 0) / top
        scaled = tuple((rate / top, taken) for rate, taken in points)
        key = (scaled, uses)
        if key not in known:
            known[key] = len(curves)
            curves.append(_corners(scaled, uses))
        of[place] = known[key]
    submitted = np.array([job.submitted or 0.0 for job in workload.jobs])
    return JobCurves(submitted=submitted, fastest=fastest, curves=tuple(curves), of=of)


def _uses(job: Job) -> tuple[tuple[float, ...], float]:
    """Return which part of the time a job uses each resource at most, and what part of it a group may need for it."""
    alone = job.iteration_seconds or 1.0
    stages = [microseconds(time) / MICROSECONDS_PER_SECOND for time in job.stage_seconds or ()]
    quicker = min(1.0, sum(stages) / alone) or 1.0
    return tuple(min(1.0, time / alone) for time in stages), quicker


def _points(job: Job, gpus: int, quicker: float) -> list[tuple[float, float]]:
    """Return rates, in iterations a second, with the GPUs they take at least; a group may be ``quicker`` by a part."""
    alone = job.iteration_seconds or 1.0
    found = [(1 / alone, float(job.gpus))]
    if job.scaling:
        speeds = scaling_table(job.scaling).speeds
        if job.gpus < len(speeds):
            most = min(gpus, len(speeds) - 1)
            found += [(speeds[k] / speeds[job.gpus] / alone, float(k)) for k in range(1, most + 1)]
    found = [(rate / quicker, taken / quicker) for rate, taken in found]
    found += [(plan.throughput, float(plan.gpus)) for plan in job.plans or () if plan.gpus <= gpus and plan.throughput]
    return found


def _corners(points: Sequence[tuple[float, float]], uses: Sequence[float]) -> Curve:
    """Return the lower convex hull of points and nothing at all, up to the largest rate."""
    hull = [(0.0, 0.0)]
    for rate, taken in sorted(points):
        while len(hull) > 1 and _turns_down(hull[-2], hull[-1], (rate, taken)):
            hull.pop()
        if rate > hull[-1][0]:
            hull.append((rate, taken))
    rate, taken = np.array(hull[1:]).T
    return Curve(rate=rate, gpus=taken, uses=np.array(uses))


def _turns_down(first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]) -> bool:
    """Return whether the middle of three points is not below the line between the others."""
    over = (middle[1] - first[1]) * (last[0] - first[0])
    return over >= (last[1] - first[1]) * (middle[0] - first[0])
