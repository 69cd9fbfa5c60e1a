"""What groups add, and their periods, in exact whole numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.jobs.cyclic_period import best_order, best_orders
from muri_opt.systems.joint.jobs.models import Models
from muri_opt.systems.joint.jobs.worth import SCALE, Worth
from muri_opt.systems.joint.rules import JointRules

Group = tuple[int, ...]
_LARGEST = 1 << 58
"""Times below it add up in a machine word, whatever the stages."""


class Place(NamedTuple):
    """Nodes in their order, each with GPUs of it; for a job that runs by a plan, its place among the ways of the job.

    >>> Place(((0, 4), (3, 2))).gpus
    6
    """

    parts: tuple[tuple[int, int], ...]
    way: int | None = None

    @classmethod
    def of_share(cls, share: Ints) -> Place:
        """Return GPUs per node as a place."""
        used = share.nonzero()[0]
        return cls(tuple(zip(used.tolist(), share[used].tolist(), strict=True)))

    @property
    def largest_first(self) -> list[int]:
        """Its nodes, those of which it has most GPUs first: in the order of the parts of a plan."""
        return [node for node, _ in sorted(self.parts, key=lambda part: -part[1])]

    @property
    def gpus(self) -> int:
        """How many GPUs it has in all."""
        parts = self.parts
        return parts[0][1] if len(parts) == 1 else sum([gpus for _, gpus in parts])


def group_values(
    models: Models, worth: Worth, rules: JointRules, group: Group, gpus: int, way: int | None, *, goes_on: bool
) -> list[int]:
    """Return what each job of a group adds on so many GPUs, if it goes on as it is, or if those that run restart.

    A job with plans runs by one of its ways.
    """
    kinds = [int(models.kind[member]) for member in group]
    if way is not None:
        period = models.plans_of(group[0]).periods[way]
    elif len(group) == 1:
        period = models.model(kinds[0]).period[gpus]
    else:
        period = _period(tuple(sorted(models.model(kind).stages_on(gpus) for kind in kinds)))
    factor = rules.slowdown[len(group) - 1]
    over, under = SCALE * factor.denominator, worth.unit * period * factor.numerator
    works = worth.work if goes_on else worth.changed
    return [over * int(works[job]) // under for job in group]


def placed_value(
    models: Models, worth: Worth, rules: JointRules, placed: Mapping[Group, Place], stays: Iterable[bool]
) -> int:
    """Return what groups add on GPUs of nodes, where some of them go on as they are."""
    value, works = 0, (worth.changed.tolist(), worth.work.tolist())
    over = [SCALE * factor.denominator for factor in rules.slowdown]
    under = [worth.unit * factor.numerator for factor in rules.slowdown]
    for group, (period, _), on in zip(placed, timed_groups(models, placed), stays, strict=True):
        work, size = works[on], len(group) - 1
        for job in group:
            value += over[size] * work[job] // (under[size] * period)
    return value


def timed_groups(models: Models, placed: Mapping[Group, Place]) -> Iterable[tuple[int, tuple[int, ...]]]:
    """Return for each group on its GPUs the least period, without a slow-down, and the order that reaches it.

    Groups of several jobs are asked for again and again while a round is decided: their periods are kept.
    """
    kind, known = models.kinds, models.timed
    new: dict[int, list[tuple[Group, int]]] = {}
    for group, place in placed.items():
        if len(group) > 1 and (group, place.gpus) not in known:
            new.setdefault(len(group), []).append((group, place.gpus))
    for some in new.values():
        gpus = np.array([gpus for _, gpus in some], dtype=np.int64)
        times = models.stages_on(models.kind[np.array([group for group, _ in some])], gpus[:, None])
        periods, orders = best_orders(times if times.max() < _LARGEST else times.astype(object))
        known.update(zip(some, zip(periods, orders, strict=True), strict=True))
    for group, place in placed.items():
        if len(group) > 1:
            yield known[group, place.gpus]
        elif place.way is None:
            yield models.period.item(kind[group[0]], place.gpus), (0,)
        else:
            yield models.plans_of(group[0]).periods[place.way], (0,)


def most_of_each(models: Models, worth: Worth, rules: JointRules, resources: int) -> list[int]:
    """Return what each job is worth at most: no period is shorter than its own alone, or than its stages together."""
    shares = rules.most_jobs(resources) > 1
    times = models.period.copy()
    sharers = np.flatnonzero(models.shares)
    if shares and len(sharers):
        together = models.stages_on(sharers[:, None], np.arange(times.shape[1])).sum(axis=2)
        times[sharers] = np.minimum(times[sharers], together)
    never = times.max(initial=0) + 1
    least = np.where(times > 0, times, never).min(axis=1, initial=never)
    shortest = np.where(least == never, 0, least).tolist()
    return [
        SCALE * work // (worth.unit * shortest[kind]) if shortest[kind] else 0
        for work, kind in zip(worth.work.tolist(), models.kinds, strict=True)
    ]


@lru_cache(maxsize=1 << 14)  # up to a kilobyte each
def _period(stages: tuple[tuple[int, ...], ...]) -> int:
    return best_order(list(stages))[0]
