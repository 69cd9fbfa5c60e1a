"""What a joint round is worth, by the verifier's own arithmetic: periods, what work is worth, values of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import Assignment, Job, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.amounts import micro, word_for
from muri_opt.verify.completion import behind_guessed, behind_known
from muri_opt.verify.joint.expected_service import ExpectedService
from muri_opt.verify.joint.plans import NANO, PlanEntry, period_of, planned
from muri_opt.verify.joint.rules import Joint
from muri_opt.verify.joint.ways import Ways, ways_of
from muri_opt.verify.priorities import weights_of
from muri_opt.verify.sharing_now import RunningJobs, running_jobs

MILLION = 1_000_000
MOST_SAVED = 10
"""How many times as long as a decision stands a restart may take that a job saves by going on."""


class Worker(NamedTuple):
    """A job: the ``ways`` in which it runs alone, and what it is worth.

    ``fresh`` is the work of an iteration where the job starts, or goes on as it is; ``changed`` where it has to
    restart. ``home`` are the GPUs per node that it holds. A job with ``plans`` runs by one of them, and holds what it
    does by the plan of the name ``by``; ``by_gpus`` are then the fastest. A unit of its value counts ``weight``.
    """

    name: str
    ways: Ways
    fresh: int
    changed: int
    home: Mapping[str, int] | None
    by: str | None = None
    weight: int = 1

    @property
    def by_gpus(self) -> Mapping[int, int]:
        """Nanoseconds of an iteration alone, by GPUs."""
        return self.ways.by_gpus

    @property
    def stages(self) -> tuple[int, ...] | None:
        """Nanoseconds of its stages in a period of ``base``; ``None`` if it may not share."""
        return self.ways.stages

    @property
    def base(self) -> int:
        """In which period its stages are as it says them."""
        return self.ways.base

    @property
    def plans(self) -> tuple[PlanEntry, ...]:
        """The plans that it may run by."""
        return self.ways.plans

    def stages_on(self, gpus: int) -> list[int]:
        """Return the times of its stages, rounded up, with so many GPUs."""
        return self.stages_in(self.ways.by_gpus[gpus])

    def stages_in(self, period: int) -> list[int]:
        """Return the same where an iteration alone takes a period."""
        base = self.ways.base
        return [(time * period + base - 1) // base for time in self.stages or ()]


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
        return self.slowed(cycle([job.stages_on(gpus) for job in some], order), len(some))

    def slowed(self, period: int, members: int) -> Fraction:
        """Return the period of a group of so many jobs whose stages alone take one."""
        return period * self.rules.slowdowns[members - 1]

    def value(self, members: Sequence[int], assignment: Assignment, period: int | None = None) -> int:
        """Return what a group adds on GPUs per node, or a job by a plan; 0 where it may not have them.

        The ``period`` of the stages of a group is worked out if it is not known.
        """
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
        taken = self.period(members, count) if period is None else self.slowed(period, len(members))
        return self.worth(members, taken, goes_on=on)

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
    told = ways_of(round_.jobs, rules)
    expected = ExpectedService(rules.samples)
    service = [_service(job, ways, rules, expected) for job, ways in zip(round_.jobs, told, strict=True)]
    parts, behind = behind_guessed(round_.jobs, service) if rules.chance else behind_known(service)
    fixed = gpus * rules.kappa.denominator * parts
    found, unit = [], max(1, fixed)
    every = [ways.within(gpus) for ways in told]
    if rules.power is None:
        works = _least_work(every, fixed, [rules.kappa.numerator * count for count in behind])
    else:
        able = zip(every, told, service, strict=True)
        works = [max(1, fixed) * _by_power(ways, one, rules) if within.by_gpus else 0 for within, ways, one in able]
    for job, ways, fresh in zip(round_.jobs, every, works, strict=True):
        home = job.placement if job.state == "running" and job.placement else None
        stands = _stands(job, ways, rules)
        at_most = (MOST_SAVED if rules.stops else 1) * stands
        lost = min(at_most, max(1, micro(job.restart_seconds or 0.0))) if home is not None and rules.pay else 0
        found.append(
            Worker(
                name=job.id,
                ways=ways,
                fresh=fresh * (stands + lost) // stands if rules.stops else fresh,
                changed=fresh if rules.stops else fresh * (stands - lost) // stands,
                home=home,
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


def _stands(job: Job, ways: Ways, rules: Joint) -> int:
    """Return for how many microseconds a decision stands for a job: of known length no longer than it needs alone."""
    if rules.lengths != "known":
        return rules.horizon
    fastest = (job.remaining_iterations or 0) * ways.shortest // (NANO // MILLION)
    return min(rules.horizon, max(1, fastest))


def _least_work(every: Sequence[Ways], fixed: int, each: Sequence[int]) -> list[int]:
    """Return for each job the least of (``fixed`` + its ``each`` for a GPU) times the time of an iteration, over GPUs.

    It is 0 for a job that can have no GPUs. All are worked out at once, in machine words where these hold the largest.
    """
    able = [at for at, ways in enumerate(every) if ways.by_gpus]
    if not able:
        return [0] * len(every)
    some = [every[at] for at in able]
    counts = [len(ways.gpus) for ways in some]
    most = max(int(ways.gpus[-1]) for ways in some)
    word = word_for((fixed + max(each) * most) * max(ways.longest for ways in some))
    gpus: NDArray[Any] = np.concatenate([ways.gpus for ways in some]).astype(word)
    time: NDArray[Any] = np.concatenate([ways.time for ways in some]).astype(word)
    rate: NDArray[Any] = np.repeat(np.array([each[at] for at in able], dtype=word), counts)
    least = np.minimum.reduceat((fixed + rate * gpus) * time, np.cumsum([0, *counts[:-1]]))
    found = [0] * len(every)
    for at, one in zip(able, least.tolist(), strict=True):
        found[at] = one
    return found


def _most(job: Worker, unit: int, *, shares: bool) -> int:
    """Return what a job is worth at most: in no period shorter than alone, or than its stages one after another."""
    shortest = job.ways.shortest
    if shares and job.stages is not None and shortest:  # its stages are the shorter, the less time an iteration takes
        shortest = min(shortest, sum(job.stages_in(shortest)))
    return MILLION * job.fresh // (unit * shortest) if shortest else 0


def _by_power(ways: Ways, service: int, rules: Joint) -> int:
    """Return the GPU time of an iteration with the fewest GPUs, times (an hour / service) to the power."""
    second = NANO if rules.lengths == "known" else 1000
    hour, mine = (_power(amount, rules.power or Fraction(1)) for amount in (3600 * second, max(service, second)))
    return int(ways.time[0]) * int(ways.gpus[0]) * hour // mine


def _power(amount: int, power: Fraction) -> int:
    """Return the largest number of millionths that is no more than the power of an amount, bit by bit."""
    target, found = amount**power.numerator * MILLION**power.denominator, 0
    for bit in range(target.bit_length() // power.denominator, -1, -1):
        if (found | 1 << bit) ** power.denominator <= target:
            found |= 1 << bit
    return found


def _service(job: Job, ways: Ways, rules: Joint, expected: ExpectedService) -> int:
    """Return by what jobs are ranked: what they still need of one GPU, or what they have had."""
    if rules.lengths == "attained":
        if job.attained_gpu_seconds is None:
            raise InputError(f"job {job.id!r}.attained_gpu_seconds", "nothing", "a number: jobs are ranked by it")
        return expected.of(round(job.attained_gpu_seconds * 1000))
    if job.remaining_iterations is None:
        raise InputError(f"job {job.id!r}.remaining_iterations", "nothing", "a number: jobs are ranked by it")
    return job.remaining_iterations * int(ways.time[0]) * int(ways.gpus[0])
