"""What each plan of a table is worth, all of them at once: the numbers of :mod:`.plan_value`, to the last digit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import isqrt

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND
from muri_opt.systems.plans.completion_scales import check_ranked, completion_scales
from muri_opt.systems.plans.exact_floors import Floats, exact_floors
from muri_opt.systems.plans.next_configurations import HUNDREDTHS, is_predictable, remaining_cost
from muri_opt.systems.plans.plan_ladder import Configuration
from muri_opt.systems.plans.plan_rules import BY_WORTH, COMPLETIONS, PlanRules
from muri_opt.systems.plans.plan_table import Bools, PlanTable
from muri_opt.systems.plans.plan_value import (
    BILLION,
    MILLION,
    MOST,
    WAITING_PRICE,
    completion_worth,
    kept_after_restart,
    worth,
)
from muri_opt.systems.plans.restart_gate import is_shut

_HALF = 0.5
"""Added to a whole number that is known, so that it is taken as it is."""
_SMALL = 9_000_000_000_000
"""A horizon of up to so many microseconds, times a million, is within 64 bits."""


class TableValues:
    """The values of options of a table: option i runs by plan ``at[i]``, ``home[i]`` on the nodes that its job holds.

    ``known`` are the configurations of each job, where service units count.
    """

    def __init__(
        self,
        round_: Round,
        table: PlanTable,
        at: Ints,
        home: Bools,
        known: Sequence[Mapping[str, Configuration]] | None,
    ) -> None:
        self._round, self._table, self._at, self._home = round_, table, at, home
        self._known = known
        self._job = table.job[at]
        self._speed = table.throughput[at]
        self._jobs = round_.jobs
        restarts = np.array([(job.restart_seconds or 0.0) if _holds(job) else 0.0 for job in round_.jobs])
        self._restart: Ints = np.rint(restarts * MICROSECONDS_PER_SECOND).astype(np.int64)

    def under(self, rules: PlanRules) -> Ints:
        """Return the values under some rules; what has none is refused, without a word on the job."""
        if rules.objective == COMPLETIONS:
            return self._completions()
        if rules.counts_time:
            return self._costs(rules)
        if rules.power is not None:
            return self._fair(rules.power)
        return self._throughput(rules)

    def _lost(self) -> Ints:
        """Return the microseconds that a restart takes from each option."""
        return np.where(self._home, 0, self._restart[self._job])

    def _throughput(self, rules: PlanRules) -> Ints:
        lost, horizon = self._lost(), rules.horizon
        stand: Ints = np.full(len(self._jobs), horizon)
        if rules.objective in BY_WORTH:
            for job in self._jobs:
                check_ranked(job, rules.objective)
            scales = completion_scales(self._round, rules.objective)
            weights: Ints = np.array([scale.weight for scale in scales], dtype=np.int64)
            per_job = np.array([scale.top for scale in scales])
            stand = np.array([scale.stands(horizon) for scale in scales], dtype=np.int64)
        else:
            weights, per_job = np.full(len(self._jobs), MILLION), self._references(rules.reference)
        reference, weight, stands = per_job[self._job], weights[self._job], stand[self._job]
        if rules.gate is not None:
            gate = rules.gate
            shut = np.array([_holds(job) and is_shut(job, gate) for job in self._jobs], dtype=np.bool_)
            lost = np.where(shut[self._job] & ~self._home, stands, lost)
        left = np.maximum(0, stands - lost)
        near = self._speed / reference * weight * (left / stands)
        if horizon <= _SMALL * MILLION // max(MILLION, int(weights.max(initial=0))):
            near = np.where(self._speed == reference, weight * left // stands + _HALF, near)
        near = np.where(left == 0, _HALF, near)
        if (near > MOST).any():
            raise InputError("plans", "a throughput", f"at most {MOST // MILLION:,} times the reference")

        def exact(place: int) -> int:
            scale = int(weight[place]) / Fraction(float(reference[place]))
            return worth(float(self._speed[place]), scale, int(lost[place]), int(stands[place]))

        return exact_floors(near, exact)

    def _references(self, reference: str) -> Floats:
        """Return the throughput that each job is measured against."""
        table, first = self._table, self._table.first[:-1]
        if reference == "best":
            best = np.maximum.reduceat(np.where(table.fits, table.throughput, 0.0), first)
            return np.where(best > 0, best, 1.0)
        asked = table.total == self._round.amounts.g[table.job]
        named = table.name == table.reader.names(self._jobs)[table.job]
        own = np.maximum.reduceat(np.where(asked & named, table.throughput, 0.0), first)
        best = np.maximum.reduceat(np.where(asked, table.throughput, 0.0), first)
        if not best.all():
            raise InputError("plans", "no plan of as many GPUs", "one with the GPUs the job asks for")
        return np.where(own > 0, own, best)

    def _fair(self, power: str) -> Ints:
        jobs = len(self._jobs)
        lowest = np.full(jobs, np.inf)
        np.minimum.at(lowest, self._job, self._speed)
        one = Fraction(1)
        kept = [kept_after_restart(self._round, job) if _holds(job) else one for job in self._jobs]
        part = np.where(self._home, 1.0, np.array([float(some) for some in kept])[self._job])
        with np.errstate(divide="ignore"):
            slower = lowest[self._job] / (self._speed * part)
        near = np.sqrt(slower) * MILLION if power == "-0.5" else slower * MILLION
        near = np.where((part == 1.0) & (self._speed == lowest[self._job]), MILLION + _HALF, near)
        near = np.where(part == 0.0, WAITING_PRICE + _HALF, near)

        def exact(place: int) -> int:
            job = int(self._job[place])
            times = one if self._home[place] else kept[job]
            ratio = Fraction(float(lowest[job])) / (Fraction(float(self._speed[place])) * times)
            squared = MILLION**2 * ratio.numerator // ratio.denominator
            price = isqrt(squared) if power == "-0.5" else MILLION * ratio.numerator // ratio.denominator
            return min(price, WAITING_PRICE)

        return np.maximum(0, WAITING_PRICE - exact_floors(np.minimum(near, WAITING_PRICE + _HALF), exact))

    def _completions(self) -> Ints:
        if any(job.remaining_iterations is None for job in self._jobs):
            raise InputError("remaining_iterations", "nothing", "what is left to do")
        steps = np.array([job.remaining_iterations for job in self._jobs], dtype=np.float64)
        lost = self._lost()
        with np.errstate(divide="ignore"):
            near = BILLION / (steps[self._job] / self._speed + lost / MICROSECONDS_PER_SECOND)
        near = np.where(near > 2 * MOST, MOST + _HALF, near)

        def exact(place: int) -> int:
            plan = self._table.plan(int(self._at[place]))
            return completion_worth(self._jobs[int(self._job[place])], plan, int(lost[place]))

        return np.clip(exact_floors(near, exact), 1, MOST)

    def _costs(self, rules: PlanRules) -> Ints:
        """Return what remaining times cost, negative."""
        steps = np.array(
            [(job.remaining_iterations or 0) if is_predictable(job) else 0 for job in self._jobs], dtype=np.float64
        )
        lost, units = self._lost(), self._units(rules)
        near = units * (steps[self._job] / self._speed + lost / MICROSECONDS_PER_SECOND)
        if (near > MOST).any():
            raise InputError("remaining_iterations", "too many", f"a cost of at most {MOST:,}")
        paused = units.astype(np.int64) * lost // MICROSECONDS_PER_SECOND
        near = np.where(steps[self._job] == 0, paused + _HALF, near)

        def exact(place: int) -> int:
            job, plan = int(self._job[place]), self._table.plan(int(self._at[place]))
            known = {} if self._known is None else self._known[job]
            return remaining_cost(self._jobs[job], plan, int(lost[place]), rules, known)

        return -exact_floors(near, exact)

    def _units(self, rules: PlanRules) -> Floats:
        """Return what a second of each option counts."""
        if rules.objective != "service" or self._known is None:
            return np.full(len(self._at), float(HUNDREDTHS))
        return self._table.stacked.column("units", np.zeros(0))[self._at]


def _holds(job: Job) -> bool:
    return job.state == "running" and bool(job.placement)
