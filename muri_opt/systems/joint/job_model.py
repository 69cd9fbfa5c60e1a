"""How fast jobs run: alone on every number of GPUs, and their stages there, in whole nanoseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.kept_by_object import KeptByObject
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.curves import iteration_unit, scaling_table
from muri_opt.systems.joint.plan_ways import MODELS, PER_SECOND as PER_SECOND, PlanWay, fastest, plan_ways
from muri_opt.systems.joint.rules import JointRules

Floats = NDArray[np.float64]
NANOSECONDS = 1_000
"""Of a microsecond."""
_UNSAID = PER_SECOND  # a job that does not say how long an iteration takes never shares: any time will do


@dataclass(frozen=True, kw_only=True)
class JobModel:
    """One way to run: ``period[k]`` are the nanoseconds of an iteration alone on k GPUs, 0 where it cannot have k.

    ``stages`` are the times of its stages in a period of ``base``; on k GPUs they shrink as the period does, rounded
    up. ``None`` where the job never shares. A job that runs by plans has them as ``ways``; its periods are then those
    of the fastest ones.
    """

    period: tuple[int, ...]
    stages: tuple[int, ...] | None
    base: int
    ways: tuple[PlanWay, ...] = ()

    def stages_on(self, gpus: int) -> tuple[int, ...]:
        """Return the stage times on so many GPUs."""
        period = self.period[gpus]
        return tuple(-(-time * period // self.base) for time in self.stages or ())

    @cached_property
    def least(self) -> int:
        """The fewest GPUs it can have."""
        return next((gpus for gpus, period in enumerate(self.period) if period), 1)

    @cached_property
    def is_rigid(self) -> bool:
        """Whether it can have one number of GPUs only."""
        return not any(self.period[:-1])


def model_of(job: Job, *, full: bool, powers: bool) -> JobModel:
    """Return the model of a job, or refuse one that says no time to share by.

    ``full`` lets stages that take less than the iteration fill it; ``powers`` leaves an elastic job 1, 2, 4, ... GPUs.
    A job with plans runs by them, alone.

    >>> model_of(Job(id="a", gpus=2, iteration_seconds=3.0), full=True, powers=False).period
    (0, 0, 3000000000)
    """
    if job.plans is not None:
        return _planned(plan_ways(job))
    scaling = None if job.scaling is None else tuple(job.scaling.items())
    return _model(scaling, job.gpus, job.iteration_seconds, job.stage_seconds, full, powers)


class _Known(NamedTuple):
    """A model, its periods as an array, and its hash."""

    model: JobModel
    row: NDArray[Any]
    digest: int


_KNOWN: Final = KeptByObject[_Known]()
"""Models by the very table that a job keeps from round to round."""


def _known_model(job: Job, *, full: bool, powers: bool) -> _Known:
    """Return the model of a job, from a round before if it kept its table."""
    said = job.gpus, job.iteration_seconds, job.stage_seconds, full, powers
    known = _KNOWN.get(job.scaling, said) if job.plans is None else None
    if known is None:
        model = model_of(job, full=full, powers=powers)
        word = np.int64 if max(model.period) < 1 << 62 else object
        known = _Known(model, np.array(model.period, dtype=word), hash(model))
        if job.plans is None:
            _KNOWN.put(job.scaling, said, known)
    return known


@lru_cache(maxsize=MODELS)
def _planned(ways: tuple[PlanWay, ...]) -> JobModel:
    return JobModel(period=fastest(ways), stages=None, base=1, ways=ways)


@lru_cache(maxsize=MODELS)
def _model(
    scaling: tuple[tuple[int, float], ...] | None,
    gpus: int,
    seconds: float | None,
    stage_seconds: tuple[float, ...] | None,
    full: bool,
    powers: bool,
) -> JobModel:
    stages = tuple(microseconds(time) * NANOSECONDS for time in stage_seconds or ())
    if gpus < 1:
        raise InputError("gpus", str(gpus), "at least 1: what a job runs on is counted in GPUs")
    if seconds == 0:
        raise InputError("iteration_seconds", "0", "a time above 0, or none")
    if stage_seconds is not None and not sum(stages):
        raise InputError("stage_seconds", "0 in all", "a stage that takes time, or none at all")
    if scaling is None:
        alone = sum(stages) or _UNSAID if seconds is None else microseconds(seconds) * NANOSECONDS
        period = (*(0,) * gpus, alone)
    else:
        table = scaling_table(dict(scaling))
        unit = iteration_unit(gpus, seconds, table) * NANOSECONDS
        if stage_seconds is not None and gpus >= len(table.speeds):
            allowed = f"a GPU count from 1 to {len(table.speeds) - 1}, within scaling: stage_seconds are measured there"
            raise InputError("gpus", str(gpus), allowed)
        period = tuple([-(-unit // speed) if speed else 0 for speed in table.speeds])
        alone = period[gpus] if gpus < len(period) else 0
        if powers:
            period = tuple([0 if k & (k - 1) else time for k, time in enumerate(period)])
    if stage_seconds is None:
        return JobModel(period=period, stages=None, base=1)
    return JobModel(period=period, stages=stages, base=min(alone, sum(stages)) if full else alone)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Models:
    """The models of a round's jobs: ``of[kind[j]]`` is that of job j.

    ``period[t, k]`` are nanoseconds, 0 where a job of model t cannot have k GPUs of the cluster; ``shares[t]`` says
    whether it can be in a group. ``kinds`` is ``kind`` as a list, to be read one at a time, and ``timed`` has the
    periods and orders of groups on so many GPUs that were asked for.
    """

    of: tuple[JobModel, ...]
    kind: Ints
    period: NDArray[Any]
    shares: NDArray[np.bool_]
    kinds: list[int] = field(init=False, repr=False)
    timed: dict[tuple[tuple[int, ...], int], tuple[int, tuple[int, ...]]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", self.kind.tolist())

    @classmethod
    def read(cls, jobs: Sequence[Job], most_gpus: int, *, full: bool, powers: bool) -> Models:
        """Return the models on a cluster of so many GPUs; what is wrong with a job is told with its place."""
        known: dict[int, list[int]] = {}  # the models of each hash, which is worked out once: it takes long
        models: list[JobModel] = []
        rows: list[NDArray[Any]] = []
        kinds: list[int] = []
        _KNOWN.expect(len(jobs))
        for place, job in enumerate(jobs):
            try:
                model, row, digest = _known_model(job, full=full, powers=powers)
            except InputError as error:
                raise error.inside(f"jobs[{place}] ({job.id!r})") from None
            alike = known.setdefault(digest, [])
            kind = next((at for at in alike if models[at] is model or models[at] == model), None)
            if kind is None:
                kind = len(models)
                alike.append(kind)
                models.append(model)
                rows.append(row)
            kinds.append(kind)
        counts = np.array([len(row) for row in rows], dtype=np.int64)
        width = 1 + min(most_gpus, int(counts.max(initial=1)) - 1)
        every: NDArray[Any] = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
        period = np.zeros((len(models), width), dtype=every.dtype)
        period[np.arange(width) < counts[:, np.newaxis]] = every[
            np.arange(len(every)) - np.repeat(np.cumsum(counts) - counts, counts) < width
        ]
        shares = np.array([model.stages is not None for model in models], dtype=np.bool_)
        return cls(of=tuple(models), kind=np.array(kinds, dtype=np.int64), period=period, shares=shares)

    def __len__(self) -> int:
        return len(self.kind)

    def ways_of(self, job: int) -> tuple[PlanWay, ...]:
        """Return the plans of a job, the fastest first; none where it runs without."""
        return self.of[self.kinds[job]].ways

    @property
    def are_planned(self) -> bool:
        """Whether any job runs by plans."""
        return any(model.ways for model in self.of)


@recalled
def models_of(round_: Round, rules: JointRules) -> Models:
    """Return the models of the jobs of a round; what is wrong with one is refused."""
    return Models.read(round_.jobs, round_.cluster.total_gpus, full=rules.full, powers=rules.powers)
