"""Is a schedule of elastic jobs optimal? The schedule is run and its proof evaluated in exact rationals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from muri_opt.errors import InputError

Numbers = Sequence[Fraction]
Alive = frozenset[int]
ARRIVAL = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticCase:
    """Jobs as they were given, at their exact values: ``speed[j][k]`` for every ``k`` job ``j`` may have."""

    speed: Sequence[Numbers]
    work: Numbers
    arrivals: Numbers
    gpus: int

    @staticmethod
    def of(speed: Any, cap: Any, work: Any, gpus: int, arrivals: Any = None) -> ElasticCase:
        """Return the case of arrays of any numbers, with the GPUs no job can have left out."""
        rows = [_exact(row)[: min(int(most), gpus) + 1] for row, most in zip(speed, cap, strict=True)]
        begun = [Fraction(0)] * len(rows) if arrivals is None else _exact(arrivals)
        return ElasticCase(speed=rows, work=_exact(work), arrivals=begun, gpus=gpus)

    @property
    def times(self) -> list[Fraction]:
        """Return the different moments at which jobs arrive."""
        return sorted(set(self.arrivals))

    def there(self, period: int) -> Alive:
        """Return the jobs that have arrived when a period begins."""
        return frozenset(j for j, began in enumerate(self.arrivals) if began <= self.times[period])

    def first(self, i: int, j: int) -> bool:
        """Return whether job ``i`` finishes before ``j`` in some optimum: it scales alike and is ahead in all."""
        p, q = self.speed[i], self.speed[j]
        alike = len(p) == len(q) and all(a * max(q) == b * max(p) for a, b in zip(p, q, strict=True))
        mine, theirs = (self.work[i] / max(p), self.arrivals[i]), (self.work[j] / max(q), self.arrivals[j])
        ahead = mine[0] <= theirs[0] and mine[1] <= theirs[1]
        return i != j and alike and ahead and (mine != theirs or i < j)


def check_elastic_optimum(
    case: ElasticCase,
    pieces: Sequence[tuple[Fraction, Sequence[int]]],
    proof: Mapping[tuple[int, ...], tuple[Numbers, Numbers]],
) -> tuple[Fraction, Fraction]:
    """Return the total completion time of the schedule, and a bound that no schedule can beat.

    ``pieces`` are durations and share vectors from the first arrival on. ``proof`` has, for beginnings of the order of
    events (a job that finishes, -1 for the next arrivals), prices of a unit of work of each job and of a second of
    each period between arrivals. Both are recomputed; a breach of any rule is an ``InputError`` that names it.
    """
    return total_completion(case, pieces), _bound(case, proof, (), 0, frozenset(), [])


def total_completion(case: ElasticCase, pieces: Sequence[tuple[Fraction, Sequence[int]]]) -> Fraction:
    """Return the sum of completion less arrival over the jobs, if these shares are held one after another."""
    now, left, total = case.times[0], list(case.work), Fraction(0)
    for number, (duration, shares) in enumerate(pieces):
        if duration < 0 or len(shares) != len(left) or min(shares) < 0 or sum(shares) > case.gpus:
            raise InputError(
                f"pieces[{number}]", f"{duration} of {shares}", f"shares of at most {case.gpus} GPUs in all"
            )
        for j, k in enumerate(shares):
            if k >= len(case.speed[j]) or (k and now < case.arrivals[j]):
                raise InputError(
                    f"pieces[{number}]", f"{k} GPUs for job {j}", "GPUs up to its cap, from its arrival on"
                )
            if 0 < left[j] <= case.speed[j][k] * duration:
                total += now + left[j] / case.speed[j][k] - case.arrivals[j]
            left[j] -= case.speed[j][k] * duration
        now += duration
    if max(left) > 0:
        raise InputError("pieces", f"{max(left)} of the work of job {left.index(max(left))} left", "all work done")
    return total


def _bound(
    case: ElasticCase,
    proof: Mapping[tuple[int, ...], tuple[Numbers, Numbers]],
    events: tuple[int, ...],
    period: int,
    finished: Alive,
    path: list[tuple[int, Alive]],
) -> Fraction:
    """Return a bound on all schedules that begin with the events: from their prices, else from every continuation."""
    alive = case.there(period) - finished
    passed = [*path, (period, alive)]
    if events in proof:
        return _priced(case, *proof[events], [*passed, *_ahead(case, period, finished)], events)
    bounds = [
        _bound(case, proof, (*events, j), period, finished | {j}, passed)
        for j in sorted(alive)
        if not any(case.first(i, j) for i in alive)
    ]
    if period + 1 < len(case.times):
        bounds.append(_bound(case, proof, (*events, ARRIVAL), period + 1, finished, passed))
    if not bounds:
        raise InputError("proof", f"no prices for {events} or a beginning of it", "prices that cover every order")
    return min(bounds)


def _ahead(case: ElasticCase, period: int, finished: Alive) -> Iterator[tuple[int, Alive]]:
    """Yield the periods and alive jobs that may come, in no particular order: any jobs may have finished."""
    for later in range(period, len(case.times)):
        there = case.there(later)
        for size in range(len(there - finished) + 1):
            for group in combinations(sorted(there - finished), size):
                ordered = all(j in group for i in group for j in there if case.first(i, j))
                if ordered and (group or later + 1 < len(case.times)):
                    yield later, frozenset(group)


def _priced(
    case: ElasticCase, work: Numbers, time: Numbers, alive: Sequence[tuple[int, Alive]], events: tuple[int, ...]
) -> Fraction:
    """Return what all work and all periods are worth: no more than any schedule pays, if no share vector is underpaid.

    A second with jobs ``S`` alive costs ``len(S)``. If the work done in it and the second itself are never worth more,
    the cost of a whole schedule is at least the worth of the work it does and of the periods it fills.
    """
    lengths = [b - a for a, b in zip(case.times, case.times[1:], strict=False)]
    if len(work) != len(case.work) or len(time) != len(lengths) or min(work) < 0:
        raise InputError(f"proof[{events}]", f"{len(work)} and {len(time)} prices", "of work, >= 0; of periods")
    most: dict[Alive, Fraction] = {}
    for period, group in alive:
        if group not in most:
            most[group] = _most_worth(case, work, group)
        if most[group] + (*time, Fraction(0))[period] > len(group):
            raise InputError(
                f"proof[{events}]", f"underpaid shares with {sorted(group)} alive", "prices never too high"
            )
    return sum((p * w for p, w in zip((*work, *time), (*case.work, *lengths), strict=True)), Fraction(0))


def _most_worth(case: ElasticCase, work: Numbers, group: Alive) -> Fraction:
    """Return the most that a second of any share vector of these jobs is worth."""
    best = [Fraction(0)] * (case.gpus + 1)
    for j in group:
        gains = [work[j] * p for p in case.speed[j]]
        best = [max(gain + best[free - k] for k, gain in enumerate(gains[: free + 1])) for free in range(case.gpus + 1)]
    return best[-1]


def _exact(values: Any) -> list[Fraction]:
    return [Fraction(value.item() if isinstance(value, np.generic) else value) for value in values]
