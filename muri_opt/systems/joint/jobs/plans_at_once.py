"""Plans of many jobs at once: what :func:`.plan_ways.ranked_plans` says of one, and its row of periods."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from typing import Final

import numpy as np

from muri_opt.rounds import Job
from muri_opt.rounds.quantities import MIB_PER_GIB, MILLI_PER_CPU
from muri_opt.systems.curve_rows import Bools
from muri_opt.systems.joint.jobs.model_rows import NO_STAGES, STAGES, cut
from muri_opt.systems.joint.jobs.plan_ways import (
    GPUS,
    LARGEST,
    MANY_LARGEST,
    NEEDS,
    PARTS,
    PER_SECOND,
    SMALLEST,
    RankedPlans,
)
from muri_opt.systems.plans.plan_parts import needs_with_a_gpu
from muri_opt.systems.whole_quotients import MOST_QUOTIENT, Floats, Ints, quotient_up

_DIGITS: Final = 53
"""Binary digits of a float."""
_WORD_BITS: Final = 64
_name = attrgetter("name")
_said = attrgetter("name", "gpus", "nodes", "cpus", "memory_gib", "throughput", "gpu_type", "gpu_types")


def plan_rows_of(jobs: Sequence[Job]) -> list[tuple[bytes, RankedPlans] | None]:
    """Return the rows and plans of jobs with plans; ``None`` of one that is refused, or has to be read by itself."""
    every = [job.plans or () for job in jobs]
    plans = [*chain.from_iterable(every)]
    if not plans:
        return [None] * len(jobs)
    names, *numbers, type_, types = zip(*map(_said, plans), strict=True)
    gpus, nodes, cpus, memory, speed = np.array(numbers, dtype=np.float64)  # not a number where it is not said
    count = np.array([*map(len, every)], dtype=np.int64)
    job = np.repeat(np.arange(len(jobs)), count)
    needs = _needs(gpus, nodes, (cpus, memory), np.array([needs_with_a_gpu(one) for one in jobs], dtype=np.int64)[job])
    period, told = _periods(speed)
    named = [len({*map(_name, mine)}) == len(mine) for mine in every]  # else two may be the same plan
    promised = [0.0 if one.guarantee is None else one.guarantee.throughput for one in jobs]
    able = (gpus > 0) & (speed >= np.array(promised)[job])
    plain = np.array(named) & (np.bincount(job, able, len(jobs)) > 0) & (np.bincount(job, told, len(jobs)) == count)
    able &= plain[job]
    line = np.lexsort((nodes, gpus, period, job))  # of equal ones the first comes first
    line = line[able[line]]
    ends = np.cumsum(np.bincount(job[line], minlength=len(jobs))).tolist()
    needs, period, places = needs[line], period[line], line.tolist()
    rows = iter(_rows(job[line], needs[:, GPUS], period, plain))
    typed = any(one is not None for one in (*type_, *types))
    own = [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]
    columns = (
        tuple([names[place] for place in places]),
        tuple(period.tolist()),
        tuple(needs[:, GPUS].tolist()),
        needs,
        *([tuple([plans[place].types for place in places])] if typed else []),
    )
    ranked = map(RankedPlans, *(map(column.__getitem__, own) for column in columns))
    return [(next(rows), mine) if well else None for mine, well in zip(ranked, plain.tolist(), strict=True)]


def _needs(gpus: Floats, nodes: Floats, said: tuple[Floats, Floats], with_a_gpu: Ints) -> Ints:
    """Return what plans need, a row each; what they do not say of CPUs and memory is what jobs need with each GPU.

    A part takes as much of these as it has of the GPUs, rounded up.
    """
    needs = np.zeros((len(gpus), NEEDS), dtype=np.int64)
    needs[:, GPUS], needs[:, PARTS] = whole, many = gpus.astype(np.int64), nodes.astype(np.int64)
    few, more = np.divmod(whole, many)
    needs[:, MANY_LARGEST] = np.where(more > 0, more, many)
    uneven = np.flatnonzero(more)
    for part, size in ((LARGEST, few + (more > 0)), (SMALLEST, few)):
        needs[:, part.start] = size
        for at, (own, units) in enumerate(zip(said, (MILLI_PER_CPU, MIB_PER_GIB), strict=True), part.start + 1):
            unsaid = np.isnan(own)
            every = np.rint(np.where(unsaid, 0.0, own) * units).astype(np.int64)
            every = np.where(unsaid, whole * with_a_gpu[:, at - part.start - 1], every)
            needs[:, at] = -(-every // many)
            needs[uneven, at] = -(-every[uneven].astype(object) * size[uneven] // whole[uneven])  # beyond a word
    return needs


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
