"""What groups add, and their periods, in exact whole numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.cyclic_period import best_order, best_orders
from muri_opt.systems.joint.job_model import Models
from muri_opt.systems.joint.rules import JointRules
from muri_opt.systems.joint.worth import SCALE, Worth

Group = tuple[int, ...]
_LARGEST = 1 << 58
"""Times below it add up in a machine word, whatever the stages."""


class Place(NamedTuple):
    """GPUs per node of a group; for a job that runs by a plan, its place among the ways of the job."""

    share: Ints
    way: int | None = None


def group_values(
    models: Models, worth: Worth, rules: JointRules, group: Group, gpus: int, way: int | None, *, goes_on: bool
) -> list[int]:
    """Return what each job of a group adds on so many GPUs, if it goes on as it is, or if those that run restart.

    A job with plans runs by one of its ways.
    """
    kinds = [int(models.kind[member]) for member in group]
    if way is not None:
        period = models.of[kinds[0]].ways[way].period
    elif len(group) == 1:
        period = models.of[kinds[0]].period[gpus]
    else:
        period = _period(tuple(sorted(models.of[kind].stages_on(gpus) for kind in kinds)))
    return _added(worth, rules, group, period, goes_on=goes_on)


def placed_value(
    models: Models, worth: Worth, rules: JointRules, placed: Mapping[Group, Place], stays: Iterable[bool]
) -> int:
    """Return what groups add on GPUs per node, where some of them go on as they are."""
    periods = (period for period, _ in timed_groups(models, placed))
    return sum(
        sum(_added(worth, rules, group, period, goes_on=on))
        for group, period, on in zip(placed, periods, stays, strict=True)
    )


def timed_groups(models: Models, placed: Mapping[Group, Place]) -> Iterable[tuple[int, tuple[int, ...]]]:
    """Return for each group on its GPUs the least period, without a slow-down, and the order that reaches it."""
    kind: list[int] = models.kind.tolist()
    groups, gpus = list(placed), [int(place.share.sum()) for place in placed.values()]
    found: list[tuple[int, tuple[int, ...]]] = [(0, (0,))] * len(groups)
    by_size: dict[int, list[int]] = {}
    for at, group in enumerate(groups):
        by_size.setdefault(len(group), []).append(at)
    for size, some in by_size.items():
        if size == 1:
            for at in some:
                model, way = models.of[kind[groups[at][0]]], placed[groups[at]].way
                found[at] = (model.period[gpus[at]] if way is None else model.ways[way].period), (0,)
            continue
        times = [[models.of[kind[job]].stages_on(gpus[at]) for job in groups[at]] for at in some]
        most = max(max(map(max, own)) for own in times)
        periods, orders = best_orders(np.array(times, dtype=np.int64 if most < _LARGEST else object))
        for at, period, order in zip(some, periods, orders, strict=True):
            found[at] = period, order
    return found


def _added(worth: Worth, rules: JointRules, group: Group, period: int, *, goes_on: bool) -> list[int]:
    factor = rules.slowdown[len(group) - 1]
    over, under = SCALE * factor.denominator, worth.unit * period * factor.numerator
    works = worth.work if goes_on else worth.changed
    return [over * int(works[job]) // under for job in group]


def most_of_each(models: Models, worth: Worth, rules: JointRules, resources: int) -> list[int]:
    """Return what each job is worth at most: no period is shorter than its own alone, or than its stages together."""
    shares = rules.most_jobs(resources) > 1
    shortest = []
    for model, period in zip(models.of, models.period, strict=True):
        able = [gpus for gpus in range(len(period)) if period[gpus]]
        times = [int(period[gpus]) for gpus in able]
        if model.stages is not None and shares:
            times += [sum(model.stages_on(gpus)) for gpus in able]
        shortest.append(min(times, default=0))
    return [
        SCALE * int(work) // (worth.unit * shortest[kind]) if shortest[kind] else 0
        for work, kind in zip(worth.work, models.kind.tolist(), strict=True)
    ]


@lru_cache(maxsize=1 << 14)  # up to a kilobyte each
def _period(stages: tuple[tuple[int, ...], ...]) -> int:
    return best_order(list(stages))[0]
