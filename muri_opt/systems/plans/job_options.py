"""The ways one job may run, read by itself."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.plans.completion_scales import check_ranked, completion_scales
from muri_opt.systems.plans.next_configurations import next_names, reads_names, remaining_cost
from muri_opt.systems.plans.plan_ladder import Configuration, steps_of
from muri_opt.systems.plans.plan_parts import Entry, Larger, check_strategy, entries_of, is_home, may_run
from muri_opt.systems.plans.plan_places import PlanPlaces
from muri_opt.systems.plans.plan_rules import BY_WORTH, COMPLETIONS, PlanRules
from muri_opt.systems.plans.plan_value import (
    MILLION,
    completion_worth,
    fair_worth,
    kept_after_restart,
    reference_of,
    worth,
)
from muri_opt.systems.plans.restart_gate import is_shut

_HOME: Final = -1
"""Stands for the nodes that a job holds, where others have a kind of places."""


class Fitting(NamedTuple):
    """A plan that fits the empty cluster, and the kinds of places it fits; none where the job can only stay."""

    entry: Entry
    kinds: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class JobPlans:
    """What a job's plans are on a cluster, whatever the job has done: those that fit it empty, and what names tell."""

    job: Job
    fitting: tuple[Fitting, ...]

    @cached_property
    def configurations(self) -> Mapping[str, Configuration]:
        """What the plans of each name are to a policy that goes step by step."""
        return steps_of(self.job)

    @cached_property
    def fastest(self) -> Mapping[str, float]:
        """The largest throughput of the plans of each name, on any nodes."""
        found: dict[str, float] = {}
        for plan in self.job.plans or ():
            found[plan.name] = max(found.get(plan.name, 0.0), plan.throughput)
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class JobOptions:
    """The options of a job, in rows of (plan, q, g, c, m, e, kind) under the letters of the chapter *planning*.

    Where a plan has parts of two sizes, g, c and m are of the smaller ones, and ``larger`` has the others by row.
    Those ``at_home`` are for the nodes the job holds. ``best`` and ``least`` are the largest and smallest value.
    """

    plans: JobPlans
    rows: Ints
    larger: Mapping[int, Larger]
    at_home: NDArray[np.bool_]
    throughput: NDArray[np.float64]
    best: int
    least: int

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def ways(self) -> Mapping[Configuration, Sequence[int]]:
        """The options of each configuration as they are to be tried: without a restart, then on the fewest nodes."""
        plans, known = self.plans.job.plans or (), self.plans.configurations
        found: dict[Configuration, list[int]] = {}
        position = self.rows[:, 0].tolist()
        for o in np.lexsort((self.rows[:, 1], ~self.at_home)).tolist():
            found.setdefault(known[plans[position[o]].name], []).append(o)
        return found

    @cached_property
    def smallest(self) -> Mapping[Hashable, Configuration]:
        """Of each family, the smallest configuration: of the fewest tasks and servers, or the lowest rung."""
        found: dict[Hashable, Configuration] = {}
        for at in sorted(self.ways, key=lambda at: at.size):
            found.setdefault(at.family, at)
        return found


class ReadOnDemand(Sequence["JobOptions"]):
    """The options of each job of a round by themselves, read when they are asked for: few ever are."""

    def __init__(self, round_: Round, rules: PlanRules) -> None:
        self._reader, self._rules = JobReader(round_), rules
        self._known: list[JobOptions | None] = [None] * len(round_.jobs)

    def __len__(self) -> int:
        return len(self._known)

    @overload
    def __getitem__(self, job: int) -> JobOptions: ...

    @overload
    def __getitem__(self, job: slice) -> Sequence[JobOptions]: ...

    def __getitem__(self, job: int | slice) -> JobOptions | Sequence[JobOptions]:
        if isinstance(job, slice):
            return [self[one] for one in range(len(self))[job]]
        known = self._known[job]
        if known is None:
            known = self._known[job] = self._reader.options(range(len(self))[job], self._rules)
        return known


class JobReader:
    """Reads the jobs of a round."""

    def __init__(self, round_: Round) -> None:
        self._round = round_
        self.places = PlanPlaces(round_)

    def options(self, position: int, rules: PlanRules) -> JobOptions:
        """Return the options of a job, refusing plans that contradict each other."""
        job = self._round.jobs[position]
        fitting = (Fitting(entry, self.places.kinds(position, entry)) for entry in entries_of(job))
        plans = JobPlans(job=job, fitting=tuple(one for one in fitting if one.kinds or self._keeps(job, one.entry)))
        return self._read(position, plans, rules)

    def _keeps(self, job: Job, entry: Entry) -> bool:
        """Return whether a job may stay by a plan by which it could not start."""
        return self.places.are_asked and self.places.keeps(job, entry)

    def _read(self, position: int, plans: JobPlans, rules: PlanRules) -> JobOptions:
        job = plans.job
        check_strategy(job, rules.change)
        known = plans.configurations if reads_names(rules) else {}
        names = next_names(job, rules, known)
        found = [
            (entry, kind)
            for entry, kinds in plans.fitting
            if (names is None or entry.plan.name in names) and may_run(job, entry.plan, rules.change)
            for kind in ((_HOME, *kinds) if is_home(job, entry) else kinds)
        ]
        ways = [(entry, kind == _HOME) for entry, kind in found]
        values = self._values(position, [entry for entry, _ in plans.fitting], ways, rules, known)
        rows = [
            (entry.position, entry.plan.nodes, *entry.part, value, self._kind_of(entry, kind))
            for (entry, kind), value in zip(found, values, strict=True)
        ]
        return JobOptions(
            plans=plans,
            rows=np.array(rows, dtype=np.int64).reshape(len(rows), 7),
            larger={row: entry.larger for row, (entry, _) in enumerate(ways) if entry.larger is not None},
            at_home=np.array([at_home for _, at_home in ways], dtype=np.bool_),
            throughput=np.array([entry.plan.throughput for entry, _ in ways], dtype=np.float64),
            best=max(values, default=0),
            least=min(values, default=0),
        )

    def _kind_of(self, entry: Entry, kind: int) -> int:
        """Return the kind of places of a way; a job at home may be on all nodes of the plan's GPU types that it has."""
        return kind if kind != _HOME else self.places.by_type(entry.plan) or 0

    def _values(
        self,
        position: int,
        fitting: Sequence[Entry],
        ways: Sequence[tuple[Entry, bool]],
        rules: PlanRules,
        known: Mapping[str, Configuration],
    ) -> list[int]:
        """Return what each way is worth; where remaining times count, what that costs, negative."""
        job = self._round.jobs[position]
        restarts = job.state == "running" and bool(job.placement)
        lost = microseconds(job.restart_seconds or 0.0) if restarts else 0
        if rules.objective == COMPLETIONS:
            return [completion_worth(job, entry.plan, 0 if at_home else lost) for entry, at_home in ways]
        if rules.counts_time:
            return [-remaining_cost(job, entry.plan, 0 if at_home else lost, rules, known) for entry, at_home in ways]
        if rules.power is not None:
            lowest = min((entry.plan.throughput for entry, _ in ways), default=1.0)
            kept = kept_after_restart(self._round, job) if restarts else Fraction(1)
            return [
                fair_worth(entry.plan.throughput, lowest, Fraction(1) if at_home else kept, rules.power)
                for entry, at_home in ways
            ]
        if rules.objective in BY_WORTH:
            check_ranked(job, rules.objective)
            own = completion_scales(self._round, rules.objective)[position]
            scale, stands = own.each, own.stands(rules.horizon)
        else:
            stands = rules.horizon
            scale = MILLION / reference_of(job, [entry.plan for entry in fitting], rules.reference)
        if rules.gate is not None and restarts and is_shut(job, rules.gate):
            lost = stands
        return [worth(entry.plan.throughput, scale, 0 if at_home else lost, stands) for entry, at_home in ways]


def check_plans(alone: Round, rules: PlanRules) -> None:
    """Refuse a job whose plans contradict each other, or lack what the rules go by."""
    reader = JobReader(alone)
    for position, job in enumerate(alone.jobs):
        try:
            reader.options(position, rules)
        except InputError as error:
            raise error.inside(f"jobs[{position}] ({job.id!r})") from None
