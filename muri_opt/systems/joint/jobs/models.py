"""The models of a round's jobs as arrays: jobs of the same model have one row."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.kept_by_object import KeptByObject
from muri_opt.rounds.memoise import recalled
from muri_opt.systems.joint.jobs.job_model import JobModel, model_of
from muri_opt.systems.joint.jobs.model_rows import STAGES, Row, numbers_of, row_of, rows_of
from muri_opt.systems.joint.jobs.plan_ways import NO_PLANS, PlanWay, RankedPlans
from muri_opt.systems.joint.jobs.plans_at_once import plan_rows_of
from muri_opt.systems.joint.rules import JointRules
from muri_opt.systems.whole_quotients import MOST_QUOTIENT, quotient_up

Ways = tuple[PlanWay, ...]
_Known = tuple[Row, RankedPlans]
_KNOWN: Final = {(full, powers): KeptByObject[_Known]() for full in (False, True) for powers in (False, True)}
"""Rows and plans of models by what jobs keep from round to round, where stages are full or not, and GPUs powers of
two or not."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Models:
    """The models of a round's jobs: that of job j is the one at ``kind[j]``.

    ``period[t, k]`` are nanoseconds, 0 where a job of model t cannot have k GPUs of the cluster; ``shares[t]`` says
    whether it can be in a group, ``stages[t]`` are then the times of its stages in a period of ``base[t]``.
    ``least[t]`` are the fewest GPUs it can have, of this cluster or a larger one, ``first[t]`` its period with those,
    and ``largest[t]`` the end of its table. ``plans[t]`` are those it runs by, if any. Numbers that a
    word has no room for are whole numbers of Python. ``are_planned`` says whether any job runs by plans. ``counts`` are
    the numbers of GPUs that a job of any model can have, ``kinds`` is ``kind`` as a list, to be read one at a time, and
    ``timed`` has the periods and orders of groups on so many GPUs that were asked for.
    """

    kind: Ints
    period: NDArray[Any]
    shares: NDArray[np.bool_]
    stages: NDArray[Any]
    base: NDArray[Any]
    least: Ints
    first: NDArray[Any]
    largest: Ints
    plans: tuple[RankedPlans, ...]
    are_planned: bool
    counts: Ints
    rows: tuple[Row, ...] = field(repr=False)
    kinds: list[int] = field(repr=False)
    _by_plans: list[bool] = field(repr=False)
    timed: dict[tuple[tuple[int, ...], int], tuple[int, tuple[int, ...]]] = field(default_factory=dict, repr=False)
    _models: dict[int, JobModel] = field(default_factory=dict, repr=False)
    _ways: dict[int, Ways] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, jobs: Sequence[Job], most_gpus: int, *, full: bool, powers: bool) -> Models:
        """Return the models on a cluster of so many GPUs; what is wrong with a job is told with its place."""
        kinds, rows, plans = _kinds(_known(jobs, full=full, powers=powers))
        planned = [own is not NO_PLANS for own in plans]
        numbers, end = _numbers(rows)
        begin = np.append(0, end)[:-1]
        count: Ints = numbers[begin + 1].astype(np.int64)
        shares = count >= 0
        head = begin + STAGES + np.maximum(count, 0)
        stages = np.zeros((len(rows), int(count.max(initial=0))), dtype=numbers.dtype)
        stages[shares] = numbers[(begin[shares] + STAGES)[:, None] + np.arange(stages.shape[1])]
        length = end - head
        width = 1 + min(most_gpus, int(length.max(initial=1)) - 1)
        # Beyond the end of a row are the numbers of the next one, which are none of its periods.
        period = numbers.take(head[:, None] + np.arange(width), mode="clip")
        short = np.flatnonzero(length < width)
        period[short] *= np.arange(width) < length[short, None]
        least = _first_above_0(numbers, head)
        return cls(
            kind=np.array(kinds, dtype=np.int64),
            period=period,
            shares=shares,
            stages=stages,
            base=numbers[begin],
            least=least,
            first=numbers[head + least],
            largest=length - 1,
            plans=tuple(plans),
            are_planned=any(planned),
            counts=np.flatnonzero(period.any(axis=0)),
            rows=tuple(rows),
            kinds=kinds,
            _by_plans=[planned[kind] for kind in kinds],
        )

    def __len__(self) -> int:
        return len(self.kind)

    def model(self, kind: int) -> JobModel:
        """Return one of the models by itself."""
        known = self._models.get(kind)
        if known is None:
            base, count, *rest = numbers_of(self.rows[kind])
            stages = tuple(rest[:count]) if count >= 0 else None
            period = tuple(rest[max(count, 0) :])
            known = self._models[kind] = JobModel(period=period, stages=stages, base=base, plans=self.plans[kind])
        return known

    def of_each_job(self, told: NDArray[Any]) -> NDArray[Any]:
        """Return what is told of each model in a row of its own, in a row for each job."""
        return told if len(told) == len(self.kind) else told.take(self.kind, axis=0)  # else each is the next job's

    def stages_on(self, kinds: Ints, gpus: Ints) -> NDArray[Any]:
        """Return ``[..., r]``, the times of the stages of models on so many GPUs each."""
        times, period, base = self.stages[kinds], self.period[kinds, gpus][..., None], self.base[kinds][..., None]
        about = times.astype(np.float64) * period.astype(np.float64)
        if times.dtype == object or (about >= base * float(MOST_QUOTIENT)).any():
            whole: NDArray[Any] = -(-times.astype(object) * period.astype(object) // base.astype(object))
            return whole
        return quotient_up(times * period, about, base)

    def runs_by_plans(self, job: int) -> bool:
        """Return whether a job runs by plans."""
        return self._by_plans[job]

    def plans_of(self, job: int) -> RankedPlans:
        """Return the plans of a job, the fastest first; none where it runs without."""
        return self.plans[self.kinds[job]]

    def ways_of(self, job: int) -> Ways:
        """Return the same, plan by plan."""
        kind = self.kinds[job]
        known = self._ways.get(kind)
        if known is None:
            known = self._ways[kind] = self.plans[kind].ways
        return known


def _known(jobs: Sequence[Job], *, full: bool, powers: bool) -> list[_Known]:
    """Return the rows of jobs and the plans they run by, from a round before if they kept their tables or plans."""
    known = _KNOWN[full, powers]
    known.expect(len(jobs))
    return known.all_of(_keys(jobs), jobs, lambda places: _read(jobs, places, full=full, powers=powers))


def _keys(jobs: Sequence[Job]) -> list[tuple[int, *tuple[Hashable, ...]]]:
    """Return what the models of jobs depend on: the very table and stages, or plans, that each keeps, and numbers."""
    return [
        (id(job.scaling), id(job.stage_seconds), job.gpus, job.iteration_seconds)
        if job.plans is None
        else (id(job.plans), job.gpus, job.cpus, job.memory_gib, job.guarantee)
        for job in jobs
    ]


def _read(jobs: Sequence[Job], places: Sequence[int], *, full: bool, powers: bool) -> list[_Known]:
    """Return the rows of the jobs at some places: of all at once, and by itself of each of which that cannot be."""
    some = [jobs[place] for place in places]
    planned = [at for at, job in enumerate(some) if job.plans is not None]
    if not planned:
        read = _without_plans(some, full=full, powers=powers)
    else:
        plain = [at for at, job in enumerate(some) if job.plans is None]
        read = [None] * len(some)
        for at, known in zip(plain, _without_plans([some[at] for at in plain], full=full, powers=powers), strict=True):
            read[at] = known
        for at, known in zip(planned, plan_rows_of([some[at] for at in planned]), strict=True):
            read[at] = known
    return [
        _read_alone(jobs, place, full, powers) if known is None else known
        for place, known in zip(places, read, strict=True)
    ]


def _without_plans(jobs: Sequence[Job], *, full: bool, powers: bool) -> list[_Known | None]:
    """Return the rows of jobs without plans, ``None`` of each that is to be read by itself."""
    return [None if row is None else (row, NO_PLANS) for row in rows_of(jobs, full=full, powers=powers)]


def _read_alone(jobs: Sequence[Job], place: int, full: bool, powers: bool) -> _Known:
    """Return the row of one job, or refuse it with its place."""
    try:
        model = model_of(jobs[place], full=full, powers=powers)
    except InputError as error:
        raise error.inside(f"jobs[{place}] ({jobs[place].id!r})") from None
    return row_of(model), model.plans


def _kinds(known: Sequence[_Known]) -> tuple[list[int], list[Row], list[RankedPlans]]:
    """Return the number of each job's model, in the order of their first jobs, and rows and plans of the models."""
    if all(own is NO_PLANS for _, own in known):  # as in most rounds: told without a look at each job
        number = {row: kind for kind, row in enumerate(dict.fromkeys([row for row, _ in known]))}
        return [number[row] for row, _ in known], [*number], [NO_PLANS] * len(number)
    plain: dict[Row, int] = {}
    planned: dict[Row, list[int]] = {}
    kinds, rows, plans = list[int](), list[Row](), list[RankedPlans]()
    for row, own in known:
        if own is NO_PLANS:
            kind = plain.setdefault(row, len(rows))
        else:
            alike = planned.setdefault(row, [])
            kind = next((at for at in alike if plans[at] == own), len(rows))
            if kind == len(rows):
                alike.append(kind)
        if kind == len(rows):
            rows.append(row)
            plans.append(own)
        kinds.append(kind)
    return kinds, rows, plans


def _numbers(rows: Sequence[Row]) -> tuple[NDArray[Any], Ints]:
    """Return the numbers of rows one after another, and where each row ends."""
    words = [row for row in rows if isinstance(row, bytes)]
    if len(words) == len(rows):
        every: NDArray[Any] = np.frombuffer(b"".join(words), dtype=np.int64)
        return every, np.cumsum([len(row) for row in words], dtype=np.int64) // every.itemsize
    whole = [numbers_of(row) for row in rows]
    return np.array([*chain.from_iterable(whole)], dtype=object), np.cumsum([len(row) for row in whole], dtype=np.int64)


def _first_above_0(numbers: NDArray[Any], begin: Ints) -> Ints:
    """Return how far the next number above 0 is behind each of some places, at least one further."""
    found = np.ones(len(begin), dtype=np.int64)
    later = np.flatnonzero(numbers[begin + 1] <= 0)
    if len(later):
        places = np.flatnonzero(numbers > 0)
        found[later] = places[np.searchsorted(places, begin[later])] - begin[later]
    return found


@recalled
def models_of(round_: Round, rules: JointRules) -> Models:
    """Return the models of the jobs of a round; what is wrong with one is refused."""
    return Models.read(round_.jobs, round_.cluster.total_gpus, full=rules.full, powers=rules.powers)


def check_models(alone: Round, rules: JointRules) -> None:
    """Refuse a job that has no model; what is remembered of other rounds stays as it is."""
    for place in range(len(alone.jobs)):
        _read_alone(alone.jobs, place, rules.full, rules.powers)
