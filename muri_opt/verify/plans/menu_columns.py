"""All plans of a round in columns: what each takes, whether its job may run by it, and what that is worth.

It is what :mod:`.plan_choices` reads job by job, for rounds in which no job asks anything of nodes and every plan has
equal parts. Values are estimated in floating point; where an estimate does not tell a whole number for certain, it is
worked out exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.stacked_rows import Stacked
from muri_opt.verify.plans.next_configurations import is_stepwise, steps_left
from muri_opt.verify.plans.places import Places, Spot
from muri_opt.verify.plans.plan_parts import Entry, Piece
from muri_opt.verify.plans.plan_rows import (
    GPUS,
    NAME,
    PARTS,
    PIECE_GPUS,
    PIECE_MIB,
    STRATEGY,
    TYPES,
    PlanReader,
    PlanRows,
    reader,
)
from muri_opt.verify.plans.room_counts import alike, nodes_with_room
from muri_opt.verify.plans.value import (
    Planned,
    check_ranked,
    is_shut,
    kept_of,
    may_not_stop,
    one_value,
    reference_of,
    stands_for,
    worth_by_plans,
)

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

_MILLION: Final = 1_000_000
_BILLION: Final = 1_000_000_000
_MOST: Final = 1e12
_SURE: Final = 1e-13
"""An estimate this far from a whole number, relative to it, is on the right side of that: it has few roundings."""
_WORD: Final = 1 << 62


@dataclass(frozen=True, kw_only=True, eq=False)
class MenuColumns:
    """Plan i is one of job ``owner[i]``; those of job j stand from ``begin[j]`` to ``begin[j + 1]``.

    ``pieces[i]`` is what each of its ``parts[i]`` parts takes, on nodes of ``spots[kind[i]]``, which are those s where
    ``hosts[kind[i], s]``; plans of equal pieces and kinds have one ``look[i]``, and ``looks`` are the first plans of
    each. ``name[i]`` is the number of its name, as ``words`` tells. A job may run by it if ``open[i]``, and could then
    be on the nodes it holds if ``stays[i]``; ``away[i]`` and, for one that stays, ``home[i]`` are what that is worth.
    """

    jobs: Sequence[Job]
    words: PlanReader
    owner: Ints
    begin: Ints
    kind: Ints
    look: Ints
    looks: Ints
    spots: Sequence[Spot]
    hosts: Bools
    name: Ints
    pieces: Ints
    parts: Ints
    open: Bools
    stays: Bools
    away: Ints
    home: Ints

    @cached_property
    def best(self) -> Ints:
        """The most that each plan is worth."""
        return np.where(self.stays, np.maximum(self.away, self.home), self.away)

    def entry(self, place: int) -> Entry:
        """Return one of the plans with its parts."""
        job = int(self.owner[place])
        plan = (self.jobs[job].plans or ())[place - int(self.begin[job])]
        return Entry(plan, Piece._make(self.pieces[place].tolist()))


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
    jobs, words = round_.jobs, reader()
    rows = words.read(jobs)
    if rows is None:
        return None
    stacked = words.stacked(rows)
    begin, numbers = stacked.begins, stacked.column("numbers", np.zeros((0, TYPES + 1), dtype=np.int64))
    owner = np.repeat(np.arange(len(jobs)), np.diff(begin))
    parts, gpus, name = numbers[:, PARTS], numbers[:, GPUS], numbers[:, NAME]
    pieces = numbers[:, PIECE_GPUS : PIECE_MIB + 1]
    known, kind = np.unique(numbers[:, TYPES], return_inverse=True)
    kind = kind.reshape(-1)
    types = places.floor.types
    sets = [words.types[some] for some in known.tolist()]
    spots = [frozenset(at for at, one in enumerate(types) if some is None or one in some) for some in sets]
    hosts = np.zeros((len(spots), len(types)), dtype=np.bool_)
    for place, spot in enumerate(spots):
        hosts[place, list(spot)] = True
    first, look = alike(np.column_stack([kind, pieces]))
    fits = nodes_with_room(places.floor.free, hosts, kind[first], pieces[first])[look] >= parts
    speed = stacked.column("speed", np.zeros(0))
    promise = np.array([0.0 if job.guarantee is None else job.guarantee.throughput for job in jobs])
    open_ = fits & (speed >= promise[owner])
    if planned.change in ("plans", "neither"):
        open_ &= gpus == np.array([job.gpus for job in jobs], dtype=np.int64)[owner]
    if planned.change in ("resources", "neither"):
        if any(job.plan is None for job in jobs):
            raise InputError("plan", "nothing", "the plan it was given")
        own = np.array([words.strategy(job.plan or "") for job in jobs], dtype=np.int64)
        open_ &= numbers[:, STRATEGY] == own[owner]
    present = words.numbers([job.plan for job in jobs])[owner] == name
    open_ &= _near(jobs, planned, stacked, owner, present)
    stays = present & _as_held(jobs, owner, parts, pieces[:, 0])
    values = _Values(round_, planned, rows, stacked, owner, speed, fits, open_)
    away = values.found(open_, restart=True)
    home = np.where(stays, values.found(open_ & stays, restart=False), away)
    if planned.gate is not None:
        best = np.zeros(len(jobs), dtype=np.int64)
        np.maximum.at(best, owner[open_], np.where(stays, np.maximum(away, home), away)[open_])
        firm = np.array([may_not_stop(job, planned) for job in jobs], dtype=np.bool_)
        home = home + np.where(stays & firm[owner], 1 + sum(best.tolist()), 0)
    return MenuColumns(
        jobs=jobs,
        words=words,
        owner=owner,
        begin=begin,
        kind=kind,
        look=look,
        looks=first,
        spots=spots,
        hosts=hosts,
        name=name,
        pieces=pieces,
        parts=parts,
        open=open_,
        stays=stays,
        away=away,
        home=home,
    )


def _near(jobs: Sequence[Job], planned: Planned, rows: Stacked, owner: Ints, present: Bools) -> Bools:
    """Return which plans are no further than the policy lets jobs go from what they have, their ``present`` plans."""
    change = planned.change
    stepwise = is_stepwise(change)
    if not stepwise and change != "same" and not planned.counts_time:
        return np.ones(len(owner), dtype=np.bool_)
    fixed = np.array([change == "same" or steps_left(job) is None for job in jobs], dtype=np.bool_)
    if any(job.plan is None for job in jobs if stepwise or change == "same" or steps_left(job) is None):
        raise InputError("plan", "nothing", "the configuration it has")
    steps = rows.column("steps", np.zeros((0, 4), dtype=np.int64))
    if not stepwise:
        return np.where(fixed[owner], present, True)
    here = np.zeros((len(jobs), 4), dtype=np.int64)
    some = np.flatnonzero(present)
    here[owner[some]] = steps[some]
    if len(np.unique(owner[some])) < len(jobs):
        raise InputError("plan", "another one", "one of its plans")
    apart = np.abs(steps - here[owner])
    near = np.ones(len(owner), dtype=np.bool_) if change == "configurations" else apart[:, :3].sum(axis=1) <= 1
    if not planned.switch:
        near &= apart[:, 3] == 0
    return np.where(fixed[owner], present, near)


def _as_held(jobs: Sequence[Job], owner: Ints, parts: Ints, gpus: Ints) -> Bools:
    """Return which plans have as many parts as their job holds nodes, with the GPUs that it holds on each."""
    nodes, each = np.zeros(len(jobs), dtype=np.int64), np.full(len(jobs), -1, dtype=np.int64)
    for place, job in enumerate(jobs):
        if job.state == "running" and job.placement:
            sizes = set(job.placement.values())
            nodes[place], each[place] = len(job.placement), sizes.pop() if len(sizes) == 1 else -1
    held: Bools = (parts == nodes[owner]) & (gpus == each[owner])
    return held


class _Values:
    """What plans are worth, of those that are open; others count nothing."""

    def __init__(
        self,
        round_: Round,
        planned: Planned,
        rows: Sequence[PlanRows],
        stacked: Stacked,
        owner: Ints,
        speed: Floats,
        fits: Bools,
        open_: Bools,
    ) -> None:
        self._round, self._planned, self._rows, self._owner, self._speed = round_, planned, rows, owner, speed
        self._open, jobs, begin = open_, round_.jobs, stacked.begins
        runs = [job.state == "running" and bool(job.placement) for job in jobs]
        told = list(zip(jobs, runs, strict=True))
        lost = np.array([(job.restart_seconds or 0.0) if run else 0.0 for job, run in told], dtype=np.float64)
        self._lost = np.rint(lost * _MILLION)
        self._parts: Floats = np.full(len(jobs), _MILLION, dtype=np.float64)
        if planned.counts_others or (planned.objective == "throughput" and planned.power is None):
            gate = planned.gate
            shut = [gate is not None and run and is_shut(job, gate) for job, run in told]
            stands = [planned.horizon] * len(jobs)
            if planned.counts_others:
                for job in jobs:
                    check_ranked(job, planned)
                worth = worth_by_plans(round_, planned.objective)
                self._parts = np.array([float(worth[job.id][0]) for job in jobs])
                self._base = np.array([float(worth[job.id][1]) for job in jobs])
                stands = [stands_for(job, planned, worth[job.id][1]) for job in jobs]
            elif planned.reference == "best":
                top = np.maximum.reduceat(np.where(fits, speed, 0.0), begin[:-1]) if len(owner) else np.zeros(0)
                self._base = np.where(top > 0, top, 1.0)
            else:
                self._base = np.array([float(reference_of(job, planned, ())) for job in jobs])
            self._stands = stands
            self._lost = np.where(shut, np.array(stands, dtype=np.float64), self._lost)
        elif planned.power is not None:
            self._base = np.full(len(jobs), np.inf)
            np.minimum.at(self._base, owner[open_], speed[open_])
            kept = (float(kept_of(round_, job)) if run else 1.0 for job, run in told)
            self._kept = np.fromiter(kept, dtype=np.float64, count=len(jobs))
        elif planned.counts_time:
            self._units = np.full(len(owner), 100.0)
            if planned.objective == "service":
                self._units = stacked.column("units", np.zeros(0))
        self._fits, self._begin = fits, begin

    def found(self, some: Bools, *, restart: bool) -> Ints:
        """Return the values of some of the plans that are open, with or without a restart."""
        planned, owner, speed = self._planned, self._owner, self._speed
        lost = self._lost[owner] if restart else np.zeros(len(owner))
        with np.errstate(divide="ignore", invalid="ignore"):
            if planned.objective == "completions":
                estimate = np.minimum(_BILLION / (self._left() / speed + lost / _MILLION), 2 * _MOST)
                whole = self._whole(np.where(estimate > 1.5 * _MOST, _MOST + 0.5, estimate), some, restart)
                return np.where(some, np.clip(whole, 1, int(_MOST)), 0)
            if planned.counts_time:
                left = self._left()
                estimate = self._units * (left / speed + lost / _MILLION)
                if max(1, int(self._units.max(initial=0))) < _WORD // max(1, int(lost.max(initial=0))):
                    paused = self._units.astype(np.int64) * lost.astype(np.int64) // _MILLION
                    estimate = np.where(left == 0, paused + 0.5, estimate)
                return -self._whole(np.where(estimate == 0, 0.5, estimate), some, restart)
            if planned.power is not None:
                kept = self._kept[owner] if restart else np.ones(len(owner))
                ratio = speed * kept / self._base[owner]
                cost = _MILLION / (np.sqrt(ratio) if planned.power == "-0.5" else ratio)
                cost = np.where((kept == 1.0) & (speed == self._base[owner]), _MILLION + 0.5, cost)
                return self._whole(np.where(cost >= 1_100_001, 0.5, 1_100_001 - cost), some, restart)
        stands = np.array(self._stands, dtype=np.float64)[owner]
        part = np.maximum(0.0, stands - lost) / stands
        base, parts = self._base[owner], self._parts[owner]
        estimate = speed / base * parts * part
        if planned.horizon < _WORD // max(1, int(parts.max(initial=0))):
            whole = np.array(self._stands, dtype=np.int64)[owner]
            left = np.maximum(0, whole - lost.astype(np.int64))
            estimate = np.where(speed == base, left * parts.astype(np.int64) // whole + 0.5, estimate)
        return self._whole(np.where(part == 0.0, 0.5, estimate), some, restart)

    def _left(self) -> Floats:
        """Return the iterations left of each plan's job; under time, those of an unpredictable one count as none."""
        jobs, by_time = self._round.jobs, self._planned.counts_time
        if not by_time and any(job.remaining_iterations is None for job in jobs):
            raise InputError("remaining_iterations", "nothing", "the iterations that are left")
        left = [(steps_left(job) if by_time else job.remaining_iterations) or 0 for job in jobs]
        return np.array(left, dtype=np.float64)[self._owner]

    def _whole(self, estimate: Floats, some: Bools, restart: bool) -> Ints:
        """Return the whole part of the estimate of some plans, exactly."""
        return whole_parts(estimate, some, lambda place: self._exact(place, restart=restart))

    def _exact(self, place: int, *, restart: bool) -> int:
        """Return the absolute value of one plan, exactly."""
        job, first = int(self._owner[place]), int(self._begin[int(self._owner[place])])
        plans = self._rows[job].plans
        others = () if self._planned.counts_alone else enumerate(plans)
        told = [(plan, self._fits[first + at], self._open[first + at]) for at, plan in others]
        fitting, allowed = [plan for plan, fits, _ in told if fits], [plan for plan, _, open_ in told if open_]
        plan = plans[place - first]
        return abs(one_value(self._round, job, self._planned, fitting, allowed, plan, restart=restart))


def whole_parts(estimate: Floats, some: Bools, exact: Callable[[int], int]) -> Ints:
    """Return the whole part of some estimates, 0 for the others; one too near to a whole number is asked for."""
    below = np.floor(estimate)
    clear = (estimate - below > estimate * _SURE) & (below + 1 - estimate > estimate * _SURE)
    found = np.where(some & clear, below, 0.0).astype(np.int64)
    for place in np.flatnonzero(some & ~clear).tolist():
        found[place] = exact(place)
    return found
