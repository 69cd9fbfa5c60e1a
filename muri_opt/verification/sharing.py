"""The verifier's own arithmetic of interleaving: periods in whole microseconds, efficiencies in parts per million."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations
from math import isclose

from muri_opt.instance import Job

Stages = Sequence[Sequence[int]]

_NONE = (Fraction(1),) * 5
_AUTHORS = (Fraction(1), Fraction(1), Fraction(133, 100), Fraction(150, 100), Fraction(137, 100))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """How jobs share GPUs: in four slots with three stages, or in as many slots as stages; slowed down or not."""

    four_slots: bool

    def most_jobs(self, stages: int) -> int:
        """Return how many jobs of so many stages can share: one per slot; four slots are for three stages only."""
        if self.four_slots:
            return 4 if stages == 3 else 1
        return max(1, stages)

    def slowdown(self, size: int) -> Fraction:
        """Return by how much a group of so many jobs is slowed down; the authors' figures are relative to 1.015."""
        if not self.four_slots or size == 1:
            return _NONE[size]
        return _AUTHORS[size] / Fraction(1015, 1000)

    def period(self, jobs: Sequence[Job], order: Sequence[int] | None = None) -> int:
        """Return the least period of a group in microseconds, over all orders or only the given one."""
        stages = stages_of(jobs)
        if len(jobs) == 1:
            return sum(stages[0])
        orders = permutations(range(len(jobs))) if order is None else iter([tuple(order)])
        if self.four_slots:
            return min(period for seats in orders for period in _four_slot_periods([stages[j] for j in seats]))
        return min(_cyclic_period(stages, slots) for slots in _seatings(orders, len(stages[0])))

    def efficiency_ppm(self, jobs: Sequence[Job]) -> int:
        """Return the efficiency of a group in its best order, in whole parts per million."""
        stages = stages_of(jobs)
        period = self.period(jobs)
        slots = 4 if self.four_slots else len(stages[0])
        total = sum(map(sum, stages))
        return int(Fraction(1_000_000 * total) / (slots * period * self.slowdown(len(jobs)))) if period else 0


def stages_of(jobs: Sequence[Job]) -> list[list[int]]:
    """Return the stage times of jobs in whole microseconds."""
    return [[round(seconds * 1_000_000) for seconds in job.stage_seconds or ()] for job in jobs]


def _seatings(orders: Iterator[tuple[int, ...]], slots: int) -> Iterator[list[int]]:
    """Yield for each order, and each way to leave slots empty, the slot of every job; the first job is in slot 0."""
    for order in orders:
        for later in combinations(range(1, slots), len(order) - 1):
            seats = [0] * len(order)
            for job, slot in zip(order, (0, *later), strict=True):
                seats[job] = slot
            yield seats


def _cyclic_period(stages: Stages, slots: Sequence[int]) -> int:
    count = len(stages[0])
    return sum(max(times[(i - s) % count] for times, s in zip(stages, slots, strict=True)) for i in range(count))


def _four_slot_periods(seated: Stages) -> Iterator[int]:
    """Yield the periods of jobs in seats 0, 1, ...: data in two slots, then GPU, then network."""
    yield _recurrence(seated)
    if len(seated) == 2:
        (data, gpu, network), (data_2, gpu_2, network_2) = seated
        yield max(data, gpu_2 + network_2) + max(data_2, gpu + network)


def _recurrence(seated: Stages) -> int:
    """Return the period as the authors read it off, in float seconds.

    Where two rounds are just close enough to stop, only their own rounding tells.
    """
    ends = [0.0]
    for i in range(8):
        reached = [0.0]
        for seat, times in enumerate(seated):
            data, gpu, network = (time / 1_000_000 for time in times)
            if seat == (i + 1) % 4:
                reached.append(ends[i] + network)
            if seat == (i + 2) % 4:
                reached.append(ends[i] + gpu)
            if seat == (i + 3) % 4 and i >= 1:
                reached.append(ends[i - 1] + data)
        ends.append(max(reached))
        if i >= 4:
            last, before = ends[i + 1] - ends[i - 3], ends[i] - ends[i - 4]
            if isclose(last, before, rel_tol=1e-3):
                return round(last * 1_000_000)
    return round((ends[8] - ends[4]) * 1_000_000)
