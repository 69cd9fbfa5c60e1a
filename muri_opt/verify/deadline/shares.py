"""Which shares jobs of a round may have, and how fast they run with them, worked out once for each job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.afs.curve import Curve
from muri_opt.verify.demands import is_lost

Home = Mapping[str, int]
"""GPUs by the name of the node."""


class Shares:
    """The shares of a round's jobs; :func:`shares_of` keeps them with the round."""

    def __init__(self, round_: Round) -> None:
        self._round, self._total = round_, round_.cluster.total_gpus
        self._sizes: dict[str, Sequence[int]] = {}

    def sizes(self, job: Job) -> Sequence[int]:
        """Return the numbers of GPUs that a job may have: those of its table within the cluster, or all it asks."""
        found = self._sizes.get(job.id)
        if found is None:
            found = self._sizes[job.id] = self._all_sizes(job)
        return found

    def _all_sizes(self, job: Job) -> Sequence[int]:
        if job.gpus < 1:
            raise InputError(f"job {job.id!r}.gpus", "0", "at least 1: what goes with a GPU is counted by them")
        if job.scaling is None:
            return [job.gpus]
        largest = max(job.scaling) if 1 in job.scaling else len(self.curve(job).speeds)  # refused without 1 GPU
        return range(1, min(largest, self._total) + 1)

    def curve(self, job: Job) -> Curve:
        """Return the curve of an elastic job."""
        return self._curves.get(job.id) or Curve.of(job)

    @cached_property
    def _curves(self) -> dict[str, Curve]:
        elastic = [job for job in self._round.jobs if job.scaling is not None]
        return dict(zip([job.id for job in elastic], Curve.of_all(elastic), strict=True))

    def of_all(self) -> tuple[list[Curve | None], list[Sequence[int]]]:
        """Return the curve of each job of the round, ``None`` for a gang of fixed size, and the GPUs it may have."""
        jobs = self._round.jobs
        return [self._curves.get(job.id) for job in jobs], [self.sizes(job) for job in jobs]

    def home(self, job: Job) -> Home | None:
        """Return the GPUs that a job has now and may keep; one on a node that is down has none."""
        if job.state != "running":
            return None
        held = job.placement or {}
        return None if is_lost(self._round, job) or sum(held.values()) not in self.sizes(job) else held

    def period(self, job: Job, gpus: int) -> float | None:
        """Return how long one iteration takes."""
        return job.iteration_seconds if job.scaling is None else self.curve(job).period_seconds(gpus)


@recalled
def shares_of(round_: Round) -> Shares:
    """Return the shares of a round's jobs, the same object each time."""
    return Shares(round_)
