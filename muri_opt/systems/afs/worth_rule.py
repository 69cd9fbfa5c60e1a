"""The rule of the objective *completion*: GPUs go where each of them adds most of what shares are worth."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from muri_opt.systems.curves import Ints


def worth_shares(values: Ints, cap: Ints, gpus: int) -> Ints:
    """Return shares of ``gpus`` in all: the step that adds most for each of its GPUs next, while one fits and adds.

    ``values[j, k]`` is what k GPUs are worth to job j, 0 where it may not have them; ``cap[j]`` is the most it gets.
    A step is several GPUs where the first of them alone add less. Of equal steps that of the first job is taken. If
    gains shrink from GPU to GPU the shares are the best there are.

    >>> worth_shares(np.array([[0, 10, 12, 13], [0, 2, 14, 15]]), np.array([3, 3]), 4)
    array([2, 2])
    """
    shares, left = np.zeros(len(cap), dtype=np.int64), max(0, gpus)
    steps = [step for job, most in enumerate(cap.tolist()) if (step := _step(values, job, 0, min(most, left)))]
    heapify(steps)
    while steps:
        _, job, share = heappop(steps)
        at = int(shares[job])
        if share - at <= left:
            shares[job], left, at = share, left - (share - at), share
        again = _step(values, job, at, min(int(cap[job]), at + left))
        if again:
            heappush(steps, again)
    return shares


def _step(values: Ints, job: int, at: int, most: int) -> tuple[float, int, int] | None:
    """Return the best step of a job from its share: what it adds for a GPU, negated; the job; where it leads."""
    if most <= at:
        return None
    row = values[job]
    gain = (row[at + 1 : most + 1] - row[at]) / np.arange(1, most - at + 1)
    best = int(gain.argmax())
    return (-float(gain[best]), job, at + 1 + best) if gain[best] > 0 else None
