"""What the jobs of a round hold now: how many GPUs, where, and what a change of it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.eligibility import is_lost
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.quantities import microseconds


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PresentShares:
    """Jobs that run and have lost nothing: ``held[j]`` GPUs, ``where[j]`` the nodes and GPUs of each, ``None`` if none.

    ``restart[j]`` is how long a restart takes such a job, in microseconds, and 0 for all others.
    """

    held: Ints
    restart: Ints
    where: tuple[tuple[tuple[int, int], ...] | None, ...]

    @classmethod
    def of(cls, round_: Round) -> PresentShares:
        """Return what the jobs of a round hold."""
        return _present(round_)

    @property
    def any(self) -> bool:
        """Whether any job runs."""
        return bool(self.held.any())

    def is_kept(self, job: int, parts: Sequence[tuple[int, int]]) -> bool:
        """Return whether a job runs now and has exactly these GPUs of nodes."""
        where = self.where[job]
        return where is not None and (where == (*parts,) or sorted(where) == sorted(parts))


@recalled
def _present(round_: Round) -> PresentShares:
    index = round_.cluster.node_index
    held, restart = np.zeros((2, len(round_.jobs)), dtype=np.int64)
    where: list[tuple[tuple[int, int], ...] | None] = [None] * len(round_.jobs)
    for place, job in enumerate(round_.jobs):
        if job.state != "running" or not job.placement or is_lost(round_, place):
            continue
        where[place] = tuple((index[node], gpus) for node, gpus in job.placement.items() if gpus)
        held[place] = sum(job.placement.values())
        restart[place] = microseconds(job.restart_seconds or 0.0)
    return PresentShares(held=held, restart=restart, where=tuple(where))
