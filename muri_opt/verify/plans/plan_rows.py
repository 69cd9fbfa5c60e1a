"""What the plans of jobs say, in rows of numbers; those of jobs that keep their plans are read once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from threading import Lock
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Plan
from muri_opt.rounds.kept_by_object import KeptByObject
from muri_opt.rounds.stacked_rows import RowStack, Stacked
from muri_opt.verify.amounts import need_of
from muri_opt.verify.plans.next_configurations import tasks_of
from muri_opt.verify.plans.plan_parts import entries_of, strategy_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

PARTS, GPUS, PIECE_GPUS, PIECE_MILLI, PIECE_MIB, NAME, STRATEGY, TYPES = range(8)
"""The columns of a row: nodes, GPUs in all, what a part takes, and the numbers of its name, strategy and GPU types."""
_WORDS: Final = 200_000
_SETS: Final = 4096
"""Sets of names that are remembered."""
_strategy = lru_cache(maxsize=4096)(strategy_of)


class _Told(NamedTuple):
    """What names of plans tell: servers, workers, shares and if there are any; GPUs in all; and service units."""

    steps: Ints
    gpus: Ints
    units: Floats


@lru_cache(maxsize=_SETS)
def _told_by(names: tuple[str, ...]) -> _Told | None:
    """Return what names tell, which many jobs have in common; ``None`` where one tells no servers and workers."""
    try:
        tasks = [tasks_of(name) for name in names]
    except InputError:
        return None
    steps = np.array([(*one, one.shares > 0) for one in tasks], dtype=np.int64).reshape(-1, 4)
    gpus = np.array([one.workers * one.shares for one in tasks], dtype=np.int64)
    return _Told(steps, gpus, np.array([one.units for one in tasks], dtype=np.float64))


@dataclass(frozen=True, kw_only=True, eq=False)
class PlanRows:
    """The plans of one job: a row of ``numbers`` and the ``speed`` of each."""

    plans: Sequence[Plan]
    numbers: Ints
    speed: Floats

    @cached_property
    def _told(self) -> _Told | None:
        """What all names tell, if they tell servers and workers."""
        return _told_by(tuple([plan.name for plan in self.plans]))

    @cached_property
    def steps(self) -> Ints:
        """Where each plan is: servers, workers, shares; or its place, 0, 0 in the order of plans. Then if it has GPUs.

        Plans that do not have the GPUs that their names tell are refused.
        """
        rows = self.numbers
        if self._told is not None:
            if (self._told.gpus != rows[:, GPUS]).any():
                raise InputError("plans", "GPUs", "the GPUs that the name tells")
            return self._told.steps
        total = rows[:, [PIECE_MILLI, PIECE_MIB]] * rows[:, [PARTS]]
        takes = zip(rows[:, GPUS].tolist(), *total.T.tolist(), (plan.name for plan in self.plans), strict=True)
        least: dict[str, tuple[int, int, int, str]] = {}
        for one in takes:
            least[one[3]] = min(one, least.get(one[3], one))
        place = {name: at for at, name in enumerate(sorted(least, key=lambda name: least[name]))}
        told_rows = [(place[plan.name], 0, 0, least[plan.name][0] > 0) for plan in self.plans]
        return np.array(told_rows, dtype=np.int64).reshape(-1, 4)

    @cached_property
    def units(self) -> Floats:
        """The service units a second of each plan, by its tasks or, where names do not tell them, by its nodes."""
        if self._told is not None:
            return self._told.units
        return (10 * self.numbers[:, GPUS] + 5 * self.numbers[:, PARTS]).astype(np.float64)


class PlanReader:
    """Rows of jobs by their plans, and the numbers of names."""

    def __init__(self) -> None:
        self._rows = KeptByObject[PlanRows]()
        self._stack = RowStack()
        self._number: dict[object, int] = {}
        self.types: list[tuple[str, ...] | None] = []
        self._type_numbers: dict[tuple[str, ...] | None, int] = {}
        self._lock = Lock()  # numbers are given one at a time

    @property
    def is_full(self) -> bool:
        """Whether it knows so many names that it is to begin anew."""
        return len(self._number) > _WORDS or len(self.types) > _WORDS

    def number(self, word: str | None) -> int:
        """Return the number of a name, -1 where no plan has it."""
        return self._number.get(word, -1)

    def numbers(self, words: Iterable[str | None]) -> Ints:
        """Return the numbers of many names."""
        known = self._number
        return np.array([known.get(word, -1) for word in words], dtype=np.int64)

    def read(self, jobs: Sequence[Job]) -> list[PlanRows] | None:
        """Return the rows of each job; ``None`` where a plan has unequal parts, and an error where two are alike."""
        self._rows.expect(len(jobs))
        besides = ((job.gpus, job.cpus, job.memory_gib) for job in jobs)
        found = self._rows.get_all([job.plans for job in jobs], besides)
        missing = [job for job, rows in zip(jobs, found, strict=True) if rows is None]
        if missing:
            new = self._new(missing)
            if new is None:
                return None
            rest = iter(new)
            return [next(rest) if rows is None else rows for rows in found]
        return [rows for rows in found if rows is not None]

    def stacked(self, rows: Sequence[PlanRows]) -> Stacked:
        """Return the arrays of the rows of all jobs, one below the other."""
        return self._stack.of(rows, [len(one.plans) for one in rows])

    def _new(self, jobs: Sequence[Job]) -> list[PlanRows] | None:
        plans = [plan for job in jobs for plan in job.plans or ()]
        count = [len(job.plans or ()) for job in jobs]
        begin = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
        owner = np.repeat(np.arange(len(jobs)), count)
        parts = np.array([plan.nodes for plan in plans], dtype=np.int64)
        gpus = np.array([plan.gpus for plan in plans], dtype=np.int64)
        if np.any(gpus % parts):
            return None
        for job in jobs:
            _check_distinct(job)
        needs = [need_of(job) for job in jobs]
        usual = np.array([(need.milli, need.mebibytes) for need in needs], dtype=np.int64).reshape(-1, 2)[owner]
        milli = _said([plan.cpus for plan in plans], 1000, gpus * usual[:, 0])
        mebibytes = _said([plan.memory_gib for plan in plans], 1024, gpus * usual[:, 1])
        number, kinds = self._number, self._type_numbers
        with self._lock:
            names = [number.setdefault(plan.name, len(number)) for plan in plans]
            strategies = [number.setdefault((_strategy(plan.name),), len(number)) for plan in plans]
            types = [kinds.setdefault(plan.types, len(kinds)) for plan in plans]
            self.types += list(kinds)[len(self.types) :]
        columns = (parts, gpus, gpus // parts, -(-milli // parts), -(-mebibytes // parts), names, strategies, types)
        numbers = np.column_stack(columns).astype(np.int64)
        speed = np.array([plan.throughput for plan in plans], dtype=np.float64)
        found = []
        for job, first, end in zip(jobs, begin[:-1].tolist(), begin[1:].tolist(), strict=True):
            mine = numbers[first:end].copy(), speed[first:end].copy()  # else one job would keep all of them
            rows = PlanRows(plans=job.plans or (), numbers=mine[0], speed=mine[1])
            self._rows.put(job.plans, (job.gpus, job.cpus, job.memory_gib), rows)
            found.append(rows)
        return found

    def strategy(self, name: str) -> int:
        """Return the number of the strategy of a plan's name."""
        return self._number.get((_strategy(name),), -1)


_KEPT: list[PlanReader] = []


def reader() -> PlanReader:
    """Return what reads plans, with what it read before; it begins anew when it knows too many names."""
    if not _KEPT or _KEPT[0].is_full:
        _KEPT[:] = [PlanReader()]
    return _KEPT[0]


def _check_distinct(job: Job) -> None:
    """Refuse plans of a job that a decision could confuse."""
    plans = job.plans or ()
    named = len({plan.name for plan in plans}) == len(plans)
    if not named and len({(plan.name, plan.gpus, plan.nodes) for plan in plans}) < len(plans):
        entries_of(job)


def _said(amounts: Sequence[float | None], unit: int, usual: Ints) -> Ints:
    """Return amounts in parts of a unit, where nothing is said the usual ones."""
    told = np.array(amounts, dtype=np.float64)
    return np.where(np.isnan(told), usual, np.rint(np.nan_to_num(told) * unit).astype(np.int64))
