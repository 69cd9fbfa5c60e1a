"""Placements given one after another while running jobs hold theirs until their turn comes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.allocation import PlanAllocation, PlanPlacement, arrivals
from muri_opt.systems.plans.options import PlanOptions


class HeldPlacements(PlanAllocation):
    """An allocation beside which every running job is still where it runs, until its turn.

    A job whose turn it is takes free room first, and only where there is none that of jobs still to come: who keeps a
    plan is not moved because another job happened to be placed before it. Where nothing runs this is an allocation
    like any other.
    """

    def __init__(self, round_: Round, options: PlanOptions) -> None:
        super().__init__(round_, options)
        self._queue = {job: place for place, job in enumerate(arrivals(round_))}
        self._all: PlanAllocation | None = None
        if options.homes:
            self._all = PlanAllocation(round_, options)
            self._all.stay(self._queue)

    def start(self, job: int, wanted: Iterable[int], own: Ints | None = None) -> bool:
        """Place a job by the first of the options that fits; return whether one did, within its tenant's quota."""
        if job in self.placements or not self.free.within_quota(job):
            return False
        return any(self.offer(job, option, own) for option in self.free.first_fitting(wanted))

    def take_all(self, chosen: Mapping[int, Ints]) -> None:
        """Place jobs by options on nodes where they have room together; none of them has a placement.

        Those that are already where they are to stay need no more room.
        """
        known = {} if self._all is None else self._all.placements
        jobs = self.options.job[list(chosen)].tolist()
        if self._all is None or all(
            job in known and known[job].option == option for job, option in zip(jobs, chosen, strict=True)
        ):
            super().take_all(chosen)
            return
        for job, (option, nodes) in zip(jobs, chosen.items(), strict=True):
            self.take(job, option, nodes)

    def take(self, job: int, option: int, nodes: Ints) -> None:
        """Place a job that has no placement; jobs still to come that are in the way lose theirs."""
        if self._all is not None:
            if job in self._all.placements:
                self._all.leave(job)
            self._clear(self._all, PlanPlacement(option, nodes))
            self._all.take(job, option, nodes)
        super().take(job, option, nodes)

    def offer(self, job: int, option: int, own: Ints | None = None) -> bool:
        """Give a job an option in place of what it has, if there is room for it beside all that is decided."""
        before = self.placements.get(job)
        here = None if self._all is None else self._all.placements.get(job)
        if before is None and here is not None and here.option == option and self.free.within_quota(job):
            super().take(job, *here)  # it stays where it is
            return True
        if before is not None:
            self.leave(job)
            own = before.nodes
        if self._all is not None and here is not None:
            self._all.leave(job)
        placement = self._placement(job, option, own)
        if placement is not None:
            self.take(job, *placement)
            return True
        if before is not None:
            self.take(job, *before)
        elif self._all is not None and here is not None:
            self._all.take(job, *here)
        return False

    def open_room(self, option: int) -> Ints:
        """Return the nodes with room for a part of an option beside jobs still to come, or where they are too few all.

        The placement of its own job counts as free.
        """
        everyone, job = self._all, int(self.options.job[option])
        if everyone is not None:
            here = everyone.placements.get(job)
            if here is not None:
                everyone.leave(job)
            room = np.flatnonzero(everyone.free.room(option))
            if here is not None:
                everyone.take(job, *here)
            if len(room) >= self.options.q[option]:
                return room
        return np.flatnonzero(self.free.room(option))

    def _placement(self, job: int, option: int, own: Ints | None) -> PlanPlacement | None:
        """Return where an option fits beside everyone, or else beside those that are decided."""
        if not self.free.within_quota(job) or not self._fits(option):
            return None
        beside = None if self._all is None else self._all.placement_for(option, own)
        return beside or self.placement_for(option, own)

    def _fits(self, option: int) -> bool:
        """Return whether an option may have room; many jobs need the same, so that this is often known."""
        return not self.options.moves[option] or self.free.fits(option)

    def _clear(self, everyone: PlanAllocation, placement: PlanPlacement) -> None:
        """Let jobs still to come leave nodes, the latest first, until there is room for a placement."""
        for node in placement.nodes.tolist():
            waiting = [job for job in everyone.on_node[node] if job not in self.placements]
            for job in sorted(waiting, key=self._queue.__getitem__, reverse=True):
                if everyone.free.has_room(placement.option, placement.nodes, node):
                    break
                everyone.leave(job)
