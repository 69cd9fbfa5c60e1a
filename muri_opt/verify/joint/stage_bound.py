"""A bound on joint rounds of any size by prices of the stages of a GPU, which looks at jobs one by one.

What a job gains at most is looked for among all numbers of GPUs that it can have. Floats tell which of them may be the
best, with room for all that is rounded; those few are then compared in exact integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

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
    for gpus in sizes:
        offer = MILLION * table.denominator * job.weight * (job.fresh if gpus == held else job.changed)
        most = max(most, offer // (workers.unit * job.by_gpus[gpus]) + 1 - gpus * whole)
        if shares:
            stages, factor = job.stages_on(gpus), min(workers.rules.slowdowns[1 : workers.most_jobs])
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
    largest = max((*(job.base for job in jobs), workers.unit, table.denominator), default=0)
    if largest.bit_length() > _BITS or not jobs:
        return None
    count = np.array([len(job.by_gpus) for job in jobs])
    starts, owner = np.cumsum(count) - count, np.repeat(np.arange(len(jobs)), count)
    gpus, least, most = gains_between(workers, table, jobs, owner)
    best = np.maximum(np.maximum.reduceat(least, starts), 0.0)
    return [*_of_jobs(jobs, owner, gpus, most >= best[owner])]


def gains_between(
    workers: Workers, table: PriceTable, jobs: list[Worker], owner: NDArray[np.intp]
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return all numbers of GPUs of the jobs, one after the other, and between which numbers the gains with them are.

    ``owner`` is whose each of them is. Gains of a job are in a unit of its own, so that floats hold them: where jobs
    have priorities, one can weigh more than another by any power of two.
    """
    gpus = np.concatenate([job.ways.gpus for job in jobs]).astype(np.int64)
    period = np.concatenate([job.ways.time for job in jobs]).astype(np.float64)
    held = np.array([-1 if job.home is None else sum(job.home.values()) for job in jobs])
    scaled = _scaled(jobs, table)
    offer = np.where(gpus == held[owner], scaled.fresh[owner], scaled.changed[owner])
    offer *= float(MILLION) * float(table.denominator) / float(workers.unit)
    whole = gpus * scaled.whole[owner]
    worth, off = offer / period, _off(offer / period + whole)
    least, most = worth - whole - off, worth - whole + off
    if workers.most_jobs > 1 and any(job.stages for job in jobs):
        shared = _shared(workers, scaled, jobs, owner, gpus, period, offer)
        least, most = np.maximum(least, shared[0]), np.maximum(most, shared[1])
    return gpus, least, most


class _Scaled(NamedTuple):
    """What the work of each job is worth that starts or goes on, and is changed, and what it pays for a GPU.

    That is the price of each of its ``stages``, ``part`` for being in a group, and the ``whole`` of them alone; all of
    a job are in its own unit, a power of two.
    """

    fresh: Floats
    changed: Floats
    stages: Floats
    part: Floats
    whole: Floats


def _scaled(jobs: list[Worker], table: PriceTable) -> _Scaled:
    (part,), stages = table.of["part"], table.of["stages"]
    whole = sum(stages) + part
    offers = [(job.weight * job.fresh, job.weight * job.changed) for job in jobs]
    shifts = [max(0, max(*offer, whole).bit_length() - _BITS) for offer in offers]
    prices = {shift: [float(price >> shift) for price in (*stages, part, whole)] for shift in {*shifts}}
    fresh, changed = (_floats(offer[at] >> shift for offer, shift in zip(offers, shifts, strict=True)) for at in (0, 1))
    each = np.array([prices[shift] for shift in shifts])
    return _Scaled(fresh, changed, each[:, :-2], each[:, -2], each[:, -1])


def _shared(
    workers: Workers,
    scaled: _Scaled,
    jobs: list[Worker],
    owner: NDArray[np.intp],
    gpus: NDArray[np.int64],
    period: Floats,
    offer: Floats,
) -> tuple[Floats, Floats]:
    """Return between which numbers the gains of jobs in groups are, with each number of GPUs."""
    price = scaled.stages[owner]
    times = np.zeros((len(jobs), scaled.stages.shape[1]))
    for place, job in enumerate(jobs):
        times[place, : len(job.stages or ())] = job.stages or ()
    base = _floats(max(1, job.base) for job in jobs)
    exact = times[owner] * (period / base[owner])[:, None]
    # Stages are rounded up: where floats are a little off a whole number, to the next one or not.
    few, many = np.ceil(exact * (1 - _ROUNDING)), np.ceil(exact * (1 + _ROUNDING))
    short, long = few.sum(axis=1), many.sum(axis=1)
    able = np.array([job.stages is not None for job in jobs])[owner] & (short > 0)
    short, long = np.where(able, short, 1.0), np.where(able, long, 1.0)
    worth = offer * float(1 / min(workers.rules.slowdowns[1 : workers.most_jobs]))
    much, little = (gpus * np.einsum("ij,ij->i", one, price) for one in (many, few))
    joins = gpus * scaled.part[owner] / workers.most_jobs
    off = _off((worth + much) / short + joins)
    least = np.minimum((worth - much) / short, (worth - much) / long) - joins - off
    most = np.maximum((worth - little) / short, (worth - little) / long) - joins + off
    return np.where(able, least, -np.inf), np.where(able, most, -np.inf)


def _off(size: Floats) -> Floats:
    """Return by how much a sum of parts of such a size may be off in floats, rounded to whole numbers or not."""
    return size * _ROUNDING + 4.0


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
