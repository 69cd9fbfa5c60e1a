"""Plans of many jobs at once: what :func:`.plan_ways.ranked_plans` says of one, and its row of periods."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Final

import numpy as np

from muri_opt.rounds import Job, Plan
from muri_opt.rounds.quantities import MIB_PER_GIB, MILLI_PER_CPU
from muri_opt.systems.joint.jobs.model_rows import NO_STAGES, STAGES, Bools, cut
from muri_opt.systems.joint.jobs.plan_ways import PER_SECOND, PlanShape, RankedPlans
from muri_opt.systems.plans.plan_parts import Part, needs_with_a_gpu, plan_entry
from muri_opt.systems.whole_quotients import MOST_QUOTIENT, Floats, Ints, quotient_up

_DIGITS: Final = 53
"""Binary digits of a float."""
_WORD_BITS: Final = 64
_name = attrgetter("name")


def plan_rows_of(jobs: Sequence[Job]) -> list[tuple[bytes, RankedPlans] | None]:
    """Return the rows and plans of jobs with plans; ``None`` of one that is refused, or has to be read by itself."""
    every = [job.plans or () for job in jobs]
    plans = [*chain.from_iterable(every)]
    if not plans:
        return [None] * len(jobs)
    count = np.array([*map(len, every)], dtype=np.int64)
    job = np.repeat(np.arange(len(jobs)), count)
    speed = np.array([plan.throughput for plan in plans], dtype=np.float64)
    shape, shapes = _shapes(jobs, plans, job)
    gpus, nodes = np.array([(one.gpus, len(one.parts)) for one in shapes], dtype=np.int64)[shape].T
    period, told = _periods(speed)
    named = [len({*map(_name, mine)}) == len(mine) for mine in every]  # else two may be the same plan
    promised = [0.0 if one.guarantee is None else one.guarantee.throughput for one in jobs]
    able = (gpus > 0) & (speed >= np.array(promised)[job])
    plain = np.array(named) & (np.bincount(job, able, len(jobs)) > 0) & (np.bincount(job, told, len(jobs)) == count)
    able &= plain[job]
    line = np.lexsort((nodes, gpus, period, job))  # of equal ones the first comes first
    line = line[able[line]]
    ends = np.cumsum(np.bincount(job[line], minlength=len(jobs))).tolist()
    rows = iter(_rows(job[line], gpus[line], period[line], plain))
    columns = (
        tuple([plans[place].name for place in line.tolist()]),
        tuple(period[line].tolist()),
        tuple([shapes[number] for number in shape[line].tolist()]),
    )
    own = [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]
    ranked = map(RankedPlans, *(map(column.__getitem__, own) for column in columns))
    return [(next(rows), mine) if well else None for mine, well in zip(ranked, plain.tolist(), strict=True)]


def _shapes(jobs: Sequence[Job], plans: Sequence[Plan], job: Ints) -> tuple[Ints, list[PlanShape]]:
    """Return the shape of each plan by its number, and all shapes: many plans have the same.

    Shapes are told apart by one column after another of what plans say, and of what their jobs ask for with each GPU.
    """
    needs = [needs_with_a_gpu(one) for one in jobs]
    number = np.array(_numbered(needs)[0], dtype=np.int64)[job]
    for column in (
        [plan.gpus for plan in plans],
        [plan.nodes for plan in plans],
        [plan.cpus for plan in plans],
        [plan.memory_gib for plan in plans],
        [plan.types for plan in plans],
    ):
        own, most = _numbered(column)
        if most > 1:
            number = np.unique(number * most + own, return_inverse=True)[1]
    _, first = np.unique(number, return_index=True)
    differ, with_a_gpu = [plans[at] for at in first.tolist()], np.array(needs, dtype=np.int64)[job[first]]
    return number, _shapes_of_each(differ, with_a_gpu)


def _shapes_of_each(plans: Sequence[Plan], needs: Ints) -> list[PlanShape]:
    """Return the shapes of plans whose jobs need so many milli-CPUs and MiB with each GPU.

    What parts take that are all of one size is worked out at once.
    """
    gpus, nodes = np.array([(plan.gpus, plan.nodes) for plan in plans], dtype=np.int64).T
    cpus = _amounts([plan.cpus for plan in plans], MILLI_PER_CPU, gpus * needs[:, 0])
    memory = _amounts([plan.memory_gib for plan in plans], MIB_PER_GIB, gpus * needs[:, 1])
    parts = map(Part, *((-(-has // nodes)).tolist() for has in (gpus, cpus, memory)))
    shapes = [PlanShape(plan.gpus, (part,) * plan.nodes, plan.types) for plan, part in zip(plans, parts, strict=True)]
    for at in np.flatnonzero(gpus % nodes).tolist():
        shapes[at] = PlanShape.of(plan_entry(0, plans[at], *needs[at].tolist()))
    return shapes


def _amounts(said: Sequence[float | None], units: int, unsaid: Ints) -> Ints:
    """Return amounts of plans in whole units, and what they have that do not say it."""
    if all(one is None for one in said):
        return unsaid
    told = np.array(said, dtype=np.float64)
    return np.where(np.isnan(told), unsaid, np.rint(np.nan_to_num(told * units)).astype(np.int64))


def _numbered(said: Sequence[Hashable]) -> tuple[list[int], int]:
    """Return a number for each of some values, the same for equal ones, and how many numbers there are."""
    number = {value: place for place, value in enumerate(set(said))}
    return ([number[value] for value in said] if len(number) > 1 else [0] * len(said)), len(number)


def _periods(speed: Floats) -> tuple[Ints, Bools]:
    """Return the nanoseconds that plans of such throughputs take, rounded up, and which of them are told by words.

    A throughput is a whole number below 2**53 over a power of two.
    """
    part, power = np.frexp(speed)
    halvings = _DIGITS - power
    told = (MOST_QUOTIENT * speed > PER_SECOND) & (halvings >= 0)
    whole = np.ldexp(np.where(told, part, 1.0), _DIGITS).astype(np.int64)
    shifted = np.int64(PER_SECOND) << np.where(told, np.minimum(halvings, _WORD_BITS - 1), 0)
    dividend = np.where(halvings < _WORD_BITS, shifted, 0)
    about = np.ldexp(float(PER_SECOND), np.where(told, halvings, 0))
    return quotient_up(dividend, about, whole), told


def _rows(job: Ints, gpus: Ints, period: Ints, plain: Bools) -> list[bytes]:
    """Return the rows of the jobs that are plain: the shortest period by GPUs; the fastest of its plans come first."""
    largest = np.full(len(plain), -1, dtype=np.int64)
    np.maximum.at(largest, job, gpus)
    length = STAGES + 1 + largest[plain]
    end = np.cumsum(length)
    begin = np.zeros(len(plain), dtype=np.int64)
    begin[plain] = end - length
    numbers = np.zeros(int(end[-1]) if len(end) else 0, dtype=np.int64)
    numbers[begin[plain]], numbers[begin[plain] + 1] = 1, NO_STAGES
    numbers[(begin[job] + STAGES + gpus)[::-1]] = period[::-1]  # the last one that is written stays
    return cut(numbers, end)
