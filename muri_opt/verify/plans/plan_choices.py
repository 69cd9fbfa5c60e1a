"""All ways the jobs of a round may run by their plans, and what a decision among them is worth."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import NamedTuple, TypeVar, overload

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds import Assignment, Decision, Job, Plan, Round
from muri_opt.rounds.memoise import last_recalled, recalled
from muri_opt.verify.demands import asked_of
from muri_opt.verify.plans.decision_rows import decision_rows
from muri_opt.verify.plans.menu_columns import MenuColumns, read_columns
from muri_opt.verify.plans.next_configurations import Steps, check_configurations, is_stepwise, may_step_to
from muri_opt.verify.plans.places import Places, Spot
from muri_opt.verify.plans.plan_parts import Entry, Piece, entries_of, keeps_promise, may_change_to
from muri_opt.verify.plans.value import Planned, may_not_stop, plan_values
from muri_opt.verify.priorities import weights_of


class Way(NamedTuple):
    """A plan a job may run by, its parts, and its value: ``away`` where it starts, ``home`` where it needs no restart.

    It may start inside one of the ``spots``; a job that could not start where it is may still stay there. What it is
    worth that a job runs at all, and that a promise is kept, comes on top: the job's bonus.
    """

    plan: Plan
    piece: Piece
    wide: Piece | None
    away: int
    home: int | None
    spots: tuple[Spot, ...]

    @property
    def entry(self) -> Entry:
        """The plan and its parts."""
        return Entry(self.plan, self.piece, self.wide)

    @property
    def best(self) -> int:
        """The most it is worth anywhere."""
        return self.away if self.home is None else max(self.away, self.home)


T = TypeVar("T")


class OnDemand(Sequence[T]):
    """So many things, each made when it is first asked for."""

    def __init__(self, count: int, make: Callable[[int], T]) -> None:
        self._make, self._made = make, dict[int, T]()
        self._places = range(count)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> T: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...

    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        if isinstance(place, slice):
            return [self[one] for one in self._places[place]]
        at = self._places[place]
        if at not in self._made:
            self._made[at] = self._make(at)
        return self._made[at]


class Order(NamedTuple):
    """All plans of a job, by what it ``asks`` for, and the ways it may run, by all it ``said``."""

    said: tuple[object, ...]
    asks: tuple[object, ...]
    entries: tuple[Entry, ...]
    ways: tuple[Way, ...]

    def staying(self, more: int) -> Order:
        """Return the same with the ways by which the job stays where it is worth more."""
        return self._replace(
            ways=tuple(way if way.home is None else way._replace(home=way.home + more) for way in self.ways)
        )

    @property
    def least(self) -> int:
        """The least that a way is worth."""
        return min((way.away for way in self.ways), default=0)

    @property
    def most(self) -> int:
        """The most that a way is worth."""
        return max((way.best for way in self.ways), default=0)


@dataclass(frozen=True, kw_only=True, eq=False)
class PlanChoices:
    """All plans of each job of a round, the ways it may run, and the nodes it holds now."""

    round_: Round
    planned: Planned
    orders: Sequence[Order]
    columns: MenuColumns | None = None

    @cached_property
    def entries(self) -> Sequence[tuple[Entry, ...]]:
        """All plans of each job."""
        return OnDemand(len(self.orders), lambda job: self.orders[job].entries)

    @cached_property
    def ways(self) -> Sequence[tuple[Way, ...]]:
        """The ways each job may run."""
        return OnDemand(len(self.orders), lambda job: self.orders[job].ways)

    @cached_property
    def extremes(self) -> tuple[list[int], list[int], list[bool]]:
        """The least and the most that a way of each job is worth, and whether it has any."""
        if self.columns is None:
            orders = self.orders
            return [one.least for one in orders], [one.most for one in orders], [bool(one.ways) for one in orders]
        columns, jobs = self.columns, len(self.round_.jobs)
        some = np.flatnonzero(columns.open)
        of, able = columns.owner[some], np.zeros(jobs, dtype=np.bool_)
        able[of] = True
        least, most = np.full(jobs, np.iinfo(np.int64).max), np.full(jobs, np.iinfo(np.int64).min)
        np.minimum.at(least, of, columns.away[some])
        np.maximum.at(most, of, columns.best[some])
        return np.where(able, least, 0).tolist(), np.where(able, most, 0).tolist(), able.tolist()

    @cached_property
    def bonus(self) -> tuple[int, ...]:
        """What each job is worth besides its way.

        Where remaining times count, more than the largest costs of all jobs together if it runs at all; if it has a
        guarantee, more than the best of all jobs together on top.
        """
        least, most, able = self.extremes
        runs = 1 - sum(least) if self.planned.counts_time else 0
        jobs = self.round_.jobs
        if all(job.guarantee is None for job in jobs):
            return (runs,) * len(jobs)
        kept = 1 + sum(worth + runs for worth, one in zip(most, able, strict=True) if one)
        return tuple(runs if job.guarantee is None else runs + kept for job in jobs)

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """What a unit of the value of each job, bonus and all, counts by its priority."""
        told = zip(self.bonus, *self.extremes[1:], strict=True)
        return weights_of(self.round_, [bonus + most if able else 0 for bonus, most, able in told])

    @cached_property
    def homes(self) -> tuple[frozenset[str], ...]:
        """The nodes each job holds."""
        return tuple(frozenset(_held(job)) for job in self.round_.jobs)

    @classmethod
    def of(cls, round_: Round, planned: Planned) -> PlanChoices:
        """Return the menu of a round, or refuse a job whose plans contradict themselves."""
        return _menu(round_, planned)

    @classmethod
    def read(cls, round_: Round, planned: Planned) -> PlanChoices:
        """Return the menu, of all jobs at once where that can be."""
        places = Places.of(round_)
        columns = read_columns(round_, planned, places)
        if columns is None:
            return cls.read_one_by_one(round_, planned, places)
        reader = _Orders(round_, columns, places)
        orders = OnDemand(len(round_.jobs), reader.of)
        return cls(round_=round_, planned=planned, orders=orders, columns=columns)

    @classmethod
    def read_one_by_one(cls, round_: Round, planned: Planned, places: Places) -> PlanChoices:
        """Return the menu, job by job; what the jobs of the last round had is not read again."""
        before = _orders_before(round_, planned)
        orders: list[Order] = []
        for position, job in enumerate(round_.jobs):
            said, last = _said(job), before.get(job.id)
            same = last is not None and last.said == said and not planned.counts_others
            if last is not None and same and (not _held(job) or not planned.counts_past):
                orders.append(last)
                continue
            try:
                mine = last.entries if last is not None and last.asks == _asks(job) else entries_of(job)
                check_configurations(job, planned.change, planned.objective)
                steps = Steps.of(job, mine) if is_stepwise(planned.change) else None
                allowed = [may_have(job, plan, planned, steps) and keeps_promise(job, plan) for plan, _, _ in mine]
                spots = [places.open_spots(job, entry) for entry in mine]
                held = held_nodes(round_, job)
                fits = [
                    bool(there) or (places.asked is not None and _at_home(job, entry) and places.keeps(held, entry))
                    for entry, there in zip(mine, spots, strict=True)
                ]
                chosen = [place for place, (fit, may) in enumerate(zip(fits, allowed, strict=True)) if fit and may]
                fitting = [entry.plan for entry, fit in zip(mine, fits, strict=True) if fit]
                values = plan_values(round_, job, planned, fitting, [mine[place].plan for place in chosen])
            except InputError as error:
                raise error.inside(f"jobs[{position}] ({job.id!r})") from None
            ways = tuple(
                Way(
                    *mine[place],
                    away if spots[place] else home,
                    home if _at_home(job, mine[place]) else None,
                    spots[place],
                )
                for place, (away, home) in zip(chosen, values, strict=True)
            )
            orders.append(Order(said, _asks(job), mine, ways))
        if planned.gate is not None:
            outweighs = 1 + sum(order.most for order in orders)
            told = zip(orders, round_.jobs, strict=True)
            orders = [one.staying(outweighs) if may_not_stop(job, planned) else one for one, job in told]
        return cls(round_=round_, planned=planned, orders=tuple(orders))

    def entry(self, round_: Round, position: int, assignment: Assignment) -> Entry | None:
        """Return the plan a job runs by in an assignment, allowed or not, or ``None`` where it has no such plan."""
        types = types_of(round_, assignment)
        return next(
            (
                entry
                for entry in self.entries[position]
                if has_shape(entry, assignment) and has_cpus(entry, assignment) and is_for(entry, types)
            ),
            None,
        )

    def value(self, round_: Round, decision: Decision) -> int:
        """Return what a decision is worth; what no job may do adds nothing, its breach is told elsewhere."""
        return _value(self, round_, decision)

    def value_of(self, round_: Round, decision: Decision) -> int:
        """Return the same, worked out anew."""
        columns = self.columns
        rows = None if columns is None else decision_rows(round_, columns, decision)
        if columns is not None and rows is not None:
            found = np.where(rows.home, columns.home[rows.plan], columns.away[rows.plan])
            bonus, weights = self.bonus, self.weights
            told = zip(rows.job.tolist(), found.tolist(), strict=True)
            return sum(weights[job] * (bonus[job] + one) for job, one in told)
        total = 0
        for assignment in decision.assignments:
            for position in (round_.job_index[job] for job in assignment.jobs[:1] if job in round_.job_index):
                entry = self.entry(round_, position, assignment)
                for way in self.ways[position]:
                    if entry is not None and way.plan is entry.plan:
                        home = way.home if self._is_home(position, way, assignment) else None
                        worth = self.bonus[position] + (way.away if home is None else home)
                        total += self.weights[position] * worth
        return total

    def _is_home(self, position: int, way: Way, assignment: Assignment) -> bool:
        """Return whether a job has its parts on the nodes it holds, each where it is now."""
        if self.homes[position] != set(assignment.gpus):
            return False
        return way.wide is None or dict(assignment.gpus) == _held(self.round_.jobs[position])


class _Orders:
    """The plans of single jobs and the ways they may run, from the columns of all."""

    def __init__(self, round_: Round, columns: MenuColumns, places: Places) -> None:
        self._jobs, self._columns, self._places = round_.jobs, columns, places

    def of(self, job: int) -> Order:
        """Return what one job may do."""
        columns = self._columns
        mine = slice(int(columns.begin[job]), int(columns.begin[job + 1]))
        entries = tuple(map(columns.entry, range(mine.start, mine.stop)))
        told = (columns.open, columns.away, columns.stays, columns.home)
        rows = zip(*(column[mine].tolist() for column in told), strict=True)
        ways = []
        for entry, (open_, away, stays_, home) in zip(entries, rows, strict=True):
            if open_:
                spots = self._places.spots(self._jobs[job], entry)
                ways.append(Way(*entry, away, home if stays_ else None, spots))
        return Order((), (), entries, tuple(ways))


_menu = last_recalled(PlanChoices.read)
_value = recalled(PlanChoices.value_of)
_COUNTED = ("attained_gpu_seconds", "executed_seconds", "waiting_seconds")
_SAID = tuple(name for name in Job.__struct_fields__ if name not in _COUNTED)


def _said(job: Job) -> tuple[object, ...]:
    """Return all that a job says but the times it ran and waited.

    They change with every round, and decide nothing but what a restart costs in Sia's program, if the job runs.
    """
    return tuple([getattr(job, name) for name in _SAID])


def _asks(job: Job) -> tuple[object, ...]:
    """Return all of a job that its plans and their parts depend on."""
    return job.plans, job.gpus, job.cpus, job.memory_gib


def _orders_before(round_: Round, planned: Planned) -> dict[str, Order]:
    """Return what the last round's jobs, by name, had on the same cluster if they were planned in the same way."""
    return {
        job.id: order
        for _, last in _menu.kept
        if last.columns is None
        and last.planned == planned
        and last.round_.cluster == round_.cluster
        and _asks_alike(last.round_, round_)
        for job, order in zip(last.round_.jobs, last.orders, strict=True)
    }


def _asks_alike(before: Round, now: Round) -> bool:
    """Return whether what jobs ask of nodes means the same in two rounds of one cluster: types and the time count."""
    if asked_of(before) is None or asked_of(now) is None:
        return asked_of(before) is asked_of(now)
    return before.now == now.now or "node.available_until" not in now.used_fields


def may_have(job: Job, plan: Plan, planned: Planned, steps: Steps | None) -> bool:
    """Return whether the policy lets the job run by the plan; ``steps`` say how its plans follow each other."""
    stepwise = may_step_to(job, plan, steps, planned.change, planned.objective, switch=planned.switch)
    return may_change_to(job, plan, planned.change) and stepwise


def has_shape(entry: Entry, assignment: Assignment) -> bool:
    """Return whether an assignment names the plan and has the GPUs of its parts, each on a node of its own."""
    given: Collection[int] = assignment.gpus.values()
    return assignment.plan == entry.plan.name and entry.has_parts(given)


def has_cpus(entry: Entry, assignment: Assignment) -> bool:
    """Return whether each node of an assignment gives the CPUs of a part."""
    given = [(gpus, assignment.cpus.get(node, 0.0) * 1000) for node, gpus in assignment.gpus.items()]
    return all(isfinite(cpus) and round(cpus) == entry.piece_with(gpus).milli for gpus, cpus in given)


def types_of(round_: Round, assignment: Assignment) -> set[str | None]:
    """Return the types of the GPUs of an assignment."""
    places = (round_.cluster.node_index.get(node) for node in assignment.gpus)
    return {round_.cluster.nodes[place].gpu_type for place in places if place is not None}


def is_for(entry: Entry, types: set[str | None]) -> bool:
    """Return whether the plan is for GPUs of these types; that they are of one type is another rule."""
    return entry.plan.types is None or types.issubset(entry.plan.types)


def stays(job: Job, entry: Entry, assignment: Assignment) -> bool:
    """Return whether a job goes on by the plan it has, on the nodes it holds."""
    return _at_home(job, entry) and dict(assignment.gpus) == _held(job)


def held_nodes(round_: Round, job: Job) -> dict[int, int]:
    """Return the GPUs a running job holds on each node, by the position of the node."""
    return {round_.cluster.node_index[node]: gpus for node, gpus in _held(job).items()}


def _held(job: Job) -> dict[str, int]:
    """Return the GPUs a running job holds on each node."""
    return dict(job.placement or {}) if job.state == "running" else {}


def _at_home(job: Job, entry: Entry) -> bool:
    """Return whether the job runs by the plan now, by all one can see: its name, its nodes and the GPUs on each."""
    if entry.plan.name != job.plan:
        return False
    held = _held(job)
    return bool(held) and entry.has_parts(held.values())
