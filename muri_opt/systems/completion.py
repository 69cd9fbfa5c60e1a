"""What work is worth for completion times: one computation for every system, in whole numbers.

A second of work of job j is worth p_j = min over k of (1 + lambda_j k) / s_j(k), with lambda_j = (jobs with more
service left than j) / GPUs: what the work costs at the price of GPUs at the job's own end. Where lengths are guesses,
jobs with more service left are counted by chance. The page *joint* derives both. Systems differ in what jobs can have,
so they say how long the same work takes with every number of GPUs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Job
from muri_opt.rounds.quantities import MILLISECONDS_PER_SECOND, gpu_milliseconds, microseconds
from muri_opt.systems.whole_quotients import quotient_down

Ints = NDArray[np.int64]
SECOND: Final = 1_000_000
"""Microseconds. Weights are in as many parts of a job, so that a second at weight 1 is a millionth of a job."""
CHANCES: Final = 1000
"""Parts of a job in which jobs that are likely behind another are counted."""
_INT64: Final = 1 << 62
_EXACT: Final = 1 << 53
"""Whole numbers below it are exact as floats."""
_NEARLY: Final = 1e-12
"""A part by which floats may be wrong, and some more."""
_DIGITS: Final = 4
_restart_with: Final = attrgetter("restart_seconds", "gpus")


class Behind(NamedTuple):
    """For each job how many have more service left than it, in ``parts`` of a job."""

    each: Ints
    parts: int

    @classmethod
    def known(cls, service: Sequence[int]) -> Behind:
        """Return those behind jobs that have so much service left."""
        return cls(jobs_behind(service), 1)

    @classmethod
    def guessed(cls, jobs: Sequence[Job], expected: Sequence[int]) -> Behind:
        """Return those that are likely behind jobs which are expected to need so many milliseconds of one GPU.

        That is at least a second and a restart with the GPUs they ask for: nothing can be learned of a job in less, and
        jobs that changed places sooner would do nothing but restart.
        """
        said = list(map(_restart_with, jobs))
        least = {
            (seconds, gpus): max(MILLISECONDS_PER_SECOND, gpu_milliseconds((seconds or 0.0) * gpus))
            for seconds, gpus in set(said)
        }
        return cls(likely_behind(list(map(max, expected, map(least.__getitem__, said)))), CHANCES)

    @classmethod
    def by_attained(cls, jobs: Sequence[Job]) -> Behind:
        """Return the same where a job is expected to need as much service again as it has had."""
        return cls.guessed(jobs, service_attained(jobs))


def jobs_behind(service: Sequence[int]) -> Ints:
    """Return for each job how many have more service left than it.

    >>> jobs_behind([30, 10, 20, 10])
    array([0, 2, 1, 2])
    """
    if max(service, default=0) < _INT64:
        amounts = np.array(service, dtype=np.int64)
        return np.asarray(len(amounts) - np.searchsorted(np.sort(amounts), amounts, side="right"))
    rising = sorted(service)
    return np.array([len(rising) - bisect_right(rising, amount) for amount in service], dtype=np.int64)


def likely_behind(service: Sequence[int]) -> Ints:
    """Return for each job the thousandths of jobs that are likely to need more service than it, if lengths are guesses.

    What a job needs is taken to be exponential with the mean ``service``: of two jobs that expect x and y, the first
    needs more with the chance x / (x + y). Jobs that expect about the same are then worth about the same, and do not
    change places as one of them runs. Expectations are above 0, and are cut to four binary digits.

    >>> likely_behind([30, 10, 10])
    array([ 500, 1250, 1250])
    """
    most = max(service, default=0)
    word = np.int64 if CHANCES * most < _INT64 else object
    if most < _EXACT:
        amounts = np.array(service, dtype=np.int64)
        less = np.maximum(np.frexp(amounts)[1] - _DIGITS, 0)  # floats tell how many binary digits there are
        line: NDArray[Any] = (amounts >> less << less).astype(word)
    else:
        line = np.array([_four_digits(amount) for amount in service], dtype=word)
    levels, of, counts = np.unique(line, return_inverse=True, return_counts=True)
    shares, all_of_both = CHANCES * levels, levels + levels[:, None]
    if word is object:
        chances = (shares // all_of_both).astype(np.int64)
    else:
        chances = quotient_down(shares, shares.astype(np.float64), all_of_both)
    every: Ints = chances @ counts - CHANCES // 2
    return every[of]


def _four_digits(amount: int) -> int:
    """Return an amount with all but its first four binary digits cleared."""
    less = max(0, amount.bit_length() - _DIGITS)
    return amount >> less << less


def service_left(jobs: Sequence[Job]) -> list[int]:
    """Return the service that jobs have left with the GPUs they ask for: microseconds of one GPU.

    >>> service_left([Job(id="a", gpus=2, iteration_seconds=0.5, remaining_iterations=3)])
    [3000000]
    """
    return [
        (job.remaining_iterations or 0) * microseconds(job.iteration_seconds or 0.0) * max(1, job.gpus) for job in jobs
    ]


def service_attained(jobs: Sequence[Job]) -> list[int]:
    """Return the service that jobs have had, in milliseconds of one GPU: how much they have left nobody knows.

    >>> service_attained([Job(id="a", gpus=2, attained_gpu_seconds=0.5)])
    [500]
    """
    seconds = np.array([job.attained_gpu_seconds or 0.0 for job in jobs], dtype=np.float64)
    found: list[int] = np.rint(seconds * MILLISECONDS_PER_SECOND).astype(np.int64).tolist()
    return found


def least_cost(period: NDArray[Any], counts: Ints, behind: Ints, fixed: int, each: int) -> NDArray[Any]:
    """Return for each job the least of (fixed + each x behind x count) x period over its counts, 0 if it has none.

    ``period[j, i]`` is how long job j takes with ``counts[i]`` GPUs, or ``counts[j, i]``, and 0 where it cannot have
    them.

    >>> least_cost(np.array([[12, 8]]), np.array([1, 2]), np.array([3]), 4, 1)
    array([80])
    """
    widest = int(counts.max(initial=0))
    most = (fixed + each * int(behind.max(initial=0)) * widest) * int(period.max(initial=0))
    if most >= _INT64:
        return _least_large_cost(period, counts, behind, fixed, each)
    cost = (fixed + each * behind[:, None] * counts) * period
    never = most + 1
    least: NDArray[Any] = np.where(period > 0, cost, never).min(axis=1, initial=never)
    return np.where(least == never, 0, least)


def _least_large_cost(period: NDArray[Any], counts: Ints, behind: Ints, fixed: int, each: int) -> NDArray[Any]:
    """Return the same where costs are too large for a word: floats tell which of them may be the least."""
    about = (float(fixed) + float(each) * behind[:, None] * counts) * period.astype(np.float64)
    about[period == 0] = np.inf
    rows, places = (
        (about <= about.min(axis=1, initial=np.inf, keepdims=True) * (1 + _NEARLY)) & (period > 0)
    ).nonzero()
    count = np.broadcast_to(counts, period.shape)[rows, places].astype(object)
    cost = (fixed + each * behind[rows].astype(object) * count) * period[rows, places].astype(object)
    least = np.zeros(len(period), dtype=object)
    least[rows] = cost  # any of them, to begin with
    np.minimum.at(least, rows, cost)
    return least


def completion_weights(behind: Behind, period: NDArray[Any], counts: Ints, gpus: int) -> Ints:
    """Return what a second of each job's work is worth, in millionths of a job, rounded down.

    ``period[j, i]`` are the microseconds that a second of its work takes with ``counts[i]`` GPUs, or ``counts[j, i]``,
    0 where it cannot have them; ``gpus`` are those of the cluster.

    >>> completion_weights(Behind.known([30, 10, 20]), np.full((3, 1), SECOND), np.array([1]), 1)
    array([1000000, 3000000, 2000000])
    """
    whole = behind.parts * max(1, gpus)
    cost = least_cost(period, counts, behind.each, whole, 1)
    return np.asarray((cost // whole).astype(np.int64))
