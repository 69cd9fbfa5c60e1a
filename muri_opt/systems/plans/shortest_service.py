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
from muri_opt.systems.plans.allocation import PlanAllocation, Seat, arrivals, sizes
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
    choices: ClassVar[Mapping[str, Allowed]] = {"change": CHANGES}

    @property
    def plan_rules(self) -> PlanRules:
        """Which plans a job may run by, worth the completions per second that they are."""
        return PlanRules(change=self.change, objective=COMPLETIONS)

    def choose(self, round_: Round, options: PlanOptions, seed: int) -> Mapping[int, Ints]:
        """Return the nodes of each option that runs."""
        seats, steps = _Seats(round_, options), _Steps(options, arrivals(round_))
        heap = [step for job in steps.queue for step in steps.next(job, None)]
        heapify(heap)
        while heap:
            step = heappop(heap)
            job = steps.queue[step.place]
            steps.tried[step.option] = True
            seats.offer(job, step.option)
            for after in steps.next(job, seats.option(job)):
                heappush(heap, after)
        return seats.decided.chosen


class _Seats:
    """Who has which seat: those that are ``decided``, and beside them running jobs where they are, until their turn.

    A job whose turn it is takes free room first, and only where there is none that of jobs still to come.
    """

    def __init__(self, round_: Round, options: PlanOptions) -> None:
        self.decided = PlanAllocation(round_, options)
        self._all = PlanAllocation(round_, options)
        self._queue = arrivals(round_)
        self._all.stay(self._queue)

    def option(self, job: int) -> int | None:
        """Return the option that a job was given, if any."""
        seat = self.decided.seats.get(job)
        return None if seat is None else seat.option

    def offer(self, job: int, option: int) -> None:
        """Give a job an option in place of what it has, if there is room for it beside all that is decided."""
        decided, everyone = self.decided, self._all
        before, here = decided.seats.get(job), everyone.seats.get(job)
        for allocation in (decided, everyone):
            if job in allocation.seats:
                allocation.leave(job)
        own = None if before is None else before.nodes
        seat = None
        if decided.free.within_quota(job) and (decided.options.home[option] >= 0 or decided.free.fits(option)):
            seat = everyone.seat_for(option, own) or decided.seat_for(option, own)
        if seat is not None:
            self._clear(seat)
            decided.take(job, *seat)
            everyone.take(job, *seat)
            return
        if before is not None:
            decided.take(job, *before)
        if here is not None:
            everyone.take(job, *here)

    def _clear(self, seat: Seat) -> None:
        """Let jobs still to come leave nodes, the latest first, until there is room for a seat."""
        everyone = self._all
        for node in seat.nodes.tolist():
            waiting = [job for job in everyone.on_node[node] if job not in self.decided.seats]
            for job in sorted(waiting, key=self._queue.index, reverse=True):
                if everyone.free.has_room(seat.option, seat.nodes, node):
                    break
                everyone.leave(job)


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
