"""Which GPU counts of a job to measure next: overestimate first, re-adjust on the way down."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from muri_opt.errors import InputError


def next_measurements(table: Mapping[int, float], most_gpus: int, *, tolerance: float = 0.05) -> tuple[int, ...]:
    """Return the GPU counts to measure next, largest first, for a job with the partial scaling ``table``.

    A new job starts with more GPUs than it will keep: while ``most_gpus`` is not measured it is the only answer. Then
    the job shrinks, and is measured at each size it passes: in every gap between two measured counts the one about
    which least is known, and 1 if it is missing. What is known of the iteration time at k between a < k < b is that it
    lies between those at b and a, and that k GPUs are hardly more than k/a times as fast as a, nor b GPUs more than b/k
    times as fast as k. Where these bounds are within a factor of 1 + ``tolerance`` interpolation will do, and the count
    is left out; of equally doubtful counts the largest is chosen. The bounds say what to measure; no curve has to obey
    them.

    >>> next_measurements({1: 1.0, 2: 1.9, 8: 3.0}, 16)
    (16,)
    """
    if most_gpus < 1:
        raise InputError("most_gpus", str(most_gpus), "a whole number from 1")
    known = sorted(count for count in table if count <= most_gpus)
    if not known or known[-1] < most_gpus:
        return (most_gpus,)
    chosen = [] if known[0] == 1 else [1]
    for a, b in pairwise(known):
        doubt, count = max(((_doubt(table, a, k, b), k) for k in range(a + 1, b)), default=(1.0, 0))
        if doubt > 1 + tolerance:
            chosen.append(count)
    return tuple(reversed(chosen))


def _doubt(table: Mapping[int, float], a: int, k: int, b: int) -> float:
    """Return the largest over the smallest iteration time that k GPUs may have, rounded so that equals are equal."""
    slow, fast = 1 / table[a], 1 / table[b]
    bounds = (min(slow, fast * b / k), max(fast, slow * a / k))
    return round(max(bounds) / min(bounds), 9)
