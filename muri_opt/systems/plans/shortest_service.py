"""Policy ``srs``: the shortest remaining service first, over all plans and GPU types of a job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import inf
from typing import ClassVar, NamedTuple

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.allocation import arrivals, sizes
from muri_opt.systems.plans.held_seats import HeldSeats
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

    def choose(self, round_: Round, options: PlanOptions, seed: int) -> Mapping[int, Ints]:
        """Return the nodes of each option that runs."""
        return _stepped(round_, options, HeldSeats(round_, options))

    def keep(self, round_: Round, options: PlanOptions, seed: int) -> Mapping[int, Ints]:
        """Return the same with those that run where they are, as they are."""
        seats = HeldSeats(round_, options)
        seats.stay(arrivals(round_))
        return _stepped(round_, options, seats)


def _stepped(round_: Round, options: PlanOptions, seats: HeldSeats) -> Mapping[int, Ints]:
    """Return the nodes of each option that runs once no job that had no seat can start or grow any more."""
    steps = _Steps(options, arrivals(round_))
    heap = [step for job in steps.queue if job not in seats.seats for step in steps.next(job, None)]
    heapify(heap)
    while heap:
        step = heappop(heap)
        job = steps.queue[step.place]
        steps.tried[step.option] = True
        seats.offer(job, step.option)
        for after in steps.next(job, seats.seats[job].option if job in seats.seats else None):
            heappush(heap, after)
    return seats.chosen


class _Steps:
    """What each job may do next: of the options not ``tried`` yet, the one that gains most for each GPU more."""

    def __init__(self, options: PlanOptions, queue: list[int]) -> None:
        self.queue = queue
        self.tried = np.zeros(len(options), dtype=np.bool_)
        self._options = options
        self._gpus, self._milli, _ = sizes(options)
        self._rate = options.e - options.served * options.guaranteed[options.job]
        self._place = {job: place for place, job in enumerate(queue)}

    def next(self, job: int, now: int | None) -> list[Step]:
        """Return the next step of a job that has an option, or none, now: one step, or an empty list."""
        mine = np.array(self._options.of_job(job), dtype=np.int64)
        rate, gpus = (0, 0) if now is None else (self._rate[now], self._gpus[now])
        mine = mine[~self.tried[mine] & (self._rate[mine] > rate)]
        if not len(mine):
            return []
        more = self._gpus[mine] - gpus
        gain = np.where(more > 0, (self._rate[mine] - rate) / np.maximum(more, 1), inf)
        # Of equal gains the larger one in all, then without a restart, then with fewer CPUs.
        keys = (self._milli[mine], self._options.home[mine] < 0, -self._rate[mine], -gain)
        best = int(np.lexsort(keys)[0])
        later = now is not None or not self._options.guaranteed[job]
        level = int(self._options.level[job])
        moves = bool(self._options.home[mine[best]] < 0)
        return [Step(level, later, -float(gain[best]), moves, self._place[job], int(mine[best]))]
