"""Jobs between their submission and their end: where they run, how far they are, what they have had."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from muri_opt.replay.outcome import Floats, Ints
from muri_opt.replay.workload import Workload

Reason = Literal["fairness", "fragmentation", "capacity"]
REASONS: Final[tuple[Reason, ...]] = ("fairness", "fragmentation", "capacity")
CAPACITY: Final = REASONS.index("capacity")
WHOLE_WITHIN: Final = 1e-6
"""Iterations by which a sum of times may exceed a whole number without counting as begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Jobs, by their position in the workload, on the same GPUs of nodes, by their position in the cluster.

    ``rates`` are iterations a second of each job. A placement without GPUs is for a plan that runs on CPUs only.
    """

    jobs: tuple[int, ...]
    gpus: Mapping[int, int]
    plan: str | None = None
    rates: tuple[float, ...]

    @property
    def count(self) -> int:
        """GPUs on all nodes together."""
        return sum(self.gpus.values())

    def without(self, job: int) -> Placement:
        """Return the placement of the others, who go on as they did."""
        stay = [place for place, member in enumerate(self.jobs) if member != job]
        return Placement(
            jobs=tuple(self.jobs[place] for place in stay),
            gpus=self.gpus,
            plan=self.plan,
            rates=tuple(self.rates[place] for place in stay),
        )


class Accounts:
    """What every job of a workload has had, an entry each; true as of ``since``, when the entry was last settled.

    Only jobs whose circumstances change are settled, so that an event costs no more than what it changes.
    """

    def __init__(self, workload: Workload) -> None:
        jobs, count = workload.jobs, len(workload.jobs)
        self.asked: Ints = np.array([job.gpus for job in jobs], dtype=np.int64)
        self.submitted: Floats = np.array([job.submitted for job in jobs], dtype=np.float64)
        self.total: Floats = np.array([job.remaining_iterations for job in jobs], dtype=np.float64)
        self.solo: Floats = np.array([job.iteration_seconds for job in jobs], dtype=np.float64)
        self.restart: Floats = np.array([job.restart_seconds or 0.0 for job in jobs], dtype=np.float64)
        self.remaining: Floats = self.total.copy()
        self.since: Floats = self.submitted.copy()
        self.rate, self.ready = np.zeros(count), np.zeros(count)
        self.placed: NDArray[np.bool_] = np.zeros(count, dtype=np.bool_)
        self.gpus: Ints = np.zeros(count, dtype=np.int64)
        self.mates: Ints = np.ones(count, dtype=np.int64)
        self.held, self.attained = np.zeros(count), np.zeros(count)
        self.gpu_seconds, self.lost, self.failed = np.zeros(count), np.zeros(count), np.zeros(count)
        self.waits: Floats = np.zeros((len(REASONS), count))
        self.reason: Ints = np.full(count, CAPACITY, dtype=np.int64)
        self.started, self.ended = np.full(count, inf), np.full(count, inf)
        self.fails_in = np.full(count, inf)
        self.restarts: Ints = np.zeros(count, dtype=np.int64)
        self.preemptions: Ints = np.zeros(count, dtype=np.int64)
        self.migrations: Ints = np.zeros(count, dtype=np.int64)

    def settle(self, job: int, now: float) -> None:
        """Bring the entry of a live job up to ``now``: a job with a placement works or restarts, one without waits."""
        since = float(self.since[job])
        passed = now - since
        self.since[job] = now
        if passed <= 0:
            return
        if not self.placed[job]:
            self.waits[self.reason[job], job] += passed
            return
        restarting = min(max(float(self.ready[job]) - since, 0.0), passed)
        worked = passed - restarting
        self.remaining[job] = max(0.0, self.remaining[job] - self.rate[job] * worked)
        self.fails_in[job] -= worked
        gpus = int(self.gpus[job])
        part = gpus / int(self.mates[job])
        self.held[job] += passed
        self.attained[job] += passed * gpus
        self.gpu_seconds[job] += passed * part
        self.lost[job] += restarting * part


@dataclass(slots=True, kw_only=True)
class Live:
    """What a scheduler sees at a moment: the jobs that have arrived and not ended. It reads and changes nothing.

    ``placements`` has that of each job that runs, ``waiting`` the others, ``queued`` those of them that have arrived,
    or failed and come back, since the scheduler was last asked; ``gone`` are those that have ended since then. ``free``
    are GPUs per node. The methods return an entry per position asked for.
    """

    accounts: Accounts
    free: Ints
    now: float = 0.0
    placements: dict[int, Placement] = field(default_factory=dict)
    waiting: set[int] = field(default_factory=set)
    queued: list[int] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    plans: dict[int, str] = field(default_factory=dict)

    @property
    def jobs(self) -> list[int]:
        """All live jobs, in the order of the workload."""
        return sorted([*self.placements, *self.waiting])

    def remaining(self, jobs: Ints) -> Floats:
        """Return the iterations left."""
        known = self.accounts
        begins = np.maximum(known.since[jobs], known.ready[jobs])
        left: Floats = np.maximum(known.remaining[jobs] - known.rate[jobs] * np.maximum(self.now - begins, 0.0), 0.0)
        return left

    def whole_iterations(self, jobs: Ints) -> Ints:
        """Return the iterations left as a round counts them: begun ones are whole, and a live job has at least one."""
        left: Ints = np.maximum(np.ceil(self.remaining(jobs) - WHOLE_WITHIN), 1.0).astype(np.int64)
        return left

    def attained(self, jobs: Ints) -> Floats:
        """Return the GPU seconds each job has had, all GPUs of its placement counted however many share them."""
        known = self.accounts
        had: Floats = known.attained[jobs] + known.gpus[jobs] * (self.now - known.since[jobs])
        return had

    def executed(self, jobs: Ints) -> Floats:
        """Return the seconds each job has had a placement."""
        known = self.accounts
        had: Floats = known.held[jobs] + known.placed[jobs] * (self.now - known.since[jobs])
        return had

    def waited(self, jobs: Ints) -> Floats:
        """Return the seconds each job has waited in all."""
        known = self.accounts
        had: Floats = known.waits[:, jobs].sum(axis=0) + ~known.placed[jobs] * (self.now - known.since[jobs])
        return had


def positions(jobs: Iterable[int]) -> Ints:
    """Return positions as an array."""
    return np.fromiter(jobs, dtype=np.int64)
