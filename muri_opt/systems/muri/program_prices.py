"""Prices of GPUs, CPUs, memory, quotas and jobs that need no solver: a knapsack of single jobs, at every size.

In a group of p jobs each takes at least one part in p of the GPUs that it asks for, and adds no more than it does at
the shortest period that any group with it can have. With that as its options, one for each size of a group, multipliers
of what the cluster has (:mod:`muri_opt.algorithms.knapsack`) bound the value of all groups; a job has the price that is
left of its best option. The verifier comes to the same by its own code, and believes none of this.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.algorithms.knapsack import Options, lagrangian
from muri_opt.rounds import LinearDuals, Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.systems.muri.group_locations import group_locations
from muri_opt.systems.muri.group_values import MILLIONTHS, UNITS, GroupRules, Members, class_values
from muri_opt.systems.muri.group_worth import GroupWorth
from muri_opt.systems.muri.interleaving import SLOWDOWN, slot_count

PARTS: Final = 12
"""Of a GPU, and of the value, so that a third and a fourth are whole numbers."""
_LARGEST: Final = 1 << 45
"""Caps up to which multipliers are looked for; larger ones are left to the verifier, which counts."""
MANY: Final = 500
"""Jobs from which on prices are left out where counting says as much."""
_UNSURE: Final = 64
"""Microseconds by which the authors' recurrence, in floats of seconds, may be off."""


def job_prices(round_: Round, rules: GroupRules) -> LinearDuals | None:
    """Return prices that bound what all groups of a round are worth to the first class of priority.

    ``None`` where there is no job, or numbers are too large; and of many jobs that all add the same, of which counting
    what is scarcest says as much.
    """
    if not round_.jobs or (len(round_.jobs) >= MANY and _adds_the_same(round_, rules)):
        return None
    largest = min(rules.largest_group, slot_count(rules.pattern, len(round_.resources)))
    caps = _caps(GroupWorth.of(round_, rules), largest)
    if max(int(cap.max(initial=0)) for cap in caps) > _LARGEST:
        return None
    asked = round_.amounts.g
    sizes = [size for size in range(1, largest + 1) if not _is_beaten(size, caps)]
    value = np.column_stack([caps[size - 1] for size in sizes]).astype(np.int64)
    parts = np.column_stack([PARTS // size * asked for size in sizes])
    some = np.flatnonzero(value.ravel() > 0)
    limits = _limits(round_)
    job = some // len(sizes)
    use = np.column_stack([parts.ravel()[some], *(limit.use[job] for limit in limits)])
    has = [PARTS * round_.cluster.total_gpus, *(limit.has for limit in limits)]
    found = lagrangian(Options.of(job, value.ravel()[some], use, has, jobs=len(round_.jobs)))
    gpu, *others = found.prices
    quota = [0] * len(round_.amounts.U)
    multipliers: dict[str, tuple[int, ...]] = {"once": tuple(found.idle.tolist())}
    multipliers["gpus"] = (PARTS * gpu,) * (1 if group_locations(round_) is None else len(round_.cluster.nodes))
    for limit, price in zip(limits, others, strict=True):
        if limit.tenant is None:
            multipliers[limit.label] = (price,)
        else:
            quota[limit.tenant] = price
    if any(quota):
        multipliers["quota"] = tuple(quota)
    return LinearDuals(denominator=PARTS * found.denominator, multipliers=multipliers)


def _adds_the_same(round_: Round, rules: GroupRules) -> bool:
    """Return whether all jobs add at most as much, to groups of any size, and none has a quota."""
    alike = rules.objective == "efficiency" and rules.slowdown == "none" and rules.pattern != "muri-4slot"
    return alike and bool((round_.amounts.U >= UNLIMITED).all())


class _Limit(NamedTuple):
    """What each job takes of something besides GPUs, and how much there is."""

    label: str
    use: Ints
    has: int
    tenant: int | None = None


def _limits(round_: Round) -> list[_Limit]:
    """Return everything that binds for the whole cluster."""
    amounts = round_.amounts
    found = [
        _Limit(label, amounts.g * per_gpu, int(has.sum()))
        for label, per_gpu, has in (("cpus", amounts.c, amounts.C), ("memory", amounts.m, amounts.M))
        if len(has) and bool((has < UNLIMITED).all())
    ]
    for tenant in np.flatnonzero(amounts.U < UNLIMITED).tolist():
        below = np.array([*(tenant in amounts.line(one) for one in range(len(amounts.U))), False], dtype=np.bool_)
        use = np.where(below[amounts.tenant], amounts.g, 0)  # the last is for jobs of no tenant, which are -1
        found.append(_Limit("quota", use, int(amounts.U[tenant]), tenant))
    return [limit for limit in found if int(limit.use.sum()) > limit.has]


def _caps(worth: GroupWorth, largest: int) -> list[NDArray[Any]]:
    """Return what each job adds at most to the first class in groups of one job and more, in twelfths, rounded up.

    What a group of more than one loses for its GPUs is taken off.
    """
    rules, members = worth.rules, worth.members
    every = np.arange(len(worth.level))[:, None]
    first, gpus = worth.level == 0, members.gpus.astype(object)
    alone = class_values(rules, members.of(every), worth.level[every], len(worth.weights))[0]
    counts, times, parts = _done(rules, members)
    amount, freely = counts * times, -(-PARTS * np.where(first, counts, 0) // parts)
    over, lost = parts * _shortest(rules, members), MILLIONTHS if rules.objective == "gpu-time" else 0
    found = [PARTS * np.where(first, alone, 0)]
    for size in range(2, largest + 1):
        slow = Fraction(SLOWDOWN[rules.slowdown][size]).limit_denominator(10_000)
        up, down = PARTS * slow.denominator * np.where(first, amount, 0), over * slow.numerator
        in_step = -(-up // down)
        most = {"lock-step": in_step, "free": freely, "best": np.maximum(in_step, freely)}[rules.run]
        found.append(most - PARTS // size * lost * gpus)
    return found


def adds_alone(rules: GroupRules, members: Members) -> NDArray[np.float64]:
    """Return what each job adds to a group that has no more GPUs than it, times the period."""
    counts, times, parts = _done(rules, members)
    return np.asarray((counts * times).astype(np.float64) / parts)


def _done(rules: GroupRules, members: Members) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Return what each job adds at its speed alone, how long it takes alone, and in how many parts that is counted."""
    gpus = members.gpus.astype(object)
    if rules.objective == "efficiency":
        slots = max(1, slot_count(rules.pattern, members.stages.shape[1]))
        return MILLIONTHS * np.ones_like(gpus), members.stages.sum(axis=1).astype(object), slots
    counted = np.ones_like(gpus) if rules.objective == "completion" else gpus
    weight = 1 if rules.objective == "gpu-time" else members.weight.astype(object)
    return UNITS[rules.objective] * counted * weight, members.alone.astype(object), 1


def _shortest(rules: GroupRules, members: Members) -> NDArray[Any]:
    """Return what no period of a group with a job is shorter than; in the authors' recurrence its use of the GPU."""
    times = members.stages.astype(object)
    shortest: NDArray[Any] = times[:, 1] - _UNSURE if rules.pattern == "muri-4slot" else times.sum(axis=1)
    return np.asarray(np.maximum(1, shortest))


def _is_beaten(size: int, caps: Sequence[NDArray[Any]]) -> bool:
    """Return whether every job adds as much to a larger group, where it takes fewer GPUs."""
    return any(bool((larger >= caps[size - 1]).all()) for larger in caps[size:])
