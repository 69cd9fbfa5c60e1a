"""All plans of a round in columns: what each takes, whether its job may run by it, and what that is worth.

It is what :mod:`.plan_choices` reads job by job, for rounds in which no job asks anything of nodes and every plan has
equal parts. Values are estimated in floating point; where an estimate does not tell a whole number for certain, it is
worked out exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Plan, Round
from muri_opt.verify.amounts import need_of
from muri_opt.verify.plans.next_configurations import Steps, is_stepwise, may_step_to, steps_left, tasks_of
from muri_opt.verify.plans.places import Places, Spot
from muri_opt.verify.plans.plan_parts import Entry, Piece, entries_of, strategy_of
from muri_opt.verify.plans.value import Planned, check_ranked, is_shut, kept_of, one_value, reference_of, worth_by_plans

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

_MILLION: Final = 1_000_000
_BILLION: Final = 1_000_000_000
_MOST: Final = 1e12
_SURE: Final = 1e-12
"""An estimate this far from a whole number, relative to it, is on the right side of that."""
_WORD: Final = 1 << 62
_strategy = lru_cache(maxsize=4096)(strategy_of)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MenuColumns:
    """Plan i is one of job ``owner[i]``; those of job j stand from ``begin[j]`` to ``begin[j + 1]``.

    ``pieces[i]``, or ``each[i]``, is what each of its ``parts[i]`` parts takes, on nodes of ``spots[kind[i]]``. A job
    may run by it if ``open[i]``, and could then be on the nodes it holds if ``stays[i]``; ``away[i]`` and ``home[i]``
    are what that is worth.
    """

    plans: Sequence[Plan]
    owner: Ints
    begin: Ints
    kind: Ints
    spots: Sequence[Spot]
    pieces: Ints
    each: Sequence[Piece]
    parts: Ints
    open: Bools
    stays: Bools
    away: Ints
    home: Ints

    @property
    def best(self) -> Ints:
        """The most that each plan is worth."""
        return np.where(self.stays, np.maximum(self.away, self.home), self.away)

    def entry(self, place: int) -> Entry:
        """Return one of the plans with its parts."""
        return Entry(self.plans[place], self.each[place])


def read_columns(round_: Round, planned: Planned, places: Places) -> MenuColumns | None:
    """Return the plans of a round in columns, ``None`` where jobs must be read one by one, or are to be refused."""
    jobs = round_.jobs
    if places.asked is not None or any(job.nodes is not None or not job.plans for job in jobs):
        return None
    try:
        return _read(round_, planned, places)
    except InputError:
        return None


def _read(round_: Round, planned: Planned, places: Places) -> MenuColumns | None:
    jobs = round_.jobs
    plans = [plan for job in jobs for plan in job.plans or ()]
    begin = np.concatenate([[0], np.cumsum([len(job.plans or ()) for job in jobs])]).astype(np.int64)
    owner = np.repeat(np.arange(len(jobs)), np.diff(begin))
    parts = np.array([plan.nodes for plan in plans], dtype=np.int64)
    gpus = np.array([plan.gpus for plan in plans], dtype=np.int64)
    if np.any(gpus % parts) or not all(map(_are_distinct, jobs)):
        return None
    needs = [need_of(job) for job in jobs]
    usual = np.array([(need.milli, need.mebibytes) for need in needs], dtype=np.int64).reshape(-1, 2)[owner]
    milli = _said([plan.cpus for plan in plans], 1000, gpus * usual[:, 0])
    mebibytes = _said([plan.memory_gib for plan in plans], 1024, gpus * usual[:, 1])
    pieces = np.column_stack([gpus // parts, (milli + parts - 1) // parts, (mebibytes + parts - 1) // parts])
    kinds: dict[tuple[str, ...] | None, int] = {}
    kind = np.array([kinds.setdefault(plan.types, len(kinds)) for plan in plans], dtype=np.int64)
    types = places.floor.types
    spots = [frozenset(at for at, one in enumerate(types) if some is None or one in some) for some in kinds]
    fits = _fitting(places, kind, spots, pieces, parts)
    speed = np.array([plan.throughput for plan in plans], dtype=np.float64)
    promise = np.array([0.0 if job.guarantee is None else job.guarantee.throughput for job in jobs])
    open_ = fits & (speed >= promise[owner]) & _changes(round_, planned, plans, owner) & _steps(jobs, planned, begin)
    stays = np.zeros(len(plans), dtype=np.bool_)
    for place, job in enumerate(jobs):
        if job.state == "running" and job.placement:
            stays[begin[place] : begin[place + 1]] = [_is_present(job, plan) for plan in job.plans or ()]
    values = _Values(round_, planned, plans, owner, begin, speed, fits, open_)
    return MenuColumns(
        plans=plans,
        owner=owner,
        begin=begin,
        kind=kind,
        spots=spots,
        pieces=pieces,
        each=list(map(Piece._make, pieces.tolist())),
        parts=parts,
        open=open_,
        stays=stays,
        away=values.found(restart=True),
        home=values.found(restart=False),
    )


def _are_distinct(job: Job) -> bool:
    """Return whether the plans of a job differ so that no decision confuses them; refuse them if some do not."""
    plans = job.plans or ()
    named = len({plan.name for plan in plans}) == len(plans)
    if not named and len({(plan.name, plan.gpus, plan.nodes) for plan in plans}) < len(plans):
        entries_of(job)
    return True


def _said(amounts: Sequence[float | None], unit: int, usual: Ints) -> Ints:
    """Return amounts in parts of a unit, where nothing is said the usual ones."""
    told = np.array(amounts, dtype=np.float64)
    return np.where(np.isnan(told), usual, np.rint(np.nan_to_num(told) * unit).astype(np.int64))


def _fitting(places: Places, kind: Ints, spots: Sequence[Spot], pieces: Ints, parts: Ints) -> Bools:
    """Return which plans have room for all their parts in the empty cluster; those alike are looked at once."""
    key, width = kind, len(spots)
    for column in (*pieces.T, parts):
        top = int(column.max(initial=0)) + 1
        key, width = key * top + column, width * top
    if width >= _WORD:
        _, first, back = np.unique(
            np.column_stack([kind, pieces, parts]), axis=0, return_index=True, return_inverse=True
        )
    else:
        _, first, back = np.unique(key, return_index=True, return_inverse=True)
    rows = [places.floor.free[sorted(spot)] for spot in spots]
    able = [
        np.count_nonzero((rows[int(kind[place])] >= pieces[place]).all(axis=1)) >= parts[place]
        for place in first.tolist()
    ]
    return np.array(able, dtype=np.bool_)[back.reshape(-1)]


def _changes(round_: Round, planned: Planned, plans: Sequence[Plan], owner: Ints) -> Bools:
    """Return which plans are of the strategy and of the GPUs that the policy leaves to their jobs."""
    may = np.ones(len(plans), dtype=np.bool_)
    jobs, change = round_.jobs, planned.change
    if change in ("resources", "neither"):
        if any(job.plan is None for job in jobs):
            raise InputError("plan", "nothing", "the plan it was given")
        own = [_strategy(job.plan or "") for job in jobs]
        same = (_strategy(plan.name) == own[job] for plan, job in zip(plans, owner.tolist(), strict=True))
        may &= np.fromiter(same, dtype=np.bool_, count=len(plans))
    if change in ("plans", "neither"):
        asks = np.array([job.gpus for job in jobs], dtype=np.int64)
        may &= np.array([plan.gpus for plan in plans], dtype=np.int64) == asks[owner]
    return may


def _steps(jobs: Sequence[Job], planned: Planned, begin: Ints) -> Bools:
    """Return which plans are no further than the policy lets jobs go from what they have."""
    may = np.ones(int(begin[-1]), dtype=np.bool_)
    if planned.change not in ("same", "neighbours", "configurations") and not planned.counts_time:
        return may
    near = _Near(planned)
    for place, job in enumerate(jobs):
        may[begin[place] : begin[place + 1]] = near.of(job)
    return may


class _Near:
    """Which plans jobs may go to; jobs with plans of the same names that have the same one are looked at once."""

    def __init__(self, planned: Planned) -> None:
        self._planned = planned
        self._known: dict[tuple[object, ...], list[bool]] = {}

    def of(self, job: Job) -> list[bool]:
        """Return for each plan of a job whether it may run by it next."""
        planned, plans = self._planned, job.plans or ()
        key = (job.plan, steps_left(job) is None, tuple((plan.name, plan.gpus) for plan in plans))
        found = self._known.get(key)
        if found is None:
            told = _tell_tasks(plans)
            entries = () if told else entries_of(job)
            steps = Steps.of(job, entries) if is_stepwise(planned.change) else None
            if told and (is_stepwise(planned.change) or planned.change == "same" or planned.objective == "service"):
                _check_shares(plans)
            found = [
                may_step_to(job, plan, steps, planned.change, planned.objective, switch=planned.switch)
                for plan in plans
            ]
            if told:  # else the order of plans goes by what they take, which names do not tell
                self._known[key] = found
        return found


def _tell_tasks(plans: Sequence[Plan]) -> bool:
    try:
        for plan in plans:
            tasks_of(plan.name)
    except InputError:
        return False
    return True


def _check_shares(plans: Sequence[Plan]) -> None:
    for plan in plans:
        tasks = tasks_of(plan.name)
        if tasks.workers * tasks.shares != plan.gpus:
            raise InputError("plans", str(plan.gpus), "the GPUs that the name tells")


def _is_present(job: Job, plan: Plan) -> bool:
    """Return whether a job runs by a plan now, by its name, its nodes and the GPUs on each."""
    held = job.placement or {}
    each = plan.gpus // plan.nodes
    return plan.name == job.plan and len(held) == plan.nodes and all(gpus == each for gpus in held.values())


class _Values:
    """What plans are worth, of those that are open; others count nothing."""

    def __init__(
        self,
        round_: Round,
        planned: Planned,
        plans: Sequence[Plan],
        owner: Ints,
        begin: Ints,
        speed: Floats,
        fits: Bools,
        open_: Bools,
    ) -> None:
        self._round, self._planned, self._plans, self._owner, self._speed = round_, planned, plans, owner, speed
        self._open, jobs = open_, round_.jobs
        runs = [job.state == "running" and bool(job.placement) for job in jobs]
        told = list(zip(jobs, runs, strict=True))
        lost = [round((job.restart_seconds or 0.0) * _MILLION) if run else 0 for job, run in told]
        self._lost = np.array(lost, dtype=np.float64)
        self._parts: Floats = np.full(len(jobs), _MILLION, dtype=np.float64)
        if planned.counts_others or (planned.objective == "throughput" and planned.power is None):
            gate = planned.gate
            shut = [gate is not None and run and is_shut(job, gate) for job, run in told]
            self._lost = np.where(shut, float(planned.horizon), self._lost)
            if planned.counts_others:
                for job in jobs:
                    check_ranked(job, planned)
                worth = worth_by_plans(round_, planned.objective)
                self._parts = np.array([float(worth[job.id][0]) for job in jobs])
                self._base = np.array([float(worth[job.id][1]) for job in jobs])
            elif planned.reference == "best":
                top = np.maximum.reduceat(np.where(fits, speed, 0.0), begin[:-1]) if len(plans) else np.zeros(0)
                self._base = np.where(top > 0, top, 1.0)
            else:
                self._base = np.array([float(reference_of(job, planned, ())) for job in jobs])
        elif planned.power is not None:
            self._base = np.full(len(jobs), np.inf)
            np.minimum.at(self._base, owner[open_], speed[open_])
            kept = (float(kept_of(round_, job)) if run else 1.0 for job, run in told)
            self._kept = np.fromiter(kept, dtype=np.float64, count=len(jobs))
        elif planned.counts_time:
            self._units = _units(jobs, plans, owner) if planned.objective == "service" else np.full(len(plans), 100.0)
        self._fits, self._begin = fits, begin

    def found(self, *, restart: bool) -> Ints:
        """Return the values, with or without a restart."""
        planned, owner, speed = self._planned, self._owner, self._speed
        lost = self._lost[owner] if restart else np.zeros(len(owner))
        with np.errstate(divide="ignore", invalid="ignore"):
            if planned.objective == "completions":
                estimate = np.minimum(_BILLION / (self._left() / speed + lost / _MILLION), 2 * _MOST)
                whole = self._whole(np.where(estimate > 1.5 * _MOST, _MOST + 0.5, estimate), restart)
                return np.where(self._open, np.clip(whole, 1, int(_MOST)), 0)
            if planned.counts_time:
                estimate = self._units * (self._left() / speed + lost / _MILLION)
                return -self._whole(np.where(estimate == 0, 0.5, estimate), restart)
            if planned.power is not None:
                kept = self._kept[owner] if restart else np.ones(len(owner))
                ratio = speed * kept / self._base[owner]
                cost = _MILLION / (np.sqrt(ratio) if planned.power == "-0.5" else ratio)
                cost = np.where((kept == 1.0) & (speed == self._base[owner]), _MILLION + 0.5, cost)
                return self._whole(np.where(cost >= 1_100_001, 0.5, 1_100_001 - cost), restart)
        part = np.maximum(0.0, planned.horizon - lost) / planned.horizon
        base, parts = self._base[owner], self._parts[owner]
        estimate = speed / base * parts * part
        if planned.horizon < _WORD // max(1, int(parts.max(initial=0))):
            left = np.maximum(0, planned.horizon - lost.astype(np.int64))
            estimate = np.where(speed == base, left * parts.astype(np.int64) // planned.horizon + 0.5, estimate)
        return self._whole(np.where(part == 0.0, 0.5, estimate), restart)

    def _left(self) -> Floats:
        """Return the iterations left of each plan's job; under time, those of an unpredictable one count as none."""
        jobs, by_time = self._round.jobs, self._planned.counts_time
        if not by_time and any(job.remaining_iterations is None for job in jobs):
            raise InputError("remaining_iterations", "nothing", "the iterations that are left")
        left = [(steps_left(job) if by_time else job.remaining_iterations) or 0 for job in jobs]
        return np.array(left, dtype=np.float64)[self._owner]

    def _whole(self, estimate: Floats, restart: bool) -> Ints:
        """Return the whole part of each estimate of an open plan, exactly."""
        return whole_parts(estimate, self._open, lambda place: self._exact(place, restart=restart))

    def _exact(self, place: int, *, restart: bool) -> int:
        """Return the absolute value of one plan, exactly."""
        job = int(self._owner[place])
        span = range(int(self._begin[job]), int(self._begin[job + 1]))
        fitting = [self._plans[one] for one in span if self._fits[one]]
        allowed = [self._plans[one] for one in span if self._open[one]]
        return abs(one_value(self._round, job, self._planned, fitting, allowed, self._plans[place], restart=restart))


def _units(jobs: Sequence[Job], plans: Sequence[Plan], owner: Ints) -> Floats:
    """Return the service units a second of each plan, by its tasks or, where names do not tell them, by its nodes."""
    told = [_tell_tasks(job.plans or ()) for job in jobs]
    units = (
        tasks_of(plan.name).units if told[job] else 10 * plan.gpus + 5 * plan.nodes
        for plan, job in zip(plans, owner.tolist(), strict=True)
    )
    return np.fromiter(units, dtype=np.float64, count=len(plans))


def whole_parts(estimate: Floats, some: Bools, exact: Callable[[int], int]) -> Ints:
    """Return the whole part of some estimates, 0 for the others; one too near to a whole number is asked for."""
    below = np.floor(estimate)
    clear = (estimate - below > estimate * _SURE) & (below + 1 - estimate > estimate * _SURE)
    found = np.where(some & clear, below, 0.0).astype(np.int64)
    for place in np.flatnonzero(some & ~clear).tolist():
        found[place] = exact(place)
    return found
