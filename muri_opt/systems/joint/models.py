"""The models of a round's jobs as arrays: jobs of the same model have one row."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
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
from muri_opt.systems.joint.job_model import JobModel, model_of
from muri_opt.systems.joint.model_rows import STAGES, Row, numbers_of, row_of, rows_of
from muri_opt.systems.joint.plan_ways import PlanWay
from muri_opt.systems.joint.rules import JointRules
from muri_opt.systems.whole_quotients import MOST_QUOTIENT, quotient_up

Ways = tuple[PlanWay, ...]
_Known = tuple[Row, Ways]
_KNOWN: Final = KeptByObject[_Known]()
"""The row of a model and its plans, by the very table or plans that a job keeps from round to round."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Models:
    """The models of a round's jobs: that of job j is the one at ``kind[j]``.

    ``period[t, k]`` are nanoseconds, 0 where a job of model t cannot have k GPUs of the cluster; ``shares[t]`` says
    whether it can be in a group, ``stages[t]`` are then the times of its stages in a period of ``base[t]``.
    ``least[t]`` are the fewest GPUs it can have, of this cluster or a larger one, ``first[t]`` its period with those,
    and ``largest[t]`` the end of its table. ``ways[t]`` are the plans it runs by, the fastest first. Numbers that a
    word has no room for are whole numbers of Python. ``kinds`` is ``kind`` as a list, to be read one at a time, and
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
    ways: tuple[Ways, ...]
    rows: tuple[Row, ...] = field(repr=False)
    kinds: list[int] = field(repr=False)
    timed: dict[tuple[tuple[int, ...], int], tuple[int, tuple[int, ...]]] = field(default_factory=dict, repr=False)
    _models: dict[int, JobModel] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, jobs: Sequence[Job], most_gpus: int, *, full: bool, powers: bool) -> Models:
        """Return the models on a cluster of so many GPUs; what is wrong with a job is told with its place."""
        kinds, rows, ways = _kinds(_known(jobs, full=full, powers=powers))
        numbers, end = _numbers(rows)
        begin = np.append(0, end)[:-1]
        count: Ints = numbers[begin + 1].astype(np.int64)
        shares = count >= 0
        head = begin + STAGES + np.maximum(count, 0)
        stages = np.zeros((len(rows), int(count.max(initial=0))), dtype=numbers.dtype)
        stages[shares] = numbers[(begin[shares] + STAGES)[:, None] + np.arange(stages.shape[1])]
        length = end - head
        width = 1 + min(most_gpus, int(length.max(initial=1)) - 1)
        there = np.arange(width) < length[:, None]
        period = np.zeros((len(rows), width), dtype=numbers.dtype)
        period[there] = numbers[(head[:, None] + np.arange(width))[there]]
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
            ways=tuple(ways),
            rows=tuple(rows),
            kinds=kinds,
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
            known = self._models[kind] = JobModel(period=period, stages=stages, base=base, ways=self.ways[kind])
        return known

    def stages_on(self, kinds: Ints, gpus: Ints) -> NDArray[Any]:
        """Return ``[..., r]``, the times of the stages of models on so many GPUs each."""
        times, period, base = self.stages[kinds], self.period[kinds, gpus][..., None], self.base[kinds][..., None]
        about = times.astype(np.float64) * period.astype(np.float64)
        if times.dtype == object or (about >= base * float(MOST_QUOTIENT)).any():
            whole: NDArray[Any] = -(-times.astype(object) * period.astype(object) // base.astype(object))
            return whole
        return quotient_up(times * period, about, base)

    def ways_of(self, job: int) -> Ways:
        """Return the plans of a job, the fastest first; none where it runs without."""
        return self.ways[self.kinds[job]]

    @property
    def are_planned(self) -> bool:
        """Whether any job runs by plans."""
        return any(self.ways)


def _known(jobs: Sequence[Job], *, full: bool, powers: bool) -> list[_Known]:
    """Return the rows of jobs and the plans they run by, from a round before if they kept their tables or plans."""
    _KNOWN.expect(len(jobs))
    keys = [_kept_by(job, full, powers) for job in jobs]
    found = [_KNOWN.get(*key) for key in keys]
    first: dict[tuple[int, Hashable], int] = {}
    for place, known in enumerate(found):
        if known is None:
            kept, said = keys[place]
            first.setdefault((id(kept), said), place)
    read = dict(zip(first, _read(jobs, [*first.values()], full=full, powers=powers), strict=True))
    for key, place in first.items():
        _KNOWN.put(*keys[place], read[key])
    return [known or read[id(kept), said] for known, (kept, said) in zip(found, keys, strict=True)]


def _kept_by(job: Job, full: bool, powers: bool) -> tuple[object, Hashable]:
    """Return the object that a job keeps from round to round, and what else its model depends on."""
    if job.plans is not None:
        return job.plans, (job.gpus, job.cpus, job.memory_gib, job.guarantee)
    return job.scaling, (job.gpus, job.iteration_seconds, job.stage_seconds, full, powers)


def _read(jobs: Sequence[Job], places: Sequence[int], *, full: bool, powers: bool) -> Iterator[_Known]:
    """Yield the rows of the jobs at some places: of all at once, and by itself of each that this is not possible of."""
    plain = [place for place in places if jobs[place].plans is None]
    rows = dict(zip(plain, rows_of([jobs[place] for place in plain], full=full, powers=powers), strict=True))
    for place in places:
        row = rows.get(place)
        if row is not None:
            yield row, ()
            continue
        try:
            model = model_of(jobs[place], full=full, powers=powers)
        except InputError as error:
            raise error.inside(f"jobs[{place}] ({jobs[place].id!r})") from None
        yield row_of(model), model.ways


def _kinds(known: Sequence[_Known]) -> tuple[list[int], list[Row], list[Ways]]:
    """Return the number of each job's model, in the order of their first jobs, and rows and plans of the models."""
    plain: dict[Row, int] = {}
    planned: dict[Row, list[int]] = {}
    kinds, rows, ways = list[int](), list[Row](), list[Ways]()
    for row, own in known:
        if own:
            alike = planned.setdefault(row, [])
            kind = next((at for at in alike if ways[at] == own), len(rows))
            if kind == len(rows):
                alike.append(kind)
        else:
            kind = plain.setdefault(row, len(rows))
        if kind == len(rows):
            rows.append(row)
            ways.append(own)
        kinds.append(kind)
    return kinds, rows, ways


def _numbers(rows: Sequence[Row]) -> tuple[NDArray[Any], Ints]:
    """Return the numbers of rows one after another, and where each row ends."""
    words = [row for row in rows if isinstance(row, bytes)]
    if len(words) == len(rows):
        every: NDArray[Any] = np.frombuffer(b"".join(words), dtype=np.int64)
        return every, np.cumsum([len(row) for row in words], dtype=np.int64) // every.itemsize
    whole = [numbers_of(row) for row in rows]
    return np.array([*chain.from_iterable(whole)], dtype=object), np.cumsum([len(row) for row in whole], dtype=np.int64)


def _first_above_0(numbers: NDArray[Any], begin: Ints) -> Ints:
    """Return how far the next number above 0 is behind each of some places."""
    places = np.flatnonzero(numbers > 0)
    return places[np.searchsorted(places, begin)] - begin


@recalled
def models_of(round_: Round, rules: JointRules) -> Models:
    """Return the models of the jobs of a round; what is wrong with one is refused."""
    return Models.read(round_.jobs, round_.cluster.total_gpus, full=rules.full, powers=rules.powers)
