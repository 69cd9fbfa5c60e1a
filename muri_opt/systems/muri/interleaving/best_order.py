"""One group: the best order of its jobs, its period and its efficiency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.field_checks import items
from muri_opt.rounds.quantities import MAX_SECONDS, MICROSECONDS_PER_SECOND, finite, microseconds, whole
from muri_opt.systems.muri.interleaving.batch_periods import group_periods
from muri_opt.systems.muri.interleaving.patterns import Pattern, pattern_named


@dataclass(frozen=True, slots=True, kw_only=True)
class Interleaving:
    """How a group of jobs shares its GPUs: every job does one iteration in each period.

    ``slots[j]`` is the slot of the cycle in which the job at position j of the group begins its first stage; slots that
    no job begins in are the holes. ``order`` lists the positions of the jobs by ascending slot: ``order[0]`` begins
    first. ``efficiency`` is the sum of all stage times over slots times period, the mean part of the resources in use;
    it is 0 where all stage times are 0.

    >>> best_period([[1, 2], [2, 1]]).efficiency
    1.0
    """

    pattern: str
    period_seconds: float
    order: tuple[int, ...]
    slots: tuple[int, ...]
    efficiency: float


def best_period(
    stage_seconds: Sequence[Sequence[float]], pattern: str = "cyclic", *, worst: bool = False
) -> Interleaving:
    """Return the order with the least period of a group of jobs; with ``worst``, the one with the greatest.

    ``stage_seconds[j]`` are the stage times of the job at position j, in the order in which it runs them; they are
    taken to the nearest microsecond. A job alone has the sum of its stage times as its period.

    >>> best_period([[1, 2], [2, 1]]).period_seconds
    3.0
    """
    rule = pattern_named(pattern)
    stages, slots = checked_group(stage_seconds, rule)
    (period,), (places,) = group_periods(stages[None], pattern, worst=worst)
    return _interleaving(rule, stages, slots, int(period), tuple(places.tolist()))


def period_of(stage_seconds: Sequence[Sequence[float]], slots: Sequence[int], pattern: str = "cyclic") -> Interleaving:
    """Return the interleaving in which the job at position j begins in slot ``slots[j]``, good or bad.

    >>> period_of([[1, 2], [2, 1]], [0, 1]).period_seconds
    3.0
    """
    rule = pattern_named(pattern)
    stages, number = checked_group(stage_seconds, rule)
    places = _checked_places(slots, len(stages), number, rule)
    unit = MICROSECONDS_PER_SECOND if rule.in_seconds else 1
    seats: list[Any] = [None] * number
    for place, times in zip(places, stages, strict=True):
        seats[place] = times / unit if rule.in_seconds else times
    return _interleaving(rule, stages, number, round(rule.periods(seats) * unit), places)


def checked_group(stage_seconds: Sequence[Sequence[float]], rule: Pattern) -> tuple[Ints, int]:
    """Return the stage times in whole microseconds, one row per job, and the number of slots; or refuse the group."""
    jobs = [items(f"stage_seconds[{j}]", times) for j, times in enumerate(items("stage_seconds", stage_seconds))]
    if not jobs:
        raise InputError("stage_seconds", "no jobs", "a group of at least 1 job")
    slots = rule.checked_slots(len(jobs[0]), "stage_seconds[0]")
    for j, times in enumerate(jobs):
        if len(times) != len(jobs[0]):
            allowed = f"{len(jobs[0])}, as many as stage_seconds[0] has"
            raise InputError(f"stage_seconds[{j}]", f"{len(times)} stage times", allowed)
    rule.checked_jobs(len(jobs), slots, "stage_seconds", f"stage_seconds[{slots}]")
    stages = [
        [microseconds(finite(f"stage_seconds[{j}][{r}]", time, MAX_SECONDS)) for r, time in enumerate(times)]
        for j, times in enumerate(jobs)
    ]
    return np.array(stages, dtype=np.int64), slots


def _checked_places(slots: Sequence[int], jobs: int, number: int, rule: Pattern) -> tuple[int, ...]:
    places = tuple(whole(f"slots[{j}]", slot, number - 1) for j, slot in enumerate(items("slots", slots)))
    if len(places) != jobs or len(set(places)) != jobs:
        raise InputError("slots", str(places), f"{jobs} different slots, one for each job")
    allowed = [layout.slots for layout in rule.layouts(jobs, number)] if rule.packed else []
    if rule.packed and tuple(sorted(places)) not in allowed:
        listed = " or ".join(map(str, allowed))
        raise InputError("slots", str(places), f"the slots {listed} of the pattern {rule.name!r}, in any order")
    return places


def _interleaving(rule: Pattern, stages: Ints, slots: int, period: int, places: tuple[int, ...]) -> Interleaving:
    return Interleaving(
        pattern=rule.name,
        period_seconds=period / MICROSECONDS_PER_SECOND,
        order=tuple(sorted(range(len(places)), key=places.__getitem__)),
        slots=places,
        efficiency=int(stages.sum()) / (slots * period) if period else 0.0,
    )
