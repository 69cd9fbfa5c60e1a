"""The pre-run pool: every job runs first for at most L on one GPU, so that early failures cost one GPU and not g.

Times are whole milliseconds, GPU times whole GPU-milliseconds. A job that fails at t <= L in the pool saves t (g - 1);
any other has spent L on a GPU and is held up by L and its wait for the pool. The gain of a length L,

    sum over t_i <= L of t_i (g_i - 1)  -  (1 + price) L * number of the others,

falls in a straight line between two times to failure and jumps up at each: its maximum is at 0 or at one of them.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.replay.failures.attempts import MAX_MILLISECONDS, JobFailures
from muri_opt.rounds.field_checks import pairs
from muri_opt.rounds.generate.portable_random import Ints
from muri_opt.rounds.quantities import MAX_GPUS, finite, whole

NEVER: Final = -1
"""Stands for the time to failure of a job that does not fail."""
_MOST_TOTAL: Final = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class PreRun:
    """How long jobs run in the pool: ``milliseconds``, or what ``by_gpus`` says for their size; 0 is no pre-run.

    A job of one GPU is never run ahead: it would save nothing.
    """

    milliseconds: int
    by_gpus: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        whole("milliseconds", self.milliseconds, MAX_MILLISECONDS)
        table = {
            whole("by_gpus key", gpus, MAX_GPUS, 1): whole(f"by_gpus[{gpus}]", length, MAX_MILLISECONDS)
            for gpus, length in pairs("by_gpus", self.by_gpus)
        }
        object.__setattr__(self, "by_gpus", MappingProxyType(table))

    def length(self, gpus: int) -> int:
        """Return the milliseconds in the pool of a job of so many GPUs."""
        return self.by_gpus.get(gpus, self.milliseconds) if gpus > 1 else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolEffect:
    """What a pool does: failures found in it, GPU time saved and spent, and how long the other jobs were held up.

    ``saved`` counts the GPUs that did not wait for a failure; ``spent`` is the pool's time on jobs that went through;
    ``waited`` is the time all jobs waited for a GPU of the pool, ``held_up`` the wait and run of those that went
    through, ``idle_until`` when the pool ended.
    """

    caught: int
    saved: int
    spent: int
    waited: int
    held_up: int
    idle_until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """A length of the pre-run with its gain in GPU-milliseconds, exact, and what was saved and spent."""

    milliseconds: int
    gain: Fraction
    saved: int
    spent: int


def first_failures(failures: Iterable[JobFailures]) -> Ints:
    """Return when the first run of each job fails, ``NEVER`` where it passes."""
    return np.fromiter((job.trials[0].milliseconds if job.trials else NEVER for job in failures), dtype=np.int64)


def run_pool(
    *, arrivals: Sequence[int], gpus: Sequence[int], fails: Sequence[int], lengths: Sequence[int], pool_gpus: int
) -> PoolEffect:
    """Return what a pool of so many GPUs does to jobs served first come, first served; a length of 0 stays outside."""
    pool = [0] * whole("pool_gpus", pool_gpus, MAX_GPUS, 1)
    rows = _columns(arrivals=arrivals, gpus=gpus, fails=fails, lengths=lengths)
    caught = saved = spent = waited = held_up = until = 0
    for at in sorted(range(len(rows["gpus"])), key=lambda row: rows["arrivals"][row]):
        arrival, size, fail, length = (rows[name][at] for name in ("arrivals", "gpus", "fails", "lengths"))
        if not length:
            continue
        found = fail != NEVER and fail <= length
        begin = max(arrival, pool[0])
        end = begin + (fail if found else length)
        heapq.heapreplace(pool, end)
        until = max(until, end)
        waited += begin - arrival
        if found:
            caught += 1
            saved += fail * (size - 1)
        else:
            spent += length
            held_up += end - arrival
    return PoolEffect(caught=caught, saved=saved, spent=spent, waited=waited, held_up=held_up, idle_until=until)


def best_length(*, gpus: Sequence[int], fails: Sequence[int], price: Fraction | float = 1) -> Length:
    """Return the one length with the largest gain over all these jobs, the shortest of equals.

    ``price`` is what holding up a job costs, in GPUs: at 1, a minute of one job weighs as much as a GPU minute.
    """
    rows = _columns(gpus=gpus, fails=fails)
    size, fail = np.array(rows["gpus"], dtype=np.int64), np.array(rows["fails"], dtype=np.int64)
    _refuse_overflow(max(rows["gpus"], default=1), fail)
    times, saved, left = _steps(size - 1, fail)
    return _best(times, saved, left, _checked(price))


def best_lengths(*, sizes: Iterable[int], fails: Sequence[int], price: Fraction | float = 1) -> dict[int, int]:
    """Return the best length for jobs of each size if ``fails`` is a sample of their times to failure.

    The first stage of a two-stage program: the length is chosen before the time to failure is known, for the largest
    expected gain. With a sample of its own for each kind of job, call it once a kind.
    """
    wanted = sorted({whole("sizes", size, MAX_GPUS, 1) for size in sizes})
    fail = np.array(_columns(fails=fails)["fails"], dtype=np.int64)
    _refuse_overflow(max(wanted, default=1), fail)
    times, caught, left = _steps(np.ones_like(fail), fail)
    cost = _checked(price)
    return {size: _best(times, caught * (size - 1), left, cost).milliseconds for size in wanted}


def break_even_gpus(fails: Sequence[int], price: Fraction | float = 1) -> int | None:
    """Return the smallest size of a job for which some pre-run gains, or None if no size does."""
    fail = np.array(_columns(fails=fails)["fails"], dtype=np.int64)
    _refuse_overflow(1, fail)
    times, caught, left = _steps(np.ones_like(fail), fail)
    cost = 1 + _checked(price)
    rows = zip(times.tolist()[1:], caught.tolist()[1:], left.tolist()[1:], strict=True)
    sizes = [int(cost * length * others // found) + 2 for length, found, others in rows]
    return min(sizes, default=None)


def _steps(weight: NDArray[np.int64], fail: NDArray[np.int64]) -> tuple[Ints, Ints, Ints]:
    """Return 0 and all times to failure, and up to each: the weighted sum of times, and how many jobs are left."""
    failing = fail != NEVER
    order = np.argsort(fail[failing], kind="stable")
    time = fail[failing][order]
    sums = np.concatenate(([0], np.cumsum(time * weight[failing][order])))
    times = np.unique(np.concatenate((np.zeros(1, dtype=np.int64), time)))
    through = np.searchsorted(time, times, side="right")
    return times, sums[through], len(fail) - through


def _best(times: Ints, saved: Ints, left: Ints, price: Fraction) -> Length:
    """Return the step of the largest gain, in whole numbers of 1 / denominator GPU-milliseconds."""
    scale, cost = price.denominator, price.denominator + price.numerator
    rows = list(zip(times.tolist(), saved.tolist(), left.tolist(), strict=True))
    gains = [scale * got - cost * length * others for length, got, others in rows]
    at = max(range(len(rows)), key=gains.__getitem__)
    length, got, others = rows[at]
    return Length(milliseconds=length, gain=Fraction(gains[at], scale), saved=got, spent=length * others)


def _checked(price: Fraction | float) -> Fraction:
    """Return the price as a rational; a float stands for the exact number it holds."""
    finite("price", price, MAX_GPUS)
    return Fraction(price)


def _columns(**columns: Sequence[int]) -> dict[str, list[int]]:
    """Return the columns as lists of whole numbers in their range, all of one length."""
    ranges = {"gpus": (1, MAX_GPUS), "fails": (NEVER, MAX_MILLISECONDS)}
    checked = {}
    for name, values in columns.items():
        least, most = ranges.get(name, (0, MAX_MILLISECONDS))
        checked[name] = [whole(f"{name}[{row}]", value, most, least) for row, value in enumerate(values)]
    lengths = {name: len(values) for name, values in checked.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(", ".join(lengths), f"{', '.join(map(str, lengths.values()))} values", "one a job in each")
    return checked


def _refuse_overflow(most_gpus: int, fail: Ints) -> None:
    total = most_gpus * sum(fail[fail != NEVER].tolist())
    if total >= _MOST_TOTAL:
        raise InputError("fails", f"{total:,} GPU-milliseconds in all", f"less than {_MOST_TOTAL:,}")
