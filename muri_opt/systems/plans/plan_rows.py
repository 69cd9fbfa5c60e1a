"""The plans of single jobs as rows of numbers, read once for as long as a job keeps its plans."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain
from threading import Lock
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Plan
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.kept_by_object import KeptByObject
from muri_opt.rounds.quantities import MIB_PER_GIB, MILLI_PER_CPU, mebibytes, milli_cpus
from muri_opt.rounds.stacked_rows import RowStack, Stacked
from muri_opt.systems.plans.plan_ladder import Configuration, steps_of
from muri_opt.systems.plans.plan_parts import entries_of
from muri_opt.systems.plans.plan_rules import strategy

Floats = NDArray[np.float64]
T = TypeVar("T")

NODES, TOTAL, GPUS, MILLI, MIB, NAME, STRATEGY, TYPES = range(8)
"""Columns of a row: nodes, GPUs in all, what a part takes, and the numbers of its name, strategy and GPU types."""
_NAMES: Final = 200_000
"""Names that have a number; when there are more, all is read anew."""
_strategy = lru_cache(maxsize=4096)(strategy)
_STEPWISE: Final = KeptByObject[tuple[Ints, Floats]]()
"""The positions and service units of plans by their configurations."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ReadPlans:
    """The plans of a job by their names; a job like it has the same."""

    job: Job
    known: dict[Hashable, object] = field(default_factory=dict)
    """What a policy remembers of these plans."""

    @property
    def plans(self) -> Sequence[Plan]:
        """The plans themselves."""
        return self.job.plans or ()

    @cached_property
    def configurations(self) -> Mapping[str, Configuration]:
        """What the plans of each name are to a policy that goes step by step."""
        return steps_of(self.job)

    @cached_property
    def fastest(self) -> Mapping[str, float]:
        """The largest throughput of the plans of each name, on any nodes."""
        found: dict[str, float] = {}
        for plan in self.plans:
            found[plan.name] = max(found.get(plan.name, 0.0), plan.throughput)
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class PlanRows(ReadPlans):
    """The plans of a job in rows: ``numbers`` has one for each, ``throughput`` its speed."""

    numbers: Ints
    throughput: Floats

    @property
    def positions(self) -> Ints:
        """Where each plan is: three numbers of which a step changes one by one, and whether it has GPUs."""
        return self._stepwise[0]

    @property
    def units(self) -> Floats:
        """The service units a second of each plan."""
        return self._stepwise[1]

    @cached_property
    def _stepwise(self) -> tuple[Ints, Floats]:
        """The positions and units; plans of the same names and GPUs have the very same configurations."""
        found = _STEPWISE.get(self.configurations, None)
        if found is None:
            steps = [(self.configurations[plan.name], plan) for plan in self.plans]
            positions = [(*step.position, step.kind == "gpu") for step, _ in steps]
            units = np.array([step.units(plan) for step, plan in steps], dtype=np.float64)
            found = np.array(positions, dtype=np.int64).reshape(-1, 4), units
            _STEPWISE.put(self.configurations, None, found)
        return found


class PlanRowReader:
    """What was read of plans, and the numbers that names of plans, their strategies and GPU types have."""

    def __init__(self) -> None:
        self._known = KeptByObject[PlanRows]()
        self._stack = RowStack()
        self._names: dict[str, int] = {}
        self._strategies: dict[str, int] = {}
        self._types: dict[tuple[str, ...] | None, int] = {}
        self._lock = Lock()  # two threads must not give the same number

    @property
    def is_full(self) -> bool:
        """Whether there are more names than are to be remembered."""
        return len(self._names) + len(self._types) > _NAMES

    @property
    def types(self) -> list[tuple[str, ...] | None]:
        """The GPU types of plans by their numbers."""
        return list(self._types)

    def names(self, jobs: Iterable[Job]) -> Ints:
        """Return the numbers of the names of the plans that jobs have, -1 where no plan has it."""
        known = self._names
        return np.array([-1 if job.plan is None else known.get(job.plan, -1) for job in jobs], dtype=np.int64)

    def strategy(self, name: str) -> int:
        """Return the number of the strategy that a plan's name tells, -1 where no plan has it."""
        return self._strategies.get(_strategy(name), -1)

    def rows(self, jobs: Sequence[Job]) -> list[PlanRows] | None:
        """Return the rows of each job; ``None`` where a plan has parts of two sizes, or two contradict each other."""
        self._known.expect(len(jobs))
        besides = ((job.gpus, job.cpus, job.memory_gib) for job in jobs)
        found = self._known.get_all([job.plans for job in jobs], besides)
        places = [place for place, rows in enumerate(found) if rows is None]
        if places:
            new = self._read([jobs[place] for place in places])
            if new is None:
                return None
            for place, rows in zip(places, new, strict=True):
                found[place] = rows
        return [rows for rows in found if rows is not None]

    def stacked(self, rows: Sequence[PlanRows]) -> Stacked:
        """Return the arrays of the rows of all jobs, one below the other."""
        return self._stack.of(rows, [len(one.throughput) for one in rows])

    def _read(self, jobs: Sequence[Job]) -> list[PlanRows] | None:
        every = [job.plans or () for job in jobs]
        plans = list(chain.from_iterable(every))
        job = np.repeat(np.arange(len(jobs)), [len(mine) for mine in every])
        total = np.array([plan.gpus for plan in plans], dtype=np.int64)
        nodes = np.array([plan.nodes for plan in plans], dtype=np.int64)
        if (total % nodes).any() or any(map(_clash, jobs)):
            return None
        share = np.array([max(one.gpus, 1) for one in jobs], dtype=np.int64)
        asked_milli = np.array([milli_cpus(one.cpus or 0.0) for one in jobs], dtype=np.int64)
        asked_mib = np.array([mebibytes(one.memory_gib or 0.0) for one in jobs], dtype=np.int64)
        milli = _amounts([plan.cpus for plan in plans], MILLI_PER_CPU, total * -(-asked_milli // share)[job])
        mib = _amounts([plan.memory_gib for plan in plans], MIB_PER_GIB, total * -(-asked_mib // share)[job])
        with self._lock:
            names = _numbered(self._names, [plan.name for plan in plans])
            strategies = _numbered(self._strategies, [_strategy(plan.name) for plan in plans])
            types = _numbered(self._types, [plan.types for plan in plans])
        part = (total // nodes, -(-milli // nodes), -(-mib // nodes))
        numbers = np.column_stack([nodes, total, *part, names, strategies, types]).astype(np.int64)
        throughput = np.array([plan.throughput for plan in plans], dtype=np.float64)
        ends = np.cumsum([len(mine) for mine in every])[:-1]
        found = []
        for one, mine, speeds in zip(jobs, np.split(numbers, ends), np.split(throughput, ends), strict=True):
            # Copied, as one job that stays for long would else keep the rows of all that came with it.
            rows = PlanRows(job=one, numbers=mine.copy(), throughput=speeds.copy())
            self._known.put(one.plans, (one.gpus, one.cpus, one.memory_gib), rows)
            found.append(rows)
        return found


_READER: list[PlanRowReader] = []


def plan_row_reader() -> PlanRowReader:
    """Return the reader of this process, a new one when it knows too many names."""
    if not _READER or _READER[0].is_full:
        _READER[:] = [PlanRowReader()]
    return _READER[0]


def read_plans(jobs: Sequence[Job]) -> Sequence[ReadPlans]:
    """Return what is known of the plans of each job."""
    rows = plan_row_reader().rows(jobs)
    return [ReadPlans(job=job) for job in jobs] if rows is None else rows


def _numbered(known: dict[T, int], words: Sequence[T]) -> list[int]:
    return [known.setdefault(word, len(known)) for word in words]


def _clash(job: Job) -> bool:
    """Return whether two plans of a job are such that a decision could not tell them apart."""
    plans = job.plans or ()
    if len({plan.name for plan in plans}) == len(plans):
        return False
    if len({(plan.name, plan.gpus, plan.nodes) for plan in plans}) == len(plans):
        return False
    try:
        entries_of(job)
    except InputError:
        return True
    return False


def _amounts(said: Sequence[float | None], unit: int, usual: Ints) -> Ints:
    """Return what plans say, in whole parts of a unit, or what is usual where they say nothing."""
    amounts = np.array(said, dtype=np.float64)  # nothing becomes NaN
    nothing = np.isnan(amounts)
    return np.where(nothing, usual, np.rint(np.where(nothing, 0.0, amounts) * unit).astype(np.int64))
