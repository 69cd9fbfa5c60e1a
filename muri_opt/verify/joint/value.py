"""What a joint round is worth, by the verifier's own arithmetic: periods, what work is worth, values of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Assignment, Job, Round
from muri_opt.rounds.kept_by_object import KeptByObject
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.afs.curve import Curve
from muri_opt.verify.amounts import micro, word_for
from muri_opt.verify.completion import behind_guessed, behind_known
from muri_opt.verify.joint.plans import PlanEntry, allowed_plans, fastest_by_gpus, period_of, planned
from muri_opt.verify.joint.rules import Joint
from muri_opt.verify.priorities import weights_of
from muri_opt.verify.sharing_now import RunningJobs, running_jobs

MILLION = 1_000_000
NANO = 1_000_000_000
_WAYS_KEPT = 10 << 10
"""Ways of jobs that are kept, by what the jobs say."""
_KNOWN: Final = KeptByObject[tuple[Mapping[int, int], int]]()
"""The same, by the very table that a job keeps from round to round."""


class Worker(NamedTuple):
    """A job: nanoseconds of an iteration alone ``by_gpus``, its ``stages`` in a period of ``base``, what it is worth.

    ``fresh`` is the work of an iteration where the job starts, or goes on as it is; ``changed`` where it has to
    restart. ``home`` are the GPUs per node that it holds. A job with ``plans`` runs by one of them, and holds what it
    does by the plan of the name ``by``; ``by_gpus`` are then the fastest. A unit of its value counts ``weight``.
    """

    name: str
    by_gpus: Mapping[int, int]
    stages: tuple[int, ...] | None
    base: int
    fresh: int
    changed: int
    home: Mapping[str, int] | None
    plans: tuple[PlanEntry, ...] = ()
    by: str | None = None
    weight: int = 1

    def stages_on(self, gpus: int) -> list[int]:
        """Return the times of its stages, rounded up, with so many GPUs."""
        whole = self.by_gpus[gpus]
        return [(time * whole + self.base - 1) // self.base for time in self.stages or ()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """The jobs of a round under the rules, those that are ``running``, and in what ``unit`` their work counts."""

    round_: Round
    rules: Joint
    jobs: tuple[Worker, ...]
    running: RunningJobs
    unit: int
    most_jobs: int

    def able(self, members: Sequence[int], gpus: int) -> bool:
        """Return whether jobs may have so many GPUs together."""
        some = [self.jobs[job] for job in members]
        shares = len(some) == 1 or all(job.stages is not None for job in some)
        return shares and 1 <= len(some) <= self.most_jobs and all(gpus in job.by_gpus for job in some)

    def period(self, members: Sequence[int], gpus: int, order: Sequence[int] | None = None) -> Fraction:
        """Return the period in nanoseconds of jobs that may have these GPUs, in the best or the given order."""
        some = [self.jobs[job] for job in members]
        if len(some) == 1:
            return Fraction(some[0].by_gpus[gpus])
        least = cycle([job.stages_on(gpus) for job in some], order)
        return least * self.rules.slowdowns[len(some) - 1]

    def value(self, members: Sequence[int], assignment: Assignment) -> int:
        """Return what a group adds on GPUs per node, or a job by a plan; 0 where it may not have them."""
        gpus, first = assignment.gpus, self.jobs[members[0]]
        count = sum(gpus.values())
        if any(self.jobs[job].plans for job in members):
            plan = planned(self.round_, first.plans, assignment) if len(members) == 1 else None
            if plan is None:
                return 0
            on = plan.plan.name == first.by and self.goes_on(members, gpus)
            return self.worth(members, Fraction(period_of(plan.plan)), goes_on=on)
        if not self.able(members, count):
            return 0
        on = self.goes_on(members, gpus)
        if len(members) == 1:
            work = first.fresh if on else first.changed
            return first.weight * (MILLION * work // (self.unit * first.by_gpus[count]))
        return self.worth(members, self.period(members, count), goes_on=on)

    def goes_on(self, members: Sequence[int], gpus: Mapping[str, int]) -> bool:
        """Return whether jobs that have these GPUs together go on as they are: nothing was changed for any of them."""
        if any(self.jobs[job].home is None for job in members):
            return False
        return self.running.may_be([self.jobs[job].name for job in members], gpus)

    def worth(self, members: Sequence[int], period: Fraction, *, goes_on: bool) -> int:
        """Return what a group of such a period adds, if it goes on as it is, or if those that run have to restart."""
        some = (self.jobs[job] for job in members)
        return sum(job.weight * self.share(job.fresh if goes_on else job.changed, period) for job in some)

    def share(self, work: int, period: Fraction) -> int:
        """Return what a job adds whose iteration is worth so much, in such a period, rounded down."""
        return MILLION * work * period.denominator // (self.unit * period.numerator)


def cycle(stages: Sequence[Sequence[int]], order: Sequence[int] | None = None) -> int:
    """Return the least period of one group in the best order, or in one; an order lists its jobs by ascending slot.

    A slot lasts as long as the longest stage in it. The first job is in slot 0: turning the cycle changes nothing.
    """
    slots, count = len(stages[0]), len(stages)
    orders = [(0, *others) for others in permutations(range(1, count))] if order is None else [tuple(order)]
    return min(
        sum(
            max(stages[job][(slot - start) % slots] for job, start in zip(one, (0, *later), strict=True))
            for slot in range(slots)
        )
        for later in combinations(range(1, slots), count - 1)
        for one in orders
    )


@recalled
def workers_of(round_: Round, rules: Joint) -> Workers:
    """Return the jobs of a round, or refuse one that says too little."""
    gpus = round_.cluster.total_gpus
    _KNOWN.expect(len(round_.jobs))
    _COLUMNS.expect(len(round_.jobs))
    ways = [_known_ways(job, rules) for job in round_.jobs]
    service = [_service(job, by_gpus, rules) for job, (by_gpus, _) in zip(round_.jobs, ways, strict=True)]
    parts, behind = behind_guessed(round_.jobs, service) if rules.chance else behind_known(service)
    fixed = gpus * rules.kappa.denominator * parts
    found, unit = [], max(1, fixed)
    every = [_within(way, gpus) for way, _ in ways]
    if rules.power is None:
        works = _least_work(every, fixed, [rules.kappa.numerator * count for count in behind])
    else:
        told = zip(every, ways, service, strict=True)
        works = [max(1, fixed) * _by_power(way, one, rules) if within else 0 for within, (way, _), one in told]
    for job, within, (_, base), fresh in zip(round_.jobs, every, ways, works, strict=True):
        home = job.placement if job.state == "running" and job.placement else None
        lost = min(rules.horizon, max(1, micro(job.restart_seconds or 0.0))) if home is not None and rules.pay else 0
        alone = job.stage_seconds is None or job.plans is not None
        stages = None if alone else tuple(1000 * micro(time) for time in job.stage_seconds or ())
        found.append(
            Worker(
                name=job.id,
                by_gpus=within,
                stages=stages,
                base=base,
                fresh=fresh * (rules.horizon + lost) // rules.horizon if rules.stops else fresh,
                changed=fresh if rules.stops else fresh * (rules.horizon - lost) // rules.horizon,
                home=home,
                plans=() if job.plans is None else allowed_plans(job),
                by=job.plan,
            )
        )
    most_jobs = rules.most_jobs(len(round_.resources))
    if "job.priority" in round_.used_fields:
        most = [_most(job, unit, shares=most_jobs > 1) for job in found]
        found = [job._replace(weight=one) for job, one in zip(found, weights_of(round_, most), strict=True)]
    return Workers(
        round_=round_,
        rules=rules,
        jobs=tuple(found),
        running=running_jobs(round_),
        unit=unit,
        most_jobs=most_jobs,
    )


def _within(way: Mapping[int, int], gpus: int) -> Mapping[int, int]:
    """Return the ways with no more than so many GPUs: most often the very same."""
    return way if not way or way_columns(way).most <= gpus else {k: time for k, time in way.items() if k <= gpus}


def _least_work(ways: Sequence[Mapping[int, int]], fixed: int, each: Sequence[int]) -> list[int]:
    """Return for each job the least of (``fixed`` + its ``each`` for a GPU) times the time of an iteration, over GPUs.

    It is 0 for a job that can have no GPUs. All are worked out at once, in machine words where these hold the largest.
    """
    able = [at for at, way in enumerate(ways) if way]
    if not able:
        return [0] * len(ways)
    columns = [way_columns(ways[at]) for at in able]
    counts = [len(one.gpus) for one in columns]
    word = word_for((fixed + max(each) * max(one.most for one in columns)) * max(one.longest for one in columns))
    gpus: NDArray[Any] = np.concatenate([one.gpus for one in columns]).astype(word)
    time: NDArray[Any] = np.concatenate([one.time for one in columns]).astype(word)
    rate: NDArray[Any] = np.repeat(np.array([each[at] for at in able], dtype=word), counts)
    least = np.minimum.reduceat((fixed + rate * gpus) * time, np.cumsum([0, *counts[:-1]]))
    found = [0] * len(ways)
    for at, one in zip(able, least.tolist(), strict=True):
        found[at] = one
    return found


class WayColumns(NamedTuple):
    """The GPUs of ways and the nanoseconds of an iteration with them, as arrays; the largest of each."""

    gpus: NDArray[Any]
    time: NDArray[Any]
    most: int
    longest: int


_COLUMNS: Final = KeptByObject[WayColumns]()


def way_columns(way: Mapping[int, int]) -> WayColumns:
    """Return ways as arrays; those of a job are the same from round to round."""
    found = _COLUMNS.get(way, None)
    if found is None:
        most, longest = max(way), max(way.values())
        word = word_for(longest)
        found = WayColumns(np.array([*way], dtype=word), np.array([*way.values()], dtype=word), most, longest)
        _COLUMNS.put(way, None, found)
    return found


def _most(job: Worker, unit: int, *, shares: bool) -> int:
    """Return what a job is worth at most: in no period shorter than alone, or than its stages one after another."""
    shortest = min(job.by_gpus.values(), default=0)
    if shares and job.stages is not None:
        shortest = min([shortest, *(sum(job.stages_on(gpus)) for gpus in job.by_gpus)])
    return MILLION * job.fresh // (unit * shortest) if shortest else 0


def _known_ways(job: Job, rules: Joint) -> tuple[Mapping[int, int], int]:
    """Return the ways of a job; those that say the same are asked once, and from round to round jobs say the same."""
    if job.plans is not None:
        return fastest_by_gpus(allowed_plans(job)), 1
    said = job.gpus, job.iteration_seconds, job.stage_seconds, rules.full, rules.powers
    known = _KNOWN.get(job.scaling, said)
    if known is not None:
        return known
    curve = None if job.scaling is None else tuple(job.scaling.items())
    try:
        found = _ways(job.gpus, job.iteration_seconds, job.stage_seconds, curve, rules.full, rules.powers)
    except InputError:
        Curve.of(job)  # refused by its own name
        raise
    if found is None:
        raise InputError(f"job {job.id!r}", "no time or no GPUs", "times above 0 at the GPUs it asks for")
    _KNOWN.put(job.scaling, said, found)
    return found


@lru_cache(maxsize=_WAYS_KEPT)
def _ways(
    gpus: int,
    seconds: float | None,
    stage_seconds: tuple[float, ...] | None,
    scaling: tuple[tuple[int, float], ...] | None,
    full: bool,
    powers: bool,
) -> tuple[Mapping[int, int], int] | None:
    """Return the nanoseconds of an iteration by GPUs, and in which period the stages are as the job says them.

    ``None`` where a time is missing or nothing, or there are no GPUs.
    """
    said = None if seconds is None else 1000 * micro(seconds)
    stages = sum(1000 * micro(time) for time in stage_seconds or ())
    if scaling is not None:
        curve = Curve.of_table(scaling, gpus, seconds)
        by_gpus = {k: (1000 * curve.unit + speed - 1) // speed for k, speed in curve.speeds.items()}
        alone = by_gpus.get(gpus, 0)
    else:
        alone = said if said is not None else stages if stage_seconds is not None else NANO
        by_gpus = {gpus: alone}
    needs_alone = scaling is None or stage_seconds is not None
    if gpus < 1 or (needs_alone and alone <= 0) or (stage_seconds is not None and stages <= 0):
        return None
    if scaling is not None and powers:
        by_gpus = {k: time for k, time in by_gpus.items() if k.bit_count() == 1}
    return by_gpus, min(alone, stages) if full and stages else max(1, alone)


def _by_power(by_gpus: Mapping[int, int], service: int, rules: Joint) -> int:
    """Return the GPU time of an iteration with the fewest GPUs, times (an hour / service) to the power."""
    second, fewest = NANO if rules.lengths == "known" else 1000, min(by_gpus)
    hour, mine = (_power(amount, rules.power or Fraction(1)) for amount in (3600 * second, max(service, second)))
    return by_gpus[fewest] * fewest * hour // mine


def _power(amount: int, power: Fraction) -> int:
    """Return the largest number of millionths that is no more than the power of an amount, bit by bit."""
    target, found = amount**power.numerator * MILLION**power.denominator, 0
    for bit in range(target.bit_length() // power.denominator, -1, -1):
        if (found | 1 << bit) ** power.denominator <= target:
            found |= 1 << bit
    return found


def _expected(had: int, samples: Sequence[int]) -> int:
    """Return the least service that an end costs, of jobs as long as those samples that are longer than it had."""
    longer = [sample for sample in samples if sample > had]
    costs = [
        sum(min(sample, until) - had for sample in longer) // sum(sample <= until for sample in longer)
        for until in longer
    ]
    return min(costs, default=had)


def _service(job: Job, by_gpus: Mapping[int, int], rules: Joint) -> int:
    """Return by what jobs are ranked: what they still need of one GPU, or what they have had."""
    if rules.lengths == "attained":
        if job.attained_gpu_seconds is None:
            raise InputError(f"job {job.id!r}.attained_gpu_seconds", "nothing", "a number: jobs are ranked by it")
        return _expected(round(job.attained_gpu_seconds * 1000), rules.samples)
    if job.remaining_iterations is None:
        raise InputError(f"job {job.id!r}.remaining_iterations", "nothing", "a number: jobs are ranked by it")
    fewest = min(by_gpus)
    return job.remaining_iterations * by_gpus[fewest] * fewest
