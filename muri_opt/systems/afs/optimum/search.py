"""The true elastic optimum: least total completion time when shares may change at any moment, free of charge.

Chapter ``elastic`` of the book has the program and its proof. For every order in which jobs can finish (and arrive)
there is a linear program; HiGHS proposes its optimal basis, exact rationals confirm it. Orders are branched over: a
program that leaves the rest of the order open bounds all of them at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heappop, heappush
from time import perf_counter
from typing import Any

from muri_opt.systems.afs.optimum.jobs import ElasticJobs, alive_sets, next_events
from muri_opt.systems.afs.optimum.program import ElasticProgram, ProgramAnswer, Shares

Piece = tuple[Fraction, Shares]
"""How long a share vector is held."""
Prices = tuple[tuple[Fraction, ...], tuple[Fraction, ...]]
"""Price of a unit of work of every job; price of a second of every period between two arrivals."""
_BRANCH = 4e-3
"""Seconds of one core that a branch takes, for each job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticOptimum:
    """A schedule and a proof of how good it is; times are exact and in the unit of work over speed.

    >>> found = elastic_optimum([[0, 1, 2]], [2], [8], 2)
    >>> found.total_completion, found.bound
    (Fraction(4, 1), Fraction(4, 1))
    """

    total_completion: Fraction
    """Sum over the jobs of completion less arrival."""
    bound: Fraction
    """No schedule has a smaller sum; equal to ``total_completion`` unless time ran out."""
    completions: tuple[Fraction, ...]
    pieces: tuple[Piece, ...]
    """The share vectors held one after another, from the first arrival on."""
    proof: dict[tuple[int, ...], Prices]
    """Prices for every beginning of the order of events (a job that finishes, -1 for the next arrivals) that together
    cover all orders: what ``check_elastic_optimum`` checks."""

    @property
    def proved(self) -> bool:
        """Return whether the schedule is proved optimal."""
        return self.bound == self.total_completion

    @property
    def order(self) -> tuple[int, ...]:
        """Return the jobs in the order they finish."""
        return tuple(sorted(range(len(self.completions)), key=self.completions.__getitem__))

    @property
    def mean_completion(self) -> Fraction:
        """Return the average job completion time."""
        return self.total_completion / len(self.completions)


def branches_in(units: float, jobs: int) -> int:
    """Return how many branches take about so many seconds of one core; it depends on no clock."""
    return max(1, min(10**9, int(units / (_BRANCH * jobs))))


def elastic_optimum(
    speed: Any,
    cap: Any,
    work: Any,
    gpus: int,
    arrivals: Any = None,
    seconds: float | None = None,
    branches: int | None = None,
) -> ElasticOptimum:
    """Return the schedule of least total completion time of elastic jobs on ``gpus`` GPUs, with its proof.

    Job ``j`` does ``speed[j][k]`` per second of its ``work[j]`` on ``k`` GPUs, ``k <= cap[j]``; it is there from the
    start, or from ``arrivals[j]`` on, known beforehand. Numbers may be of any kind and count at their exact value;
    curves may have any shape. The work grows with the number of orders: five jobs on eight GPUs are solved in about a
    second. After ``seconds``, or when so many beginnings of orders were branched (``branches``), the best schedule so
    far is returned with the bound proved by then.

    >>> elastic_optimum([[0, 1, 2], [0, 1, 1]], [2, 2], [8, 4], 2).total_completion
    Fraction(10, 1)
    """
    jobs = ElasticJobs.of(speed, cap, work, gpus, arrivals)
    search = _Search(jobs)
    began, done = perf_counter(), 0
    while search.improvable and (seconds is None or perf_counter() - began < seconds) and done != branches:
        search.branch()
        done += 1
    schedule = search.best
    return ElasticOptimum(
        total_completion=schedule.total,
        bound=min(schedule.total, search.queue[0].bound),
        completions=schedule.completions,
        pieces=schedule.pieces,
        proof={node.events: (node.answer.work_prices, node.answer.time_prices) for node in search.queue},
    )


@dataclass(frozen=True, slots=True)
class _Schedule:
    total: Fraction
    completions: tuple[Fraction, ...]
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, order=True)
class _Node:
    """A beginning of the order of events, and what no schedule that begins so can beat."""

    bound: Fraction
    events: tuple[int, ...]
    answer: ProgramAnswer = field(compare=False)


class _Search:
    """Best-first branching over the order of events: every beginning of an order has a program that bounds it."""

    def __init__(self, jobs: ElasticJobs) -> None:
        self.jobs = jobs
        self.program = ElasticProgram(jobs)
        self.later = jobs.later()
        everything = self.program.solve(alive_sets(jobs, self.later, ()), None)
        self.queue = [_Node(everything.value, (), everything)]
        self.best = _schedule(jobs, everything)

    @property
    def improvable(self) -> bool:
        """Return whether some order may still hold a better schedule."""
        return self.queue[0].bound < self.best.total

    def branch(self) -> None:
        """Replace the most promising beginning by its continuations."""
        before = heappop(self.queue).events
        for event in next_events(self.jobs, self.later, before):
            events = (*before, event)
            answer = self.program.solve(alive_sets(self.jobs, self.later, events), self.best.total)
            heappush(self.queue, _Node(answer.value, events, answer))
            if answer.feasible:
                self.best = min(self.best, _schedule(self.jobs, answer), key=lambda schedule: schedule.total)


def _schedule(jobs: ElasticJobs, answer: ProgramAnswer) -> _Schedule:
    """Return the times of a program in the order of periods and shrinking alive sets, and when each job is done.

    All work is done in any order of the times. If the alive sets are not those of one order of events, jobs finish
    later than the program counted; otherwise no later.
    """
    now, left = jobs.times[0], list(jobs.work)
    ends = [jobs.times[began] for began in jobs.arrival]
    held = sorted(answer.times, key=lambda time: (time[0][0], -time[0][1].bit_count()))
    for _, shares, duration in held:
        for j, k in enumerate(shares):
            if left[j] > 0 and k:
                ends[j] = now + min(duration, left[j] / jobs.speed[j][k])
                left[j] -= jobs.speed[j][k] * duration
        now += duration
    total = sum((end - jobs.times[began] for end, began in zip(ends, jobs.arrival, strict=True)), Fraction(0))
    return _Schedule(total, tuple(ends), tuple((duration, shares) for _, shares, duration in held))
