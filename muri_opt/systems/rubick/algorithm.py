"""Rubick's algorithm: plans and resources of all jobs at once, one job after another by slope.

Algorithm 1 of the paper (Zhang and others, MLSys 2025, arXiv 2408.08586). Its parts are here:

* the main loop: :meth:`Reallocation.run`;
* ``SortBySlope``: :meth:`Reallocation.by_slope`, by the slopes of :meth:`.slopes.Curves.slope`;
* the allocation for one job: :meth:`Reallocation.serve`, and :meth:`Reallocation.force` for one below its guarantee;
* room on a node: :func:`.reclaim.move_to`, what is free there and then what others give, GPUs, CPUs, memory in turn;
* ``GetLowestSlopeOverMinJob``: :meth:`.node_occupants.Occupants.after`, who gives next, never below its guarantee;
* ``GetBestPlan``: options of a job are tried in the order of their worth (``Curves.best_first``).

What is worked out more than once is remembered in :class:`.cached_costs.CachedCosts`, which changes no decision.
"""

from __future__ import annotations

from math import inf
from time import monotonic

import numpy as np

from muri_opt.systems.plans.allocation import guaranteed_first
from muri_opt.systems.rubick.cached_costs import CachedCosts
from muri_opt.systems.rubick.reclaim import Move, Offer, move_to, offers
from muri_opt.systems.rubick.state import State


class Reallocation:
    """One run of the algorithm on an allocation, which it changes, and which is a valid one at any moment.

    Where it is ``until`` that moment (of ``time.monotonic``) not done, whoever waits starts by the best option that
    fits what is free, and that is all.
    """

    def __init__(self, state: State, until: float = inf) -> None:
        self._state = state
        self._until = until
        self._costs = CachedCosts(state, level=0, is_late=self._is_late)
        self._jobs = list(state.rank)

    def run(self) -> None:
        """Run the algorithm for the jobs of each level of priorities, the first one first.

        Those of later levels give whatever the others gain by; those of earlier ones have what they have.
        """
        levels = self._state.level
        for level in range(max(levels, default=-1) + 1):
            self._jobs = [job for job in self._state.rank if levels[job] == level]
            self._costs = CachedCosts(self._state, level=level, is_late=self._is_late)
            if not self._run_level():
                self._fill()
                return

    def _run_level(self) -> bool:
        """Serve guaranteed jobs that do not run, then every job by its slope; what is free at last to the steepest.

        Return whether there was time for all of that.
        """
        state, guaranteed = self._state, self._state.options.guaranteed.tolist()
        for job in self._jobs:
            if guaranteed[job] and job not in state.placements and not self.serve(job, taking=True):
                if self._is_late():
                    return False
                self.force(job)
        changes, taking = 1, True
        while changes:  # what one job left free by a change, another may take
            changes = 0
            for job in self.by_slope():
                if self._is_late():
                    return False
                changes += self.serve(job, taking=taking)
            taking = False
        return True

    def _is_late(self) -> bool:
        return self._until < inf and monotonic() >= self._until

    def _fill(self) -> None:
        """Start whoever waits by the best option that fits what is free, by level and promise, then submission."""
        state = self._state
        for job in guaranteed_first(state.options, list(state.rank)):
            state.start(job, state.curves.best_first[job])

    def by_slope(self) -> list[int]:
        """Return the jobs that could gain: those that starve and wait, then the steepest first; equals by submission.

        A job that waits is among them whatever it would gain.
        """
        state = self._state
        slopes = {job: self._costs.slope(job) for job in self._jobs}

        def key(job: int) -> tuple[bool, float]:
            starves = job in state.starving and job not in state.placements
            return not starves, -inf if starves else -slopes[job]

        return sorted((job for job in self._jobs if slopes[job] > 0 or job not in state.placements), key=key)

    def serve(self, job: int, *, taking: bool) -> bool:
        """Give a job the option that adds most throughput, what others lose taken off; return whether it got one.

        From others it is taken only where ``taking`` says so. A job that waits may also start where that adds nothing.
        """
        state, costs = self._state, self._costs
        if costs.refuses(job, taking=taking) or (job not in state.placements and not state.free.within_quota(job)):
            return False
        move = self._best_move(job, taking=taking)
        if move is None:
            costs.refuse(job, taking=taking)
            return False
        self._make(job, move)
        return True

    def force(self, job: int) -> bool:
        """Start a guaranteed job by the smallest option for which room can be made; return whether there is one."""
        state = self._state
        if not state.free.within_quota(job):
            return False
        options = sorted(state.options.of_job(job), key=lambda o: state.curves.total[o])
        for offer in offers(state, self._costs, job, options, state.short(options), forced=True):
            move = move_to(state, self._costs, job, offer, forced=True)
            if move is not None:
                self._make(job, move)
                return True
        return False

    def _best_move(self, job: int, *, taking: bool) -> Move | None:
        """Return the move with the highest net gain.

        Options come worth most first: one that fits into free room needs nobody, so nothing after it can beat it.
        """
        state, costs = self._state, self._costs
        placement, now = state.placements.get(job), state.option(job)
        if placement is None and self._finds_nothing(job, taking=taking):
            return None
        reach = [o for o in state.within_reach(job) if placement is None or state.curves.gain(now, o) > 0]
        best: Move | None = None
        asked: list[Offer] = []
        if placement is not None:
            state.free.give(*placement)
        short = state.short(reach)
        taking = taking and not (placement is None and np.all(short[:, 0]) and costs.too_flat(job))
        room: list[bool] = np.any(~np.any(short, axis=1), axis=1).tolist()
        for at, option in enumerate(reach):
            gain = state.curves.gain(now, option)
            if best is not None and best.net >= gain:
                break
            free = state.placement_for(option, None if placement is None else placement.nodes) if room[at] else None
            if free is not None:
                best = Move(option=free.option, nodes=free.nodes, net=gain)
                break
            if taking:
                asked = asked or offers(state, costs, job, reach, short)
                above = 0 if best is None else best.net
                if gain - above > asked[at].least:
                    best = move_to(state, costs, job, asked[at], above) or best
        if placement is not None:
            state.free.take(*placement)
        return best

    def _finds_nothing(self, job: int, *, taking: bool) -> bool:
        """Return whether it is known at once that a job that waits gets nothing, as is so for most of many."""
        state = self._state
        if taking:
            return state.curves.fewest[job] > state.free.gpus.max(initial=0) and self._costs.too_flat(job)
        return not any(state.free.fits(option) for option in state.curves.best_first[job])

    def _make(self, job: int, move: Move) -> None:
        """Change the options of those who give, then place the job."""
        state = self._state
        for other, placement in move.given.items():
            self._costs.forget(state.placements[other].nodes)
            state.leave(other)
            if placement is not None:
                state.take(other, *placement)
        if job in state.placements:
            self._costs.forget(state.placements[job].nodes)
            state.leave(job)
        state.take(job, move.option, move.nodes)
        self._costs.forget(move.nodes)
