"""What shares are worth to elastic jobs, kept as they are or changed, in exact whole numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.memoise import recalled
from muri_opt.systems.afs.node_sizes import share_sizes
from muri_opt.systems.afs.present_shares import PresentShares
from muri_opt.systems.completion import SECOND, Behind, completion_weights
from muri_opt.systems.curves import MOST_SPEED, NEVER, Curves

MICROSECONDS_PER_HUNDREDTH: Final = 10_000
WEIGHT: Final = 10**10
SHORTEST: Final = 1000
"""The root of a second in microseconds: no job weighs more than one of a second."""
THOUSANDTHS: Final = 1000
MILLIONTHS: Final = 1_000_000
JOBS_FIRST: Final = "jobs-then-"
"""How objectives begin that count the jobs that run before anything else."""
OBJECTIVES: Final = ("speed", "speed-up", "time", "jobs-then-speed", "jobs-then-speed-up", "completion")
BY_ATTAINED: Final = "completion-attained"
"""What the objective *completion* is called where lengths are not known and attained service stands for them."""
UNTIMED: Final = ("speed-up", "jobs-then-speed-up", BY_ATTAINED)
"""Objectives that do not look at how long jobs are."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShareValues:
    """``fresh[j, k]``, what k GPUs are worth to job j if it starts or goes on as it is; ``changed`` if it restarts.

    What a job may not have is worth nothing. Only a job that runs now restarts; for others the two are the same.

    >>> ShareValues.of(shipped_round("toy/three-elastic"), "speed-up", "any", None).fresh[0]
    array([   0, 1000, 1800, 2400,    0])
    """

    fresh: Ints
    changed: Ints

    @classmethod
    def of(cls, round_: Round, objective: str, packing: str, horizon: int | None) -> ShareValues:
        """Return the values by an objective; ``horizon`` is how long a decision stands, ``None`` if restarts are free.

        Under ``speed`` a share is worth its speed against one GPU, over the root of the time the job takes on one GPU;
        under ``speed-up`` the same with no weight, for jobs of unknown length. A job that restarts works only for the
        horizon less its restart, or for as long as it still needs with the GPUs that make it fastest, if that is less:
        it is worth that part, in millionths. ``jobs-then-speed`` and ``jobs-then-speed-up`` add, for every job that
        runs, one more than all jobs together can be worth by that: the number of jobs comes first. Under ``time`` a
        share is worth Q - t_j(k), hundredths of a second, where Q is just above the sum of all t_j(1) and of all
        restarts: one more job that runs outweighs any speed, and among equally many the sum of their remaining times
        is least. A restart adds to t. Under ``completion`` a share is worth its speed against the fastest that the
        job can have, times what a second of work at that speed is worth for completion times, in millionths of a job;
        jobs are ranked by the time they take on one GPU; under ``completion-attained`` they are expected to need as
        much service again as they have had, and count by chance.
        """
        return _values(round_, objective, packing, horizon)

    def of_jobs(self, jobs: Sequence[int]) -> ShareValues:
        """Return the values of some jobs, in this order."""
        return ShareValues(fresh=self.fresh[jobs], changed=self.changed[jobs])

    def of_placed(self, present: PresentShares, placed: Mapping[int, Sequence[tuple[int, int]]]) -> int:
        """Return what nodes and GPUs of some jobs are worth, beside what all jobs hold now."""
        jobs = np.fromiter(placed, dtype=np.int64, count=len(placed))
        gpus = np.array([sum(part for _, part in parts) for parts in placed.values()], dtype=np.int64)
        kept = np.array([present.is_kept(job, parts) for job, parts in placed.items()], dtype=bool)
        worth = np.where(kept, self.fresh[jobs, gpus], self.changed[jobs, gpus])
        return sum(worth.tolist())


@recalled
def _values(round_: Round, objective: str, packing: str, horizon: int | None) -> ShareValues:
    curves = Curves.of(round_.jobs, round_.cluster.total_gpus)
    width = curves.speed.shape[1]
    legal = np.zeros(width, dtype=bool)
    sizes = share_sizes(round_.cluster, packing)
    legal[sizes[sizes < width]] = True
    may = legal & (np.arange(width) <= curves.cap[:, None])
    may[:, 0] = False
    restart = np.zeros(len(round_.jobs), dtype=np.int64) if horizon is None else PresentShares.of(round_).restart
    work = [job.remaining_iterations or 0 for job in round_.jobs]
    if objective == "time":
        fresh, changed = _by_time(curves.microseconds(work), restart)
    else:
        timed = objective not in UNTIMED
        if objective.startswith("completion"):
            behind = Behind.known(curves.alone(work).tolist()) if timed else Behind.by_attained(round_.jobs)
            fresh = changed = _worth(curves, may, behind, round_.cluster.total_gpus)
        else:
            fresh = changed = _speeds(curves, curves.alone(work) if timed else None)
        if restart.any():
            stands = np.full(len(work), horizon, dtype=np.int64)
            changed = _charged(fresh, restart, np.minimum(stands, curves.fastest(work)) if timed else stands)
        if objective.startswith(JOBS_FIRST):
            runs = 1 + int(np.where(may, fresh, 0).max(axis=1, initial=0).sum())
            same = changed is fresh
            fresh = fresh + runs
            changed = fresh if same else changed + runs
    same = changed is fresh
    fresh = np.where(may, fresh, 0)
    return ShareValues(fresh=fresh, changed=fresh if same else np.where(may, changed, 0))


def _by_time(time: Ints, restart: Ints) -> tuple[Ints, Ints]:
    left = time // MICROSECONDS_PER_HUNDREDTH
    longer = np.where(restart > 0, 1 + restart // MICROSECONDS_PER_HUNDREDTH, 0)
    most = 1 + left[:, 1].sum() + longer.sum() if len(left) else 1
    fresh = most - left
    if not restart.any():
        return fresh, fresh
    return fresh, most - (time + restart[:, None]) // MICROSECONDS_PER_HUNDREDTH


def _speeds(curves: Curves, alone: Ints | None) -> Ints:
    """Return the speed of each share against one GPU, times the weight of its job."""
    jobs = len(curves.cap)
    weight = np.full(jobs, THOUSANDTHS, dtype=np.int64) if alone is None else speed_weights(alone)
    one = np.maximum(curves.speed[:, 1:2], 1)
    return weight[:, None] * curves.speed // one


def _worth(curves: Curves, may: NDArray[np.bool_], behind: Behind, gpus: int) -> Ints:
    """Return the speed of each share against the fastest that a job may have, times what a second at that is worth."""
    speed = np.where(may, curves.speed, 0)
    fastest = np.maximum(speed.max(axis=1, initial=0), 1)[:, None]
    period = np.zeros_like(speed)
    np.floor_divide(SECOND * fastest + speed - 1, speed, out=period, where=speed > 0)
    weight = completion_weights(behind, period, np.arange(speed.shape[1]), gpus)[:, None]
    word = np.int64 if int(weight.max(initial=0)) * MOST_SPEED < NEVER else object
    return np.asarray((weight.astype(word) * speed.astype(word) // fastest.astype(word)).astype(np.int64))


def speed_weights(alone: Ints) -> Ints:
    """Return what a job's speed against one GPU weighs: less, the longer it takes ``alone`` on one, by the root."""
    return np.array([WEIGHT // max(SHORTEST, isqrt(time)) for time in alone.tolist()], dtype=np.int64)


def _charged(values: Ints, restart: Ints, stands: Ints) -> Ints:
    """Return what is left of values if jobs restart: the part of the time for which shares stand."""
    has = np.maximum(1, stands)
    if int(has.max(initial=1)) > np.iinfo(np.int64).max // MILLIONTHS:
        has = has.astype(object)
    part = np.where(restart > 0, MILLIONTHS * np.maximum(0, has - restart) // has, MILLIONTHS).astype(np.int64)[:, None]
    return values // MILLIONTHS * part + values % MILLIONTHS * part // MILLIONTHS
