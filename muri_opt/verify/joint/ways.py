"""How long an iteration of a job takes by its GPUs, by the verifier's own reading: those of all jobs at once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Job
from muri_opt.rounds.kept_by_object import KeptByObject
from muri_opt.verify.afs.curve import Curve, speeds_of
from muri_opt.verify.amounts import micro, word_for
from muri_opt.verify.joint.plans import NANO, PlanEntry, allowed_plans, fastest_by_gpus
from muri_opt.verify.joint.rules import Joint

Numbers = NDArray[Any]
"""Whole numbers: machine words, or of any size at a cost."""


class Ways(NamedTuple):
    """The nanoseconds of an iteration ``by_gpus``, from the fewest GPUs up.

    The same as arrays, ``gpus`` and the ``time`` with each number of them, and the ``shortest`` and ``longest`` time.
    Its ``stages`` are as they are told in a period of ``base``; ``plans`` are those that the job may run by.
    """

    by_gpus: Mapping[int, int]
    gpus: Numbers
    time: Numbers
    shortest: int
    longest: int
    stages: tuple[int, ...] | None = None
    base: int = 1
    plans: tuple[PlanEntry, ...] = ()

    @classmethod
    def of(cls, by_gpus: Mapping[int, int]) -> Ways:
        """Return what a table says."""
        gpus, times = [*by_gpus], [*by_gpus.values()]
        shortest, longest = min(times, default=0), max(times, default=0)
        time: Numbers = np.array(times, dtype=word_for(longest))
        return cls(by_gpus, np.array(gpus, dtype=word_for(max(gpus, default=0))), time, shortest, longest)

    def within(self, gpus: int) -> Ways:
        """Return those with no more than so many GPUs: most often the very same."""
        if not self.by_gpus or self.gpus[-1] <= gpus:
            return self
        few = Ways.of({count: time for count, time in self.by_gpus.items() if count <= gpus})
        return few._replace(stages=self.stages, base=self.base, plans=self.plans)


_KNOWN: Final = KeptByObject[Ways]()
"""The ways of jobs, which keep their tables from round to round."""


def ways_of(jobs: Sequence[Job], rules: Joint) -> list[Ways]:
    """Return the ways of all jobs, or refuse one that says too little."""
    _KNOWN.expect(len(jobs))

    def read(places: Sequence[int]) -> list[Ways]:
        return _read([jobs[place] for place in places], rules)

    tables = [job.scaling if job.plans is None else job.plans for job in jobs]
    besides = [_beside_table(job) for job in jobs]
    asks = rules.full, rules.powers
    return _KNOWN.all_of(
        [(id(table), beside, asks) for table, beside in zip(tables, besides, strict=True)], tables, read
    )


def _beside_table(job: Job) -> tuple[Hashable, ...]:
    """Return what the ways of a job depend on besides its table or its plans."""
    if job.plans is None:
        return job.gpus, job.iteration_seconds, job.stage_seconds
    return job.gpus, job.cpus, job.memory_gib, job.guarantee


def _read(jobs: Sequence[Job], rules: Joint) -> list[Ways]:
    elastic = [job for job in jobs if job.plans is None and job.scaling is not None]
    curves = iter(_curve_ways(elastic, rules))
    found = []
    for job in jobs:
        if job.plans is not None:
            plans = allowed_plans(job)
            found.append(Ways.of(fastest_by_gpus(plans))._replace(plans=plans))
        elif job.scaling is not None:
            found.append(next(curves))
        else:
            found.append(_gang_ways(job, rules))
    return found


def _gang_ways(job: Job, rules: Joint) -> Ways:
    """Return how a job runs that has the GPUs it asks for, or none."""
    stages, seconds = _stages(job), job.iteration_seconds
    alone = 1000 * micro(seconds) if seconds is not None else NANO if stages is None else sum(stages)
    return Ways.of({job.gpus: alone})._replace(stages=stages, base=_base(job, alone, stages, rules))


def _stages(job: Job) -> tuple[int, ...] | None:
    """Return how long the stages of a job take, in nanoseconds."""
    return None if job.stage_seconds is None else tuple([1000 * micro(time) for time in job.stage_seconds])


def _base(job: Job, alone: int, stages: tuple[int, ...] | None, rules: Joint) -> int:
    """Return in which period the stages of a job are as it says them: it takes so long ``alone`` on its GPUs."""
    in_turn, needs_alone = sum(stages or ()), job.scaling is None or stages is not None
    if job.gpus < 1 or (needs_alone and alone <= 0) or (stages is not None and in_turn <= 0):
        raise InputError(f"job {job.id!r}", "no time or no GPUs", "times above 0 at the GPUs it asks for")
    return min(alone, in_turn) if rules.full and in_turn else max(1, alone)


def _curve_ways(jobs: Sequence[Job], rules: Joint) -> list[Ways]:
    """Return the ways of jobs with scaling tables, whose speeds are read at once."""
    every = zip(jobs, speeds_of([job.scaling or {} for job in jobs]), strict=True)
    curves = [Curve.told(job, speeds) for job, speeds in every]
    found: list[Ways] = []
    for job, time in zip(jobs, _quotients_up([1000 * curve.unit for curve in curves], curves), strict=True):
        gpus: Numbers = np.arange(1, len(time) + 1)
        alone, stages = int(time[job.gpus - 1]) if 0 < job.gpus <= len(time) else 0, _stages(job)
        base = _base(job, alone, stages, rules)
        if rules.powers:
            gpus = 2 ** np.arange(len(time).bit_length())
            time = time[gpus - 1]
        times = time.tolist()
        by_gpus = dict(zip(gpus.tolist(), times, strict=True))
        found.append(Ways(by_gpus, gpus, time, min(times), max(times), stages, base))
    return found


def _quotients_up(units: Sequence[int], curves: Sequence[Curve]) -> list[Numbers]:
    """Return each unit over all speeds of its curve, rounded up; those that are machine words are divided at once."""
    found: dict[int, Numbers] = {}
    words = []
    for place, (unit, curve) in enumerate(zip(units, curves, strict=True)):
        if word_for(unit + curve.top) is np.int64:
            words.append(place)
        else:
            times = [(unit + speed - 1) // speed for speed in curve.row.tolist()]
            found[place] = np.array(times, dtype=word_for(max(times)))
    if words:
        length = [len(curves[place].row) for place in words]
        speeds = np.concatenate([curves[place].row for place in words])
        each = np.repeat(np.array([units[place] for place in words], dtype=np.int64), length)
        time = (each + speeds - 1) // speeds
        found.update(zip(words, np.split(time, np.cumsum(length)[:-1]), strict=True))
    return [found[place] for place in range(len(units))]
