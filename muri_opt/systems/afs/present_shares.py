"""What the jobs of a round hold now: how many GPUs, where, and what a change of it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.capacity.held_parts import held_parts


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
    where, jobs = held_parts(round_), round_.jobs
    held = [0 if parts is None else sum(gpus for _, gpus in parts) for parts in where]
    restart = [
        0 if parts is None else microseconds(job.restart_seconds or 0.0) for job, parts in zip(jobs, where, strict=True)
    ]
    return PresentShares(
        held=np.array(held, dtype=np.int64),
        restart=np.array(restart, dtype=np.int64),
        where=tuple(None if parts is None else tuple(parts) for parts in where),
    )
