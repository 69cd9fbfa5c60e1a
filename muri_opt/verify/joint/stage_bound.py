"""A bound on joint rounds of any size by prices of the stages of a GPU, which looks at jobs one by one.

What a job gains at most is looked for among all numbers of GPUs that it can have. Floats tell which of them may be the
best, with room for all that is rounded; those few are then compared in exact integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import LinearDuals, Round
from muri_opt.verify.dual_bound import PriceTable
from muri_opt.verify.joint.value import MILLION, Worker, Workers

Floats = NDArray[np.float64]
_ROUNDING: Final = 1e-9
"""More than roundings of floats move a sum, relative to its parts."""
_BITS: Final = 400
"""Of numbers that are looked at in floats."""


def bound_by_stages(round_: Round, workers: Workers, duals: LinearDuals) -> int:
    """Return the bound by prices of the stages of a GPU, and of taking part in a group; a GPU costs their sum.

    A group of period T has each stage at most once at a time: T is at least the sum over its jobs of each stage, and g
    GPUs cost at least the sum over jobs of g x price x stage / T. A job gains at most its work less that, over T, which
    is no less than its own stages together; and it pays its part, as a group has no more than so many jobs. Alone it
    pays for whole GPUs.
    """
    gpus, kinds = round_.cluster.total_gpus, max(1, len(round_.resources))
    table = PriceTable.read(duals, {"stages": (gpus,) * kinds, "part": (gpus,)})
    sizes = _promising(workers, table) or ((job, tuple(job.by_gpus)) for job in workers.jobs)
    return table.bound(most_profit(workers, job, table, some) for job, some in sizes)


def most_profit(workers: Workers, job: Worker, table: PriceTable, sizes: tuple[int, ...]) -> int:
    """Return what a job gains at most with one of some numbers of GPUs, over the denominator, rounded up."""
    (part,), price = table.of["part"], table.of["stages"]
    most, whole = 0, sum(price) + part
    held = 0 if job.home is None else sum(job.home.values())
    shares = workers.most_jobs > 1 and job.stages is not None
    factor = min(workers.rules.slowdowns[1 : workers.most_jobs], default=workers.rules.slowdowns[0])
    for gpus in sizes:
        offer = MILLION * table.denominator * job.weight * (job.fresh if gpus == held else job.changed)
        most = max(most, offer // (workers.unit * job.by_gpus[gpus]) + 1 - gpus * whole)
        if shares:
            stages = job.stages_on(gpus)
            cost = gpus * sum(each * time for each, time in zip(price, stages, strict=False))
            gain = offer * factor.denominator - workers.unit * cost * factor.numerator
            gain = -(-gain // (workers.unit * sum(stages) * factor.numerator))
            most = max(most, gain - gpus * part // workers.most_jobs)
    return most


def _promising(workers: Workers, table: PriceTable) -> list[tuple[Worker, tuple[int, ...]]] | None:
    """Return the jobs that may gain something, with the GPUs with which they may gain most.

    ``None`` where numbers are too large to be looked at in floats.
    """
    jobs = [job for job in workers.jobs if job.by_gpus]
    numbers = chain.from_iterable((job.weight * max(job.fresh, job.changed), job.base) for job in jobs)
    largest = max((*numbers, workers.unit, table.denominator, *table.of["stages"], *table.of["part"]), default=0)
    if largest.bit_length() > _BITS or not jobs:
        return None
    count = np.array([len(job.by_gpus) for job in jobs])
    starts, owner = np.cumsum(count) - count, np.repeat(np.arange(len(jobs)), count)
    gpus = np.fromiter(chain.from_iterable(job.by_gpus for job in jobs), dtype=np.int64)
    period = np.fromiter(chain.from_iterable(job.by_gpus.values() for job in jobs), dtype=np.float64)
    held = np.array([-1 if job.home is None else sum(job.home.values()) for job in jobs])
    fresh, changed = _floats(job.weight * job.fresh for job in jobs), _floats(job.weight * job.changed for job in jobs)
    offer = np.where(gpus == held[owner], fresh[owner], changed[owner])
    offer *= float(MILLION) * float(table.denominator) / float(workers.unit)
    whole = float(sum(table.of["stages"]) + table.of["part"][0])
    worth = offer / period
    least, most = _around(worth - gpus * whole, worth + gpus * whole, 0.0)
    if workers.most_jobs > 1 and any(job.stages for job in jobs):
        shared = _shared(workers, table, jobs, owner, gpus, period, offer)
        least, most = np.maximum(least, shared[0]), np.maximum(most, shared[1])
    best = np.maximum(np.maximum.reduceat(least, starts), 0.0)
    return [*_of_jobs(jobs, owner, gpus, most >= best[owner])]


def _shared(
    workers: Workers,
    table: PriceTable,
    jobs: list[Worker],
    owner: NDArray[np.intp],
    gpus: NDArray[np.int64],
    period: Floats,
    offer: Floats,
) -> tuple[Floats, Floats]:
    """Return between which numbers the gains of jobs in groups are, with each number of GPUs."""
    price, (part,) = _floats(table.of["stages"]), table.of["part"]
    times = np.zeros((len(jobs), len(price)))
    for place, job in enumerate(jobs):
        times[place, : len(job.stages or ())] = job.stages or ()
    base = _floats(max(1, job.base) for job in jobs)
    scaled = np.ceil(times[owner] * (period / base[owner])[:, None])
    total = scaled.sum(axis=1)
    able = np.array([job.stages is not None for job in jobs])[owner] & (total > 0)
    total = np.where(able, total, 1.0)
    factor = min(workers.rules.slowdowns[1 : workers.most_jobs])
    worth, cost = offer * float(1 / factor) / total, gpus * (scaled @ price) / total
    joins = gpus * float(part) / workers.most_jobs
    slack = 4 * len(price) / total  # each stage is rounded up, maybe to the next but one
    least, most = _around(worth - cost - joins, worth + cost + joins, slack)
    return np.where(able, least, -np.inf), np.where(able, most, -np.inf)


def _around(gain: Floats, size: Floats, slack: Floats | float) -> tuple[Floats, Floats]:
    """Return between which numbers a gain of parts of such a size is, rounded to whole numbers or not."""
    off = size * (_ROUNDING + slack) + 4.0
    return gain - off, gain + off


def _floats(numbers: Iterable[int]) -> Floats:
    return np.array([float(number) for number in numbers], dtype=np.float64)


def _of_jobs(
    jobs: list[Worker], owner: NDArray[np.intp], gpus: NDArray[np.int64], some: NDArray[np.bool_]
) -> Iterator[tuple[Worker, tuple[int, ...]]]:
    """Yield the jobs of some entries with their GPUs there."""
    found: dict[int, list[int]] = {}
    for place, size in zip(owner[some].tolist(), gpus[some].tolist(), strict=True):
        found.setdefault(place, []).append(size)
    for place, sizes in found.items():
        yield jobs[place], tuple(sizes)
