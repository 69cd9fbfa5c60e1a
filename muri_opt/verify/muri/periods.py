"""The verifier's own arithmetic of periods: how long jobs that share GPUs take for one iteration each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Seats = tuple[int, ...]

FOUR_SLOTS = ("muri-4slot", "muri-4slot-steady")
"""Patterns of three stages (data, GPU, network) in four slots, of which data has two."""
_PACKED = ("muri-cyclic", "muri-4slot")  # empty slots come last
_AT_ONCE = 100_000  # groups in one order each that are worked on together


class Timed(NamedTuple):
    """Periods of a group, not slowed down: of the best or worst order, and of the order that it has."""

    period: int
    in_order: int


def slot_count(pattern: str, stages: int) -> int:
    """Return how many slots the cycle of a pattern has."""
    return 4 if pattern in FOUR_SLOTS else stages


def group_periods(pattern: str, stages: Ints, *, worst: bool, order: Sequence[int] | None = None) -> Ints:
    """Return the least period of groups in microseconds, or the greatest, over all ways to sit or those in one order.

    ``stages[g, j, r]`` is the time of stage r of job j of group g. An order lists the jobs by ascending slot. A job
    alone takes the sum of its stages.
    """
    count, jobs, kinds = stages.shape
    if jobs == 1:
        return np.asarray(stages.sum(axis=(1, 2)))
    times = stages.astype(np.float64) / 1_000_000 if pattern == "muri-4slot" else stages
    found = []
    for seats, orders in _ways(pattern, jobs, slot_count(pattern, kinds)):
        chosen = orders if order is None else np.array([order])
        parts = min(len(chosen), len(chosen) * count // _AT_ONCE + 1)
        for some in np.array_split(chosen, parts):
            periods = _periods(pattern, times[:, some], seats)
            found.append(periods.max(axis=1) if worst else periods.min(axis=1))
    extreme: Any = reduce(np.maximum if worst else np.minimum, found)
    # Of float seconds only the rounding of their sums is taken off: which of two periods is less, it does not change.
    return np.asarray(np.rint(extreme * 1_000_000).astype(np.int64) if pattern == "muri-4slot" else extreme)


def timed(pattern: str, stages: Ints, orders: Ints, *, worst: bool) -> list[Timed]:
    """Return the periods of groups of equally many jobs, each of which has its own order."""
    count, jobs, _ = stages.shape
    seated = stages[np.arange(count)[:, None], orders]
    extreme = group_periods(pattern, stages, worst=worst)
    own = group_periods(pattern, seated, worst=worst, order=range(jobs))
    return [*map(Timed, extreme.tolist(), own.tolist())]


@lru_cache(maxsize=64)
def _ways(pattern: str, jobs: int, slots: int) -> list[tuple[Seats, Ints]]:
    """Return sets of slots that jobs may begin in, each with the orders in which they may take them.

    Where any slot may be empty, turning the cycle changes nothing: the first job is in slot 0. Two jobs in the authors'
    four slots may also be half a cycle apart.
    """
    if pattern in _PACKED:
        ways = [(tuple(range(jobs)), np.array(list(permutations(range(jobs)))))]
        return [*ways, ((0, 2), np.array([[0, 1]]))] if (pattern, jobs) == ("muri-4slot", 2) else ways
    orders = np.array([(0, *others) for others in permutations(range(1, jobs))])
    return [((0, *later), orders) for later in combinations(range(1, slots), jobs - 1)]


def _periods(pattern: str, seated: Any, seats: Seats) -> Any:
    """Return the periods of jobs in their seats; ``seated[..., j, r]`` is stage r of the job in the j-th of them."""
    if pattern not in FOUR_SLOTS:
        return _cyclic(seated, seats)
    nothing = np.zeros_like(seated[..., 0, :])
    by_slot = [seated[..., seats.index(slot), :] if slot in seats else nothing for slot in range(4)]
    data, gpu, network = ([times[..., r] for times in by_slot] for r in range(3))
    if pattern == "muri-4slot-steady":
        return _steady(data, gpu, network)
    if seats == (0, 2):
        return np.maximum(data[0], gpu[2] + network[2]) + np.maximum(data[2], gpu[0] + network[0])
    return _recurrence(data, gpu, network, seats)


def _cyclic(seated: Any, seats: Seats) -> Any:
    """Return the sum over slots of the longest stage in each; a job is at another stage in every slot."""
    slots = seated.shape[-1]
    longest = (
        reduce(np.maximum, [seated[..., j, (slot - seat) % slots] for j, seat in enumerate(seats)])
        for slot in range(slots)
    )
    return sum(longest)


def _steady(data: list[Any], gpu: list[Any], network: list[Any]) -> Any:
    """Return the longest chain of stages that leads back to its slot: one slot at a time, or two for data."""
    short = [np.maximum(network[(i + 1) % 4], gpu[(i + 2) % 4]) for i in range(4)]
    chains = [sum(short), data[0] + data[2], data[1] + data[3]]
    chains += [data[i] + short[(i + 2) % 4] + short[(i + 3) % 4] for i in range(4)]
    return reduce(np.maximum, chains)


def steady_periods(seats: Mapping[int, Sequence[Any]]) -> Any:
    """Return the exact periods of the four slots, by the slot that jobs begin in; nothing is in the others."""
    by_slot = [seats.get(slot, (0.0, 0.0, 0.0)) for slot in range(4)]
    data, gpu, network = ([times[r] for times in by_slot] for r in range(3))
    return _steady(data, gpu, network)


def _recurrence(data: list[Any], gpu: list[Any], network: list[Any], seats: Seats) -> Any:
    """Return the periods as the authors read them off the ends of the first eight slots, in float seconds.

    They stop where two rounds are within a thousandth of each other; where that is close, only their own rounding
    tells. Slot 0 waits for no data, as none was begun before it, and no slot waits for an empty one.
    """
    ends = [np.zeros_like(data[0])]
    for i in range(8):
        reached = [np.zeros_like(data[0])]
        if (i + 1) % 4 in seats:
            reached.append(ends[i] + network[(i + 1) % 4])
        if (i + 2) % 4 in seats:
            reached.append(ends[i] + gpu[(i + 2) % 4])
        if (i + 3) % 4 in seats and i > 0:
            reached.append(ends[i - 1] + data[(i + 3) % 4])
        ends.append(reduce(np.maximum, reached))
    period = ends[8] - ends[4]
    for i in (6, 5, 4):
        last, before = ends[i + 1] - ends[i - 3], ends[i] - ends[i - 4]
        near = np.abs(last - before) <= 1e-3 * np.maximum(np.abs(last), np.abs(before))
        period = np.where(near, last, period)
    return period
