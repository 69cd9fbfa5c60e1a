"""How fast jobs run that share GPUs freely, each at its own pace: mean value analysis of a closed network.

Every job is one customer that goes round its stages. A resource that the jobs share is a station, which serves those
that are there in equal parts; of one of which every job has its own part (CPU cores, by default) no job waits for
another. The time that job j spends at a station r, among a set S of jobs, is its stage time, t_jr, stretched by who is
there when it comes: those of the other jobs that would be there without it. So sets are gone through from the smallest
on, sixteen for four jobs (Reiser and Lavenberg 1980; book, chapter *grouping*).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.quantities import microseconds

MILLION = 1_000_000
"""Rates, and the lengths of queues, are whole millionths: each is rounded down once, at the same place everywhere."""
MOST_JOBS = 4
"""Jobs up to which a product of the numbers below fits a machine word."""
_BLOCK = 1 << 16


def free_rates(stages: Ints, own: tuple[bool, ...]) -> Ints:
    """Return the rate of each job of m groups of p jobs, against running alone, in parts per million.

    ``stages[g, j, r]`` is the time of stage r of the j-th job of group g in whole microseconds, and ``own[r]`` says of
    which resources every job has its own part. A job that takes no time in any stage is as fast as alone.

    >>> free_rates(np.array([[[1, 2], [2, 1]]]), (False, False))
    array([[692307, 692307]])
    """
    groups, jobs, kinds = stages.shape
    if jobs > MOST_JOBS or kinds != len(own):
        raise InputError("stages", f"{jobs} jobs of {kinds} stages", f"at most {MOST_JOBS} of {len(own)}")
    rates = np.empty((groups, jobs), dtype=np.int64)
    for first in range(0, groups, _BLOCK):
        rates[first : first + _BLOCK] = _rates(_parts(stages[first : first + _BLOCK]), np.array(own, dtype=np.bool_))
    return rates


def rates_together(stage_seconds: Sequence[Sequence[float]], own: Sequence[bool]) -> tuple[float, ...]:
    """Return the rate of each job of one group that runs freely, against running alone.

    >>> rates_together([(1.0, 2.0, 1.0, 0.0), (0.0, 20.0, 20.0, 0.0)], own=(False, True, False, False))
    (0.888888, 0.888888)
    """
    stages = np.array([[[microseconds(time) for time in times] for times in stage_seconds]], dtype=np.int64)
    return tuple(rate / MILLION for rate in free_rates(stages, tuple(own))[0].tolist())


def _parts(stages: Ints) -> Ints:
    """Return which part of an iteration each stage takes, in millionths; all are 0 where a job takes no time."""
    whole = np.maximum(1, stages.sum(axis=2, keepdims=True))
    kind = np.int64 if int(whole.max(initial=1)) < (1 << 62) // MILLION else object
    return np.asarray((stages.astype(kind) * MILLION // whole.astype(kind)).astype(np.int64))


def _rates(parts: Ints, own: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Ints:
    """Return the rates in the set of all jobs; the bits of a number say who is in a set."""
    groups, jobs, kinds = parts.shape
    everybody = (1 << jobs) - 1
    queues = np.zeros((1 << jobs, groups, kinds), dtype=np.int64)
    rates = np.full((groups, jobs), MILLION, dtype=np.int64)
    for some in range(1, 1 << jobs):
        for job in range(jobs):
            if not some >> job & 1:
                continue
            there = np.where(own, 0, queues[some ^ 1 << job])
            spent = parts[:, job] * (MILLION + there)
            whole = np.maximum(1, spent.sum(axis=1))
            queues[some] += MILLION * spent // whole[:, None]
            if some == everybody:
                alone = parts[:, job].sum(axis=1)
                rates[:, job] = np.where(alone > 0, MILLION * MILLION * alone // whole, MILLION)
    return rates
