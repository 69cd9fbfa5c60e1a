"""How close together a gang could sit if all jobs were gone that may go.

A relaxation: whoever may go is gone, and all may be anywhere, so that a spread that is impossible here is impossible
in every decision.
"""

from __future__ import annotations

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.philly.job_status import JobStatus
from muri_opt.systems.philly.locality import ANYWHERE, IN_RACK, TOGETHER


def free_of_fixed(round_: Round, status: JobStatus) -> Ints:
    """Return GPUs, milli-CPUs and MiB of each node that no fixed job has."""
    amounts = round_.amounts
    room = np.column_stack([status.gpus, amounts.C, amounts.M])
    rows = [(job, s, units) for job in np.flatnonzero(status.fixed).tolist() for s, units in status.held[job].items()]
    job, node, units = np.array(rows, dtype=np.int64).reshape(len(rows), 3).T
    np.subtract.at(room, node, units[:, None] * np.column_stack([np.ones_like(job), amounts.c[job], amounts.m[job]]))
    return room


class Reach:
    """What gangs could have of the rooms of nodes; equal demands are looked at once."""

    def __init__(self, round_: Round, status: JobStatus, room: Ints) -> None:
        self._amounts, self._status, self._room = round_.amounts, status, room
        self._known: dict[tuple[int, int, int, int], tuple[tuple[int, ...], int]] = {}

    def spreads(self, job: int) -> tuple[int, ...]:
        """Return the ways to sit that the job may have, and that the rooms allow."""
        level = int(self._status.widest[job])
        return tuple(spread for spread in self._look(job)[0] if spread <= level)

    def least(self, job: int) -> int:
        """Return how many GPUs, at least, the job has on each of its nodes if it sits together."""
        return self._look(job)[1]

    def _look(self, job: int) -> tuple[tuple[int, ...], int]:
        amounts = self._amounts
        kind = self._status.kind(job)
        demand = (int(amounts.g[job]), int(amounts.c[job]), int(amounts.m[job]), kind)
        if demand not in self._known:
            self._known[demand] = self._ways(job)
        return self._known[demand]

    def _ways(self, job: int) -> tuple[tuple[int, ...], int]:
        locality, gpus = self._status.locality, int(self._amounts.g[job])
        fewest, near = int(locality.fewest[job]), bool(locality.in_rack[job])
        room = np.minimum(self._amounts.most_gpus([job], *self._room.T), gpus)
        least = max(1, gpus - (fewest - 1) * int(room.max(initial=0)))
        if room.sum() < gpus:
            return (), least
        ways = [ANYWHERE]
        rack = locality.rack if near else np.zeros_like(locality.rack)
        order = np.lexsort((-room, rack))
        place = np.arange(len(order)) - np.searchsorted(rack[order], rack[order])
        if near and np.bincount(rack, weights=room).max() >= gpus:
            ways.append(IN_RACK)
        if np.bincount(rack[order], weights=np.where(place < fewest, room[order], 0)).max() >= gpus:
            ways.append(TOGETHER)
        return tuple(ways), least
