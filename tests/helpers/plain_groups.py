"""The definitions of sharing GPUs, tried out one by one: periods, values, groupings and the bound of prices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, permutations
from math import floor, isclose

from brute_force import per_gpu, ranked

from muri_opt import Job, Round
from muri_opt.rounds import Prices

Stages = Sequence[Sequence[int]]
PATTERNS = ("cyclic", "muri-cyclic", "muri-4slot", "muri-4slot-steady")
OBJECTIVES = ("efficiency", "gpu-time", "progress", "completion")


def micro(seconds: float) -> int:
    whole = Fraction(str(seconds)) * 10**6
    assert whole.denominator == 1
    return int(whole)


def guessed_milliseconds(job: Job) -> int:
    """Return what a job is expected to need: as much as it has had, at least a second and a restart on its GPUs."""
    return max(1000, micro(job.attained_gpu_seconds) // 1000, micro(job.restart_seconds or 0.0) * job.gpus // 1000)


def cut_to_four_digits(amount: int) -> int:
    """Return a number with all but its first four binary digits 0."""
    others = max(0, amount.bit_length() - 4)
    return amount >> others << others


def stages_of(job: Job) -> list[int]:
    return [micro(seconds) for seconds in job.stage_seconds]


def seatings(pattern: str, jobs: int, slots: int) -> Iterator[tuple[int, ...]]:
    """Yield the slot of each job, in every way the pattern allows."""
    if pattern in ("cyclic", "muri-4slot-steady"):
        yield from permutations(range(slots), jobs)
    else:
        yield from permutations(range(jobs))
    if (pattern, jobs) == ("muri-4slot", 2):
        yield (0, 2)


def seated_period(pattern: str, stages: Stages, seats: Sequence[int]) -> int:
    if pattern in ("cyclic", "muri-cyclic"):
        count = len(stages[0])
        return sum(max(job[(i - seat) % count] for job, seat in zip(stages, seats, strict=True)) for i in range(count))
    by_slot = dict(zip(seats, stages, strict=True))
    if pattern == "muri-4slot-steady":
        return run_for_ever(by_slot)
    if tuple(seats) == (0, 2):
        (data, gpu, network), (data_2, gpu_2, network_2) = stages
        return max(data, gpu_2 + network_2) + max(data_2, gpu + network)
    return transient(by_slot)


def run_for_ever(by_slot: dict[int, Sequence[int]]) -> int:
    """Return how much later a slot ends one round later, after so many rounds that this no longer changes."""
    data, gpu, network = ([by_slot.get(slot, (0, 0, 0))[stage] for slot in range(4)] for stage in range(3))
    ends = [0]
    for i in range(240):
        begun = ends[i - 1] + data[(i - 1) % 4] if i else 0
        ends.append(max(ends[i] + network[(i + 1) % 4], ends[i] + gpu[(i + 2) % 4], begun))
    assert ends[240] - ends[236] == ends[200] - ends[196]
    return ends[240] - ends[236]


def transient(by_slot: dict[int, Sequence[int]]) -> int:
    """Return the period as the authors read it off, in float seconds: where rounds nearly agree, rounding tells."""
    ends = [0.0]
    for i in range(8):
        reached = [0.0]
        for seat, times in by_slot.items():
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


@dataclass(frozen=True, kw_only=True)
class Plain:
    """A policy of sharing by its settings, on one round."""

    round_: Round
    order: str = "srsf"
    pattern: str = "cyclic"
    preset: str = "paper"
    matching: str = "blossom"
    worst: bool = False
    objective: str = "efficiency"
    mixed: bool = False
    largest: int = 4

    @property
    def spec(self) -> str:
        settings = {
            "preset": self.preset,
            "group": self.largest,
            "pattern": self.pattern,
            "ordering": "worst" if self.worst else "best",
            "matching": self.matching,
            "objective": self.objective,
            "sizes": "mixed" if self.mixed else "equal",
        }
        name = {"srsf": "muri-s", "las": "muri-l"}[self.order]
        return name + ":" + ",".join(f"{key}={value}" for key, value in settings.items())

    @property
    def slots(self) -> int:
        return 4 if "4slot" in self.pattern else len(self.round_.resources)

    def slowdown(self, size: int) -> Fraction:
        """Return the authors' figures as they wrote them; they divide by what a job alone is slowed down by."""
        if self.preset == "paper" or size == 1:
            return Fraction(1)
        four = "1.3" if self.matching == "queue" else "1.37"
        return Fraction({2: "1.33", 3: "1.5", 4: four}[size]) / Fraction("1.015")

    def period(self, jobs: Sequence[Job]) -> int:
        stages = [stages_of(job) for job in jobs]
        if len(jobs) == 1:
            return sum(stages[0])
        ways = (seated_period(self.pattern, stages, seats) for seats in seatings(self.pattern, len(jobs), self.slots))
        return max(ways) if self.worst else min(ways)

    @cached_property
    def weight(self) -> dict[str, int]:
        line = ranked(self.round_, self.order)
        return {job.id: len(line) - rank for rank, job in enumerate(line)}

    @cached_property
    def worth(self) -> dict[str, int]:
        """Millionths of a job that a second of work is worth: 1 and the GPUs times the jobs behind for each GPU.

        Without lengths a job expects as much again as it has had, and others are behind it by chance.
        """
        gpus, jobs = max(1, self.round_.cluster.total_gpus), self.round_.jobs
        if self.order == "las":
            guess = {job.id: cut_to_four_digits(guessed_milliseconds(job)) for job in jobs}
            thousandths = {name: sum(1000 * x // (x + mine) for x in guess.values()) for name, mine in guess.items()}
            behind = {name: Fraction(most - 500, 1000) for name, most in thousandths.items()}
        else:
            left = {job.id: job.remaining_iterations * micro(job.iteration_seconds) * job.gpus for job in jobs}
            behind = {name: Fraction(sum(other > mine for other in left.values())) for name, mine in left.items()}
        return {job.id: floor(10**6 * (1 + Fraction(job.gpus * behind[job.id], gpus))) for job in self.round_.jobs}

    @cached_property
    def known(self) -> dict[tuple[str, ...], int]:
        return {}

    def value(self, jobs: Sequence[Job]) -> int:
        """Return what a group is worth, computed once."""
        key = tuple(job.id for job in jobs)
        if key not in self.known:
            self.known[key] = self.computed_value(jobs)
        return self.known[key]

    def computed_value(self, jobs: Sequence[Job]) -> int:
        period = self.period(jobs) * self.slowdown(len(jobs))
        if not period:
            return 0
        gpus = max(job.gpus for job in jobs)
        if self.objective == "efficiency":
            done = sum(job.gpus * sum(stages_of(job)) for job in jobs)
            return floor(Fraction(10**6 * done) / (gpus * self.slots * period))
        alone = {job.id: sum(stages_of(job)) for job in jobs if job.iteration_seconds is None}
        alone |= {job.id: micro(job.iteration_seconds) for job in jobs if job.iteration_seconds is not None}
        if self.objective == "gpu-time":
            saved = sum(job.gpus * alone[job.id] for job in jobs) - gpus * period
            return 0 if len(jobs) == 1 else floor(10**6 * saved / period)
        if self.objective == "completion":
            whole = [self.worth[job.id] * (alone[job.id] if len(jobs) > 1 else period) for job in jobs]
            return floor(sum(whole) / period)
        if len(jobs) == 1:
            return 1000 * jobs[0].gpus * self.weight[jobs[0].id]
        return floor(1000 * sum(job.gpus * self.weight[job.id] * alone[job.id] for job in jobs) / period)

    def fits(self, groups: Sequence[Sequence[Job]]) -> bool:
        """Return whether GPUs, quotas, CPUs and memory of the cluster are enough for groups, nodes disregarded."""
        cluster = self.round_.cluster
        needs = [need(group) for group in groups]
        if sum(gpus for gpus, _, _ in needs) > cluster.total_gpus:
            return False
        for which, limits in ((1, [node.cpus for node in cluster.nodes]), (2, [n.memory_gib for n in cluster.nodes])):
            used = sum(amounts[0] * amounts[which] for amounts in needs)
            if None not in limits and used > sum(Fraction(str(limit)) for limit in limits):
                return False
        return all(
            sum(job.gpus for group in groups for job in group if job.tenant == tenant.id) <= tenant.quota_gpus
            for tenant in cluster.tenants
            if tenant.quota_gpus is not None
        )

    def placeable(self, jobs: Sequence[Job]) -> bool:
        """Return whether a group can be placed in the empty cluster, within quotas; its GPUs may be on any nodes."""
        gpus, cpus, memory = need(jobs)
        room = 0
        for node in self.round_.cluster.nodes:
            here = [node.gpus]
            here += [Fraction(str(node.cpus)) // cpus] if node.cpus is not None and cpus else []
            here += [Fraction(str(node.memory_gib)) // memory] if node.memory_gib is not None and memory else []
            room += int(min(here))
        return room >= gpus and self.fits([jobs])

    @property
    def most(self) -> int:
        """How many jobs a group may have."""
        if "4slot" in self.pattern:
            return self.largest if len(self.round_.resources) == 3 else 1
        return min(self.largest, max(1, len(self.round_.resources)))

    def groups_of(self, first: Job, others: Sequence[Job]) -> Iterator[tuple[Job, ...]]:
        """Yield every group of the first job with some of the others."""
        alike = [job for job in others if self.mixed or job.gpus == first.gpus]
        for more in range(self.most):
            for chosen in combinations(alike, more):
                yield (first, *chosen)

    def optimum(self) -> int:
        """Return the largest value of disjoint groups, each of which can be placed, that fit together by count."""

        def best(jobs: tuple[Job, ...], groups: tuple[tuple[Job, ...], ...]) -> int:
            if not jobs:
                return sum(map(self.value, groups))
            first, rest = jobs[0], jobs[1:]
            found = best(rest, groups)
            for group in self.groups_of(first, rest):
                if self.placeable(group) and self.fits((*groups, group)):
                    left = tuple(job for job in rest if job not in group)
                    found = max(found, best(left, (*groups, group)))
            return found

        return best(self.round_.jobs, ())

    def bound(self, duals: Prices) -> int:
        """Return what prices prove: the price of everything, and for each group what groups pay too little at most."""
        cluster, prices = self.round_.cluster, duals.multipliers
        (gpu,), (milli,), (mebibyte,) = prices["gpus"], prices.get("cpus", (0,)), prices.get("memory", (0,))
        quota = dict(
            zip((t.id for t in cluster.tenants), prices.get("quota", (0,) * len(cluster.tenants)), strict=True)
        )
        once = dict(zip((job.id for job in self.round_.jobs), prices["once"], strict=True))
        able = [job for job in self.round_.jobs if self.placeable([job])]
        short = Fraction(0)
        for place, first in enumerate(able):
            for group in self.groups_of(first, able[place + 1 :]):
                gpus, cpus, memory = need(group)
                paid = sum(once[job.id] + quota.get(job.tenant, 0) * job.gpus for job in group)
                paid += gpus * (gpu + milli * 1000 * cpus + mebibyte * 1024 * memory)
                for odd in duals.odd_sets:
                    several = len({self.round_.jobs[position].id for position in odd.jobs} & {j.id for j in group}) > 1
                    paid += odd.price if several else 0
                short = max(short, self.value(group) - Fraction(paid, duals.denominator))
        supply = gpu * cluster.total_gpus + sum(quota[t.id] * (t.quota_gpus or 0) for t in cluster.tenants)
        supply += milli * 1000 * sum(Fraction(str(node.cpus or 0)) for node in cluster.nodes)
        supply += mebibyte * 1024 * sum(Fraction(str(node.memory_gib or 0)) for node in cluster.nodes)
        supply += sum(odd.price * ((len(odd.jobs) - 1) // 2) for odd in duals.odd_sets)
        count = min(len(able), cluster.total_gpus // min((job.gpus for job in able), default=1))
        total = Fraction(sum(once[job.id] for job in able) + supply, duals.denominator)
        return floor(total + count * short)


def need(jobs: Sequence[Job]) -> tuple[int, Fraction, Fraction]:
    """Return the GPUs of a group, and the CPUs and GiB on each of them."""
    return (
        max(job.gpus for job in jobs),
        sum((per_gpu(job.cpus, job.gpus, 1000) for job in jobs), Fraction(0)),
        sum((per_gpu(job.memory_gib, job.gpus, 1024) for job in jobs), Fraction(0)),
    )
