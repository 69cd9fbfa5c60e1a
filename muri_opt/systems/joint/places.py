"""Where groups run: who can stay stays, then the largest powers of two, then all others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.free_capacity import FreeCapacity
from muri_opt.rounds.sharing_now import Held
from muri_opt.systems.capacity.held_parts import Parts
from muri_opt.systems.capacity.room_sets import RoomSets
from muri_opt.systems.joint.job_model import Models
from muri_opt.systems.joint.worth import Worth

Group = tuple[int, ...]


Seat = tuple[int, Ints | None]
"""What a group saves by staying somewhere, and where; 0 and none for one that goes anywhere."""


def place_groups(
    round_: Round, models: Models, worth: Worth, groups: Sequence[Group], gpus: Sequence[int], seats: Sequence[Seat]
) -> dict[Group, Ints]:
    """Return GPUs per node of the groups that find a place: those that save most by staying first.

    Where CPUs, memory or a quota leave no room, a group gets the next smaller number of GPUs that all its members can
    have. Jobs that are left over are tried alone at last, those of the most value for a GPU first.
    """
    placing = _Placing(round_, models)
    line = sorted(
        range(len(groups)),
        key=lambda at: (-seats[at][0], bool(gpus[at] & (gpus[at] - 1)), -gpus[at], groups[at]),
    )
    for at in line:
        placing.place(groups[at], gpus[at], seats[at][1])
    for job in placing.left_over(worth):
        placing.place((job,), placing.free, None)
    return placing.placed


def held_on(round_: Round, held: Held) -> Ints:
    """Return GPUs per node of a placement."""
    share = np.zeros(len(round_.cluster.nodes), dtype=np.int64)
    for node, gpus in held:
        share[round_.cluster.node_index[node]] = gpus
    return share


class _Placing:
    """What is placed so far, and what is left."""

    def __init__(self, round_: Round, models: Models) -> None:
        amounts = round_.amounts
        self._models, self._nodes = models, len(amounts.G)
        self._cpus: list[int] = amounts.c.tolist()
        self._memory: list[int] = amounts.m.tolist()
        self._tenant: list[int] = amounts.tenant.tolist()
        self._quota = FreeCapacity(amounts)
        self._rooms = RoomSets(amounts.G.tolist(), amounts.C.tolist(), amounts.M.tolist())
        self.free = int(amounts.G.sum())
        """GPUs that nobody has."""
        self.placed: dict[Group, Ints] = {}

    def _kind(self, group: Group) -> tuple[int, int]:
        """Return the milli-CPUs and MiB with each GPU of a group."""
        return sum(self._cpus[job] for job in group), sum(self._memory[job] for job in group)

    def place(self, group: Group, most: int, seat: Ints | None) -> None:
        """Give a group a place of so many GPUs, or of fewer, if there is one."""
        kind = self._kind(group)
        for size in self._sizes(group, most):
            if size <= self.free and self._within_quota(group, size):
                parts = self._fit(kind, size, seat)
                if parts is not None:
                    self._take(group, kind, parts, size)
                    return

    def _fit(self, kind: tuple[int, int], size: int, seat: Ints | None) -> Parts | None:
        """Return GPUs of nodes: those of the seat if they are so many and free."""
        if seat is not None and int(seat.sum()) == size:
            used = seat.nonzero()[0]
            held = list(zip(used.tolist(), seat[used].tolist(), strict=True))
            if self._rooms.holds(kind, held):
                return held
        return self._rooms.best_fit(kind, size)

    def _within_quota(self, group: Group, size: int) -> bool:
        asked = Counter(self._tenant[job] for job in group)
        return all(self._quota.has_quota(tenant, count * size) for tenant, count in asked.items())

    def _take(self, group: Group, kind: tuple[int, int], parts: Parts, size: int) -> None:
        self._rooms.take(kind, parts)
        for job in group:
            self._quota.charge(self._tenant[job], size)
        share = np.zeros(self._nodes, dtype=np.int64)
        for node, gpus in parts:
            share[node] = gpus
        self.free -= size
        self.placed[group] = share

    def left_over(self, worth: Worth) -> Iterator[int]:
        """Yield the jobs without a place while GPUs are free, those of the most value for a GPU first."""
        if not self.free:
            return
        placed = {job for group in self.placed for job in group}
        jobs = [job for job in range(len(self._models)) if job not in placed]
        period = self._models.period[self._models.kind[jobs]].astype(np.float64)
        cost = np.where(period > 0, period * np.arange(period.shape[1]), np.inf)
        density = worth.work[jobs].astype(np.float64) / cost.min(axis=1, initial=np.inf)
        for at in np.lexsort((jobs, -density)).tolist():
            if not self.free:
                return
            if density[at] > 0:
                yield jobs[at]

    def _sizes(self, group: Group, most: int) -> Iterator[int]:
        """Yield the GPU counts of all members, descending, those a smaller one would beat left out for a job alone."""
        models = self._models
        shared = len(group) > 1 and most < models.period.shape[1]
        if shared and all(models.period[models.kind[job], most] for job in group):
            yield most
            most -= 1
        period = models.period[models.kind[list(group)]]
        able = np.flatnonzero((period > 0).all(axis=0))
        if len(group) == 1:
            times = period[0, able]
            able = able[np.append(True, times[1:] < np.minimum.accumulate(times)[:-1])] if len(able) else able
        yield from reversed(able[able <= most].tolist())
