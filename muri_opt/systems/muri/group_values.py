"""What a group is worth in the chapter *grouping*, by the name of the objective, in exact integers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.muri.interleaving import SLOWDOWN, periods_alone, slot_count, slowed_ratio
from muri_opt.systems.muri.ways import LOCK_STEP, Ways
from muri_opt.systems.policy import Rules

MILLIONTHS = 1_000_000
THOUSANDTHS = 1_000
UNITS: Final = {"efficiency": MILLIONTHS, "gpu-time": MILLIONTHS, "progress": THOUSANDTHS, "completion": 1}
"""By the name of the objective, how many parts of one its values count; weights by *completion* are parts already."""
_USUAL: Final = {
    "order": "srsf",
    "group": "4",
    "pattern": "cyclic",
    "slowdown": "none",
    "ordering": "best",
    "objective": "efficiency",
    "sizes": "equal",
    "restarts": "ignore",
    "horizon": "600",
    "run": "lock-step",
    "own": "cpu",
}
"""What rules that do not say otherwise mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRules:
    """Which groups there are and what they are worth.

    ``objective`` is ``efficiency``, ``gpu-time``, ``progress`` or ``completion``; ``sizes`` says whether the jobs of a
    group have ``equal`` GPU counts or ``mixed`` ones. ``worst_order`` seats the jobs of a group in their worst order.
    ``distinct`` keeps equal jobs apart, for programs that are not to take one for another. A group that changes running
    jobs is worth what their longest restart leaves of ``horizon`` microseconds; ``None``: restarts do not count.
    ``run`` and ``own`` say in which ways groups may run; :meth:`for_round` has the ``ways`` of a round.

    >>> GroupRules(order="srsf", largest_group=2, pattern="cyclic", slowdown="none").largest_group
    2
    """

    order: str
    largest_group: int
    pattern: str
    slowdown: str
    worst_order: bool = False
    objective: str = "efficiency"
    sizes: str = "equal"
    distinct: bool = False
    horizon: int | None = None
    run: str = "lock-step"
    own: str = "cpu"
    ways: Ways = LOCK_STEP

    @classmethod
    def of(cls, rules: Rules) -> GroupRules:
        """Return which groups there are by the rules of a result, and what they are worth."""
        said = _USUAL | dict(rules)
        return cls(
            order=said["order"],
            largest_group=int(said["group"]),
            pattern=said["pattern"],
            slowdown=said["slowdown"],
            worst_order=said["ordering"] == "worst",
            objective=said["objective"],
            sizes=said["sizes"],
            horizon=microseconds(float(said["horizon"])) if said["restarts"] == "pay" else None,
            run=said["run"],
            own=said["own"],
        )

    def for_round(self, round_: Round) -> GroupRules:
        """Return the same rules with the ways in which groups of the round may run."""
        return self if self.run == "lock-step" else replace(self, ways=Ways.of(round_, self.run, self.own))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Members:
    """The jobs of m groups of p jobs each: stage times and time alone in microseconds, GPUs, weight of the work.

    ``models`` are the numbers of their models; where groups run in lock step nobody asks for them.
    """

    stages: Ints
    alone: Ints
    gpus: Ints
    weight: Ints
    models: Ints | None = None

    def of(self, groups: Ints) -> Members:
        """Return some of the groups."""
        return Members(
            stages=self.stages[groups],
            alone=self.alone[groups],
            gpus=self.gpus[groups],
            weight=self.weight[groups],
            models=None if self.models is None else self.models[groups],
        )


def group_values(rules: GroupRules, members: Members) -> Ints:
    """Return the value of every group under the objective of the rules.

    *Efficiency* is the mean part of the resources in use on the GPUs of the group, in parts per million. *GPU time* is
    what the group saves against its jobs one after another, per second, in millionths of a GPU: nothing for a job
    alone. *Progress* is the speed of each job, relative to running alone, times its GPUs and the weight of its rank,
    in thousandths. *Completion* is the same speed times what a second of its work is worth for completion times, in
    millionths of a job. A group whose period is 0 is worth nothing.
    """
    return running(rules, members).values(members.gpus, members.gpus.max(axis=1))


def class_values(rules: GroupRules, members: Members, class_of: Ints, classes: int) -> list[Ints]:
    """Return what every group is worth to each class of priority, ``class_of[m, p]`` being that of a member.

    That is the part of its value that its jobs of the class add. The GPUs of a group, where they cost, are paid by its
    first class alone.
    """
    if classes == 1:
        return [group_values(rules, members)]
    runs, taken = running(rules, members), members.gpus.max(axis=1)
    first = class_of.min(axis=1)
    return [
        runs.values(np.where(class_of == one, members.gpus, 0), np.where(first == one, taken, 0))
        for one in range(classes)
    ]


def after_restart(values: Ints, restart: Ints, horizon: int) -> Ints:
    """Return the part of the values of groups that is left of a horizon after their restarts, rounded down."""
    if not restart.any():
        return values
    left = np.maximum(0, horizon - restart)
    largest = int(np.abs(values).max(initial=0)) * horizon
    kind = np.int64 if largest < 1 << 62 else object
    return np.asarray((values.astype(kind) * left.astype(kind) // horizon).astype(values.dtype))


class Running(Protocol):
    """How groups run, all of one size."""

    def values(self, gpus: Ints, paid: Ints) -> Ints:
        """Return values of groups in which members count with so many ``gpus``, and ``paid`` ones cost GPU time."""

    def rates(self) -> list[list[int] | None]:
        """Return the rates of the members of each group that runs freely, in parts per million; ``None`` for others."""


@dataclass(frozen=True, slots=True, eq=False)
class _InStep:
    """Groups that run slot by slot, at their periods."""

    rules: GroupRules
    members: Members
    periods: Ints

    def values(self, gpus: Ints, paid: Ints) -> Ints:
        return _values(self.rules, self.members, self.periods, gpus, paid)

    def rates(self) -> list[list[int] | None]:
        return [None] * len(self.periods)


@dataclass(frozen=True, slots=True, eq=False)
class _Freely:
    """Groups whose members run at rates of their own."""

    rules: GroupRules
    members: Members
    speeds: Ints

    def values(self, gpus: Ints, paid: Ints) -> Ints:
        return _free_values(self.rules, self.members, self.speeds, gpus, paid)

    def rates(self) -> list[list[int] | None]:
        return [*self.speeds.tolist()]


@dataclass(frozen=True, slots=True, eq=False)
class _Better:
    """Groups of which each runs in the way that is worth more to all its jobs together; in step, if that is equal."""

    in_step: Running
    freely: Running
    free: NDArray[np.bool_]

    def values(self, gpus: Ints, paid: Ints) -> Ints:
        return np.where(self.free, self.freely.values(gpus, paid), self.in_step.values(gpus, paid))

    def rates(self) -> list[list[int] | None]:
        return [rates if free else None for rates, free in zip(self.freely.rates(), self.free.tolist(), strict=True)]


def running(rules: GroupRules, members: Members) -> Running:
    """Return how groups run by the rules; a job alone is in step with itself."""
    count, size = members.stages.shape[:2]
    alone = size == 1
    in_step = None if rules.run == "free" and not alone else _InStep(rules, members, _periods(rules, members))
    if in_step is not None and (alone or rules.run == "lock-step"):
        return in_step
    models = np.full((count, size), -1, dtype=np.int64) if members.models is None else members.models
    freely = _Freely(rules, members, rules.ways.rates(members.stages, models))
    if in_step is None:
        return freely
    gpus, taken = members.gpus, members.gpus.max(axis=1)
    return _Better(in_step, freely, freely.values(gpus, taken) > in_step.values(gpus, taken))


def _periods(rules: GroupRules, members: Members) -> Ints:
    """Return the periods of groups in microseconds, not slowed down."""
    return periods_alone(members.stages, rules.pattern, worst=rules.worst_order)


def _values(rules: GroupRules, members: Members, periods: Ints, gpus: Ints, paid: Ints) -> Ints:
    """Return values of groups in which members count with so many ``gpus``, and ``paid`` ones cost GPU time."""
    size = members.stages.shape[1]
    factor = SLOWDOWN[rules.slowdown][size]
    if rules.objective == "efficiency":
        done = _product(gpus, members.stages.sum(axis=2)).sum(axis=1)
        slots = slot_count(rules.pattern, members.stages.shape[2])
        return slowed_ratio(done, _product(members.gpus.max(axis=1), periods), MILLIONTHS, slots, factor)
    if rules.objective == "gpu-time":
        if size == 1:
            return np.zeros(len(periods), dtype=np.int64)
        done = _product(gpus, members.alone).sum(axis=1)
        return np.where(periods > 0, slowed_ratio(done, periods, MILLIONTHS, 1, factor) - MILLIONTHS * paid, 0)
    unit = UNITS[rules.objective]
    weight = _weight(rules, members, gpus)
    if size == 1:
        return np.where(periods > 0, unit * weight[:, 0], 0)
    return slowed_ratio(_product(weight, members.alone).sum(axis=1), periods, unit, 1, factor)


def _free_values(rules: GroupRules, members: Members, rates: Ints, gpus: Ints, paid: Ints) -> Ints:
    """Return the same of groups that run freely: a rate takes the place of the time alone over the period."""
    times = members.stages.sum(axis=2)
    if rules.objective == "efficiency":
        slots = max(1, slot_count(rules.pattern, members.stages.shape[2]))
        value = _product(gpus, np.where(times > 0, rates, 0)).sum(axis=1) // (slots * members.gpus.max(axis=1))
    elif rules.objective == "gpu-time":
        value = _product(gpus, rates).sum(axis=1) - MILLIONTHS * paid
    else:
        weight = UNITS[rules.objective] * _weight(rules, members, gpus)
        value = _product(weight, rates).sum(axis=1) // MILLIONTHS
    return np.where(times.any(axis=1), value, 0).astype(np.int64)


def _weight(rules: GroupRules, members: Members, gpus: Ints) -> Ints:
    """Return what the speed of each member counts that has so many GPUs: by *completion*, the same with any."""
    return np.where(gpus > 0, members.weight, 0) if rules.objective == "completion" else gpus * members.weight


def _product(left: Ints, right: Ints) -> Any:
    """Return the product, in machine words where a sum of a few of them fits, else in Python's integers."""
    largest = int(left.max(initial=0)) * int(right.max(initial=0))
    kind = np.int64 if largest < 1 << 59 else object
    return left.astype(kind) * right.astype(kind)
