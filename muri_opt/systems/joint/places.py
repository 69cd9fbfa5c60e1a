"""Where groups run: who can stay stays, then the largest powers of two, then all others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.sharing_now import Held
from muri_opt.systems.capacity import Leftover, best_fit
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
        placing.place((job,), int(placing.free), None)
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
        self._models = models
        self._asks = round_.amounts.g.copy()
        self._left = Leftover(round_, self._asks)
        self.placed: dict[Group, Ints] = {}

    @property
    def free(self) -> int:
        """GPUs that nobody has."""
        return int(self._left.gpus.sum())

    def place(self, group: Group, most: int, seat: Ints | None) -> None:
        """Give a group a place of so many GPUs, or of fewer, if there is one."""
        room: Ints | None = None
        for size in self._sizes(group, most):
            self._asks[list(group)] = size
            if self._left.within_quota(*group):
                room = self._left.room(*group) if room is None else room
                share = best_fit(room, size, seat)
                if share is not None:
                    self._left.take(share, *group)
                    self.placed[group] = share
                    return

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
        period = self._models.period[self._models.kind[list(group)]]
        able = np.flatnonzero((period > 0).all(axis=0))
        if len(group) == 1:
            times = period[0, able]
            able = able[np.append(True, times[1:] < np.minimum.accumulate(times)[:-1])] if len(able) else able
        sizes: list[int] = able[able <= most].tolist()
        return reversed(sizes)
