"""``lower_bound()``: a mean completion time that no schedule of a workload on a cluster is below."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Final

import numpy as np

from muri_opt.replay.bounds.busy_time import BusyMachine, busy_machine
from muri_opt.replay.bounds.job_curves import JobCurves, job_curves
from muri_opt.replay.bounds.price_function import PriceFunction
from muri_opt.replay.outcome import Floats
from muri_opt.replay.workload import Workload
from muri_opt.rounds import Cluster

_ROUNDING: Final = 1e-6
"""What is taken off for times that policies count in whole microseconds, as a part."""
_LAST_DIGITS: Final = 8
"""How many times what floats tell apart at the end of a workload is taken off for each cell of time."""
_SCALES: Final = (0.1, 0.25, 0.5, 0.75, 1.0, 1.25)
"""Times the prices of the machine: where the search begins."""
_STEPS: Final = 20
_JOBS: Final = 1000
"""Of so many jobs and fewer all steps are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LowerBound:
    """Mean completion times in seconds that no schedule is below, by three arguments, and the largest of them.

    ``own``: every job alone at its fastest. ``busy``: mean busy times on one machine. ``prices``: weak duality.
    ``sharing`` says whether schedules in which jobs share GPUs are below none of them either.
    """

    own: float
    busy: float
    prices: float
    sharing: bool

    @property
    def seconds(self) -> float:
        """The best of them."""
        return max(self.own, self.busy, self.prices)

    @property
    def by(self) -> str:
        """Which of them that is."""
        return max(("own", "busy", "prices"), key=lambda name: float(getattr(self, name)))

    def as_dict(self) -> dict[str, float | str | bool]:
        """Return all of them by name."""
        return {**asdict(self), "seconds": self.seconds, "by": self.by}


def lower_bound(
    workload: Workload,
    cluster: Cluster,
    *,
    sharing: bool = True,
    cells: int = 64,
    worths: int = 16,
    steps: int | None = None,
) -> LowerBound:
    """Return the bound of a workload; without ``sharing``, of schedules in which every GPU is of one job at a time.

    Prices are constant on so many ``cells`` of time and improved in so many ``steps``; ``worths`` are tried for each
    job. More of each takes longer, and mostly gives a better bound. Steps that are not said are 20, or fewer where
    there are more than a thousand jobs.

    >>> job = Job(id="a", gpus=1, submitted=0.0, iteration_seconds=2.0, remaining_iterations=5)
    >>> cluster = Cluster(nodes=(Node(id="n", gpus=1),))
    >>> round(lower_bound(Workload(name="one", jobs=(job,)), cluster).seconds, 3)
    10.0
    """
    gpus, jobs = cluster.total_gpus, len(workload.jobs)
    if not jobs:
        return LowerBound(own=0.0, busy=0.0, prices=0.0, sharing=sharing)
    shared = sharing and any(job.stage_seconds for job in workload.jobs)
    curves = job_curves(workload, gpus, sharing=shared)
    curves = replace(curves, submitted=curves.submitted - curves.submitted.min())  # dates would hide short times
    mixtures = _mixtures(len(workload.resources) if shared else 1)
    machines = [busy_machine(curves.submitted, curves.work(mixture), gpus) for mixture in mixtures]
    totals = [_busy(curves, machine) for machine in machines]
    best = int(np.argmax(totals))
    own = float(curves.fastest.sum())
    steps = min(_STEPS, _STEPS * _JOBS // jobs) if steps is None else steps
    found = _by_prices(curves, machines[best], mixtures[best], gpus, cells, worths, steps)
    own, busy, prices = (total / jobs * (1 - _ROUNDING) for total in (own, totals[best], found))
    last = float(machines[best].end[-1]) if len(machines[best].end) else 0.0
    unsure = _LAST_DIGITS * cells * float(np.spacing(last))
    return LowerBound(own=own, busy=max(0.0, busy - unsure), prices=max(0.0, prices - unsure), sharing=sharing)


def _mixtures(resources: int) -> list[Floats]:
    """Return the mixtures of resources that are tried: each alone, and all alike."""
    return [*np.eye(resources), np.full(resources, 1 / resources)]


def _busy(curves: JobCurves, machine: BusyMachine) -> float:
    """Return the sum of completion times that mean busy times prove."""
    free = np.bincount(machine.job, minlength=len(curves.of)) == 0
    total = machine.after + curves.fastest / 2
    return float(np.where(free, curves.fastest, total).sum())


def _by_prices(
    curves: JobCurves, machine: BusyMachine, mixture: Floats, gpus: int, cells: int, worths: int, steps: int
) -> float:
    """Return the best sum that the search for prices finds: steps towards a level above the best, halved in vain."""
    if not len(machine.end):
        return float(curves.fastest.sum())
    bounds = _bounds(curves, machine, cells)
    function, start = PriceFunction(curves, bounds, gpus, worths), machine.prices(bounds)[:, None] * mixture
    widths = function.widths[:, None]
    best, prices = max(((function.at(scale * start), scale * start) for scale in _SCALES), key=lambda one: one[0].total)
    here, at, above, vain = best, prices, 0.1 * best.total, 0
    for _ in range(steps):
        direction = here.excess / widths
        direction = np.where((at <= 0) & (direction < 0), 0.0, direction)
        length = float((direction * direction * widths).sum())
        if length == 0:
            break
        at = np.maximum(0.0, at + (best.total + above - here.total) / length * direction)
        here = function.at(at)
        vain += 1
        if here.total > best.total:
            vain = 0 if here.total > best.total + 0.05 * above else vain
            best, prices = here, at
        if vain > 3:
            here, at, above, vain = best, prices, above / 2, 0
    return best.total


def _bounds(curves: JobCurves, machine: BusyMachine, cells: int) -> Floats:
    """Return bounds of cells: half of them by the submissions, half by the work of the machine."""
    half = np.linspace(0, 1, max(2, cells // 2))
    first, last = float(curves.submitted[0]), float(machine.end[-1])
    done = np.append(0.0, (machine.end - machine.start).cumsum())
    by_work = np.interp(half * done[-1], done, np.append(machine.start[0], machine.end))
    return np.unique(np.concatenate([[first, last + 1.0], np.quantile(curves.submitted, half), by_work]))
