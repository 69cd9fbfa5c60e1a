"""The verifier's own arithmetic of elastic shares: speeds, remaining times, values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import isqrt

from muri_opt.errors import InputError
from muri_opt.rounds import Job, Round
from muri_opt.rounds.memoise import last_recalled
from muri_opt.verify.priorities import weights_of

LARGEST_SPEED = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Elastic:
    """How shares are counted: what they are worth, and whether they must divide a node or fill nodes."""

    objective: str
    by_node: bool

    def sizes(self, round_: Round) -> list[int]:
        """Return the GPU counts a share may have."""
        total = round_.cluster.total_gpus
        if not self.by_node:
            return list(range(1, total + 1))
        node = max((node.gpus for node in round_.cluster.nodes), default=1) or 1
        return [k for k in range(1, total + 1) if node % k == 0 or k % node == 0]

    def values(self, round_: Round) -> list[dict[int, int]]:
        """Return, for every job, what each share it may have is worth.

        ``speed-up``: thousandths of the speed on one GPU. ``speed``: the same times 10**10 over the root of the
        microseconds left on one GPU, of at least a second. ``time``: the hundredths of a second that all
        jobs would take on one GPU each, and one more, less what the job takes. Where jobs have priorities, times what
        a unit counts in the class of the job.
        """
        return _values(self, round_)

    def work_out(self, round_: Round) -> list[dict[int, int]]:
        """Return the values, worked out now."""
        sizes, within = frozenset(self.sizes(round_)), round_.cluster.total_gpus
        found = []
        curves = [Curve.of(job) for job in round_.jobs]
        ends = [_ends(job, curve, within) for job, curve in zip(round_.jobs, curves, strict=True)] if self.timed else []
        everything = 1 + sum(times.get(1, 0) // 10_000 for times in ends)
        for place, curve in enumerate(curves):
            legal = [k for k in curve.speeds if k in sizes]
            if self.objective == "time":
                found.append({k: everything - ends[place][k] // 10_000 for k in legal})
            else:
                weight = 10**10 // max(1000, isqrt(ends[place][1])) if self.timed and legal else 1000
                found.append({k: weight * curve.speeds[k] // curve.speeds[1] for k in legal})
        if "job.priority" not in round_.used_fields:
            return found
        counts = weights_of(round_, [max([0, *table.values()]) for table in found])
        return [{k: value * count for k, value in table.items()} for table, count in zip(found, counts, strict=True)]

    @property
    def timed(self) -> bool:
        """Whether the value needs to know how long jobs are."""
        return self.objective != "speed-up"


_values = last_recalled(Elastic.work_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Speeds of a job in whole numbers of nine digits, and the microseconds of an iteration at speed 1."""

    speeds: Mapping[int, int]
    unit: int

    @classmethod
    def of(cls, job: Job) -> Curve:
        """Return the curve of a job; missing GPU counts are interpolated in iteration time."""
        table = tuple(sorted((job.scaling or {}).items()))
        if not table or table[0][0] != 1:
            raise InputError(f"job {job.id!r}.scaling", "no entry for 1 GPU", "a table that starts with 1 GPU")
        speeds, power = _speeds(table)
        if job.iteration_seconds is None:
            return cls(speeds=speeds, unit=int(Fraction(10) ** (6 + power)))
        if job.gpus not in speeds or job.iteration_seconds == 0:
            found = f"{job.iteration_seconds} s with {job.gpus} GPUs"
            raise InputError(f"job {job.id!r}.iteration_seconds", found, "above 0, with a GPU count of its table")
        return cls(speeds=speeds, unit=round(job.iteration_seconds * 1_000_000) * speeds[job.gpus])

    def period_seconds(self, gpus: int) -> float:
        """Return the time of one iteration."""
        return float(Fraction(self.unit, self.speeds[gpus] * 1_000_000))


@lru_cache(maxsize=1 << 15)
def _speeds(table: tuple[tuple[int, float], ...]) -> tuple[Mapping[int, int], int]:
    """Return the speed with 1, 2, ... GPUs, and how many digits after the point of the table it keeps."""
    most = max(Fraction(rate) for _, rate in table)
    power = 0
    while round(most * Fraction(10) ** power) > LARGEST_SPEED:
        power -= 1
    while round(most * Fraction(10) ** (power + 1)) <= LARGEST_SPEED:
        power += 1
    known = [(k, max(1, round(Fraction(rate) * Fraction(10) ** power))) for k, rate in table]
    speeds = dict(known)
    for (a, slow), (b, fast) in pairwise(known):
        for k in range(a + 1, b):
            speeds[k] = max(1, (b - a) * slow * fast // ((b - k) * fast + (k - a) * slow))
    return dict(sorted(speeds.items())), power


def _ends(job: Job, curve: Curve, most: int) -> dict[int, int]:
    """Return how long the job still takes with each number of GPUs, in whole microseconds."""
    if job.remaining_iterations is None:
        raise InputError(f"job {job.id!r}.remaining_iterations", "nothing", "a number: the value counts time")
    work = job.remaining_iterations * curve.unit
    return {k: min((1 << 62) - 1, work // speed) for k, speed in curve.speeds.items() if k <= most}
