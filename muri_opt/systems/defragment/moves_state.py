"""Jobs on nodes while they are being moved, and what the moves come to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muri_opt.systems.capacity import best_fit
from muri_opt.systems.capacity.jobs_on_nodes import JobsOnNodes
from muri_opt.systems.defragment.running_jobs import Start


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Where moved jobs end, and where the waiting job goes: GPUs per node."""

    moved: Mapping[int, Mapping[int, int]]
    hosts: Mapping[int, int]

    def cost(self, start: Start) -> int:
        """Return moved GPUs and moved jobs in one number."""
        return sum(start.cost(j) for j in self.moved)


class Layout(JobsOnNodes[Mapping[int, int]]):
    """Where every movable job is now; jobs are taken off their nodes and put on others."""

    def __init__(self, start: Start) -> None:
        super().__init__(start.round_.amounts, cpus_alone=True)
        self.start = start
        self.left[:] = start.room.T  # beside the jobs that stay
        for job in (*start.single, *start.spread):
            self.put(job, start.held[job])

    def replaced(self, jobs: Iterable[int], closed: NDArray[np.bool_], last: NDArray[np.bool_]) -> bool:
        """Put jobs on the tightest nodes, the largest first; ``False``, and nothing done, if one fits nowhere.

        Nodes in ``closed`` take none, those in ``last`` only what fits on no other.
        """
        done: list[int] = []
        for job in sorted(jobs, key=lambda j: (-int(self.start.size[j, 0]), j)):
            share = self._place(job, ~closed & ~last) or self._place(job, ~closed)
            if share is None:
                for other in done:
                    self.take(other)
                return False
            self.put(job, share)
            done.append(job)
        return True

    def plan(self, hosts: Mapping[int, int]) -> Plan:
        """Return the jobs that are elsewhere than at the start."""
        held = self.start.held
        return Plan(moved={j: share for j, share in sorted(self.at.items()) if share != held[j]}, hosts=hosts)

    def _place(self, job: int, usable: NDArray[np.bool_]) -> dict[int, int] | None:
        """Return the tightest node for a job, or for a spread one as few nodes as can be, no more than it has."""
        start = self.start
        nodes = len(start.held[job])
        if nodes == 1:
            fitting = np.flatnonzero((self.gpus >= start.size[job, 0]) & usable & start.may(job))
            if start.size[job, 1:].any():
                fitting = fitting[(self.left[:, fitting] >= start.size[job][:, None]).all(axis=0)]
            if not len(fitting):
                return None
            tightest = int(fitting[np.argmin(self.gpus[fitting])])
            return {tightest: int(start.size[job, 0])}
        room = np.where(usable, start.fits(job, self.left.T), 0)
        for part in start.parts(job):
            share = best_fit(room * part, int(start.size[job, 0]))
            if share is not None and np.count_nonzero(share) <= nodes:
                return {int(s): int(share[s]) for s in np.flatnonzero(share)}
        return None
