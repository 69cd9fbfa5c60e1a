"""What a group is worth in the chapter *grouping*, by the name of the objective, in exact integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.muri.interleaving import SLOWDOWN, group_periods, slot_count, slowed_ratio

MILLIONTHS = 1_000_000
THOUSANDTHS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRules:
    """Which groups there are and what they are worth.

    ``objective`` is ``efficiency``, ``gpu-time`` or ``progress``; ``sizes`` says whether the jobs of a group have
    ``equal`` GPU counts or ``mixed`` ones. ``worst_order`` seats the jobs of a group in their worst order. ``distinct``
    keeps equal jobs apart, for programs that are not to take one for another.

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Members:
    """The jobs of m groups of p jobs each: stage times and time alone in microseconds, GPUs, weight of the rank."""

    stages: Ints
    alone: Ints
    gpus: Ints
    weight: Ints


def group_values(rules: GroupRules, members: Members) -> Ints:
    """Return the value of every group under the objective of the rules.

    *Efficiency* is the mean part of the resources in use on the GPUs of the group, in parts per million. *GPU time* is
    what the group saves against its jobs one after another, per second, in millionths of a GPU: nothing for a job
    alone. *Progress* is the speed of each job, relative to running alone, times its GPUs and the weight of its rank,
    in thousandths. A group whose period is 0 is worth nothing.
    """
    size = members.stages.shape[1]
    periods = group_periods(members.stages, rules.pattern, worst=rules.worst_order).microseconds
    factor = SLOWDOWN[rules.slowdown][size]
    taken = members.gpus.max(axis=1)
    if rules.objective == "efficiency":
        done = _product(members.gpus, members.stages.sum(axis=2)).sum(axis=1)
        slots = slot_count(rules.pattern, members.stages.shape[2])
        return slowed_ratio(done, _product(taken, periods), MILLIONTHS, slots, factor)
    if rules.objective == "gpu-time":
        if size == 1:
            return np.zeros(len(periods), dtype=np.int64)
        done = _product(members.gpus, members.alone).sum(axis=1)
        return np.where(periods > 0, slowed_ratio(done, periods, MILLIONTHS, 1, factor) - MILLIONTHS * taken, 0)
    weight = members.gpus * members.weight
    if size == 1:
        return np.where(periods > 0, THOUSANDTHS * weight[:, 0], 0)
    return slowed_ratio(_product(weight, members.alone).sum(axis=1), periods, THOUSANDTHS, 1, factor)


def _product(left: Ints, right: Ints) -> Any:
    """Return the product, in machine words where a sum of a few of them fits, else in Python's integers."""
    largest = int(left.max(initial=0)) * int(right.max(initial=0))
    kind = np.int64 if largest < 1 << 59 else object
    return left.astype(kind) * right.astype(kind)
