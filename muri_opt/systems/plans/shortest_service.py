"""Policy ``srs``: the shortest remaining service first, over all plans and GPU types of a job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import inf
from time import monotonic
from typing import ClassVar, NamedTuple

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.allocation import arrivals, densest_first, sizes
from muri_opt.systems.plans.held_placements import HeldPlacements
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.plans.plan_rules import CHANGES, COMPLETIONS, PlanRules
from muri_opt.systems.plans.policy import PlanPolicy
from muri_opt.systems.policy import Allowed


class Step(NamedTuple):
    """A way for a job to start or to grow, in the order they are taken.

    By level of priorities, promises, gain per GPU (here below 0), whether it restarts, and the arrival of the job.
    """

    level: int
    later: bool
    loss: float
    restarts: bool
    place: int
    option: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortestServicePolicy(PlanPolicy):
    """Shortest remaining service first, each job by the plan and GPU type that needs least of it, and growing by gain.

    The service a job still needs by a plan is the time to its end, with a restart if it is moved, times the plan's
    GPUs; times differ by GPU type where plans do. Jobs start in the order of the least service that any of their
    options needs, by that option or the next that fits. A job that runs grows to another option when the completions
    per second it gains, for each GPU more, are more than what the next job to start has: one over its service.

    The exact program maximises the rate at which jobs are completed, the sum of one over the time that each needs; the
    list is the greedy answer to that. ``change`` is as for ``rubick``.

    >>> policy_from("srs").needs
    ('plans', 'remaining_iterations')
    """

    change: str = "both"

    own_name: ClassVar[str] = "srs"
    needs_beside: ClassVar[tuple[str, ...]] = ("remaining_iterations",)
    choices: ClassVar[Mapping[str, Allowed]] = {**PlanPolicy.choices, "change": CHANGES}

    @property
    def plan_rules(self) -> PlanRules:
        """Which plans a job may run by, worth the completions per second that they are."""
        return PlanRules(change=self.change, objective=COMPLETIONS)

    @property
    def looks_at_clock(self) -> bool:
        """It is done soon after its time is over."""
        return True

    def choose(self, round_: Round, options: PlanOptions, seed: int, until: float = inf) -> Mapping[int, Ints]:
        """Return the nodes of each option that runs."""
        return _stepped(round_, options, HeldPlacements(round_, options), until)

    def keep(self, round_: Round, options: PlanOptions, seed: int) -> Mapping[int, Ints]:
        """Return the same with those that run where they are, as they are."""
        allocation = HeldPlacements(round_, options)
        allocation.stay(arrivals(round_))
        return _stepped(round_, options, allocation)


def _stepped(round_: Round, options: PlanOptions, allocation: HeldPlacements, until: float = inf) -> Mapping[int, Ints]:
    """Return the nodes of each option that runs once no job that was not placed can start or grow, or it is late.

    Jobs still to come that are where they run stay there then; others start, first who is worth most for what it takes.
    """
    steps = _Steps(options, arrivals(round_))
    heap = [step for step in steps.first() if steps.queue[step.place] not in allocation.placements]
    heapify(heap)
    while heap and (until == inf or monotonic() < until):
        step = heappop(heap)
        job = steps.queue[step.place]
        steps.tried[step.option] = True
        allocation.offer(job, step.option)
        for after in steps.next(job, allocation.placements[job].option if job in allocation.placements else None):
            heappush(heap, after)
    if heap:
        allocation.stay(steps.queue)
        for job, wanted in densest_first(round_, options, allocation.placements):
            allocation.start(job, wanted)
    return allocation.chosen


class _Steps:
    """What each job may do next: of the options not ``tried`` yet, the one that gains most for each GPU more."""

    def __init__(self, options: PlanOptions, queue: list[int]) -> None:
        self.queue = queue
        self.tried = [False] * len(options)
        self._options = options
        self._gpus, self._milli, _ = sizes(options)
        self._rate = options.e - options.served * options.guaranteed[options.job]
        self._rates: list[int] = self._rate.tolist()
        self._totals: list[int] = self._gpus.tolist()
        self._millis: list[int] = self._milli.tolist()
        self._moves: list[bool] = (options.home < 0).tolist()
        self._place = {job: place for place, job in enumerate(queue)}

    def first(self) -> list[Step]:
        """Return the first step of each job that has one, if it has nothing: as :meth:`next`, all at once."""
        options, some = self._options, np.flatnonzero(self._rate > 0)
        gpus, rate, job = self._gpus[some], self._rate[some], options.job[some]
        gain = np.where(gpus > 0, rate / np.maximum(gpus, 1), inf)
        moves = options.home[some] < 0
        order = np.lexsort((self._milli[some], moves, -rate, -gain, job))
        best = order[np.unique(job[order], return_index=True)[1]]
        later = ~options.guaranteed[job[best]]
        columns = (options.level[job[best]], later, -gain[best], moves[best], job[best], some[best])
        return [
            Step(level, waits, loss, moved, self._place[one], option)
            for level, waits, loss, moved, one, option in zip(*(column.tolist() for column in columns), strict=True)
        ]

    def next(self, job: int, now: int | None) -> list[Step]:
        """Return the next step of a job that has an option, or none, now: one step, or an empty list."""
        rate, gpus = (0, 0) if now is None else (self._rates[now], self._totals[now])
        best: tuple[float, int, bool, int, int] | None = None
        for option in self._options.of_job(job):
            gain = self._rates[option] - rate
            if gain <= 0 or self.tried[option]:
                continue
            more = self._totals[option] - gpus
            # Of equal gains the larger one in all, then without a restart, then with fewer CPUs.
            per_gpu = gain / more if more > 0 else inf
            key = (-per_gpu, -gain, self._moves[option], self._millis[option], option)
            best = key if best is None else min(best, key)
        if best is None:
            return []
        later = now is not None or not self._options.guaranteed[job]
        return [Step(int(self._options.level[job]), later, best[0], best[2], self._place[job], best[4])]
