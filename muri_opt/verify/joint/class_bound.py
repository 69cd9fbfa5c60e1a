"""A bound on joint rounds of any size: prices of GPUs and jobs, checked in exact integers for groups of classes.

Jobs that the evidence calls ``alike`` form a class, whatever they are: of each stage the shortest time in the class
counts, so that a group of jobs takes no less time than the group of their classes. In a group of period T a job adds at
most its work over T. What the members of classes gain beyond their prices is at most, class by class, the largest gain
of any job in it; where that comes to more than the GPUs of the group cost, the jobs of one class pay what is missing.

A running job counts there as if it restarted. The groups that may go on as they are (:mod:`.home_groups`) are few, and
looked at one by one, by the jobs that they have; of one that gains more than its GPUs cost its first job pays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds import LinearDuals, Round
from muri_opt.verify.dual_bound import PriceTable
from muri_opt.verify.joint.home_groups import Homes
from muri_opt.verify.joint.value import MILLION, Workers
from muri_opt.verify.muri.periods import Ints, group_periods

MOST_ENTRIES = 3_000_000
"""Groups of classes, each with each number of GPUs, beyond which they are not looked at."""
_WORD = 1 << 58
"""Numbers below it can be added up in a machine word."""
_AT_ONCE = 4_000_000


def bound_by_classes(round_: Round, workers: Workers, duals: LinearDuals) -> int | None:
    """Return the bound, or ``None`` where there are too many groups of classes, or numbers too large for a word."""
    classes = _read(workers, duals.multipliers["alike"])
    rest = {label: prices for label, prices in duals.multipliers.items() if label != "alike"}
    supply = {"gpus": (round_.cluster.total_gpus,), "once": (1,) * len(workers.jobs)}
    table = PriceTable.read(LinearDuals(denominator=duals.denominator, multipliers=rest), supply)
    sizes = sorted({gpus for job in workers.jobs for gpus in job.by_gpus})
    count = len(set(classes) - {0})
    entries = sum(comb(count + size - 1, size) for size in range(2, workers.most_jobs + 1)) * len(sizes)
    (gpu,) = table.of["gpus"]
    homes = Homes.of(workers)
    paid = [
        max(price, alone)
        for price, alone in zip(table.of["once"], _alone(workers, homes, table.denominator, gpu), strict=True)
    ]
    if workers.most_jobs < 2 or not count:
        return (gpu * round_.cluster.total_gpus + sum(paid)) // table.denominator
    if entries > MOST_ENTRIES:
        return None
    found = _Classes.of(workers, classes, sizes, paid, table.denominator, gpu)
    if found is None:
        return None
    sizes_of_groups = range(2, workers.most_jobs + 1)
    if not all(found.charge(size, homes) and found.charge_at_home(size, homes) for size in sizes_of_groups):
        return None
    return (gpu * round_.cluster.total_gpus + int(found.paid.sum())) // table.denominator


def _read(workers: Workers, alike: Sequence[int]) -> Sequence[int]:
    if len(alike) != len(workers.jobs) or min(alike, default=0) < 0:
        raise InputError(
            "multipliers.alike", f"{len(alike)} numbers", f"{len(workers.jobs)} whole numbers of at least 0"
        )
    for place, (one, job) in enumerate(zip(alike, workers.jobs, strict=True)):
        if not one and job.stages is not None:
            raise InputError(f"multipliers.alike[{place}]", "0", "a class: the job may share")
    return [one if job.stages is not None else 0 for one, job in zip(alike, workers.jobs, strict=True)]


def _alone(workers: Workers, homes: Homes, scale: int, gpu: int) -> Iterator[int]:
    """Yield what each job gains at most alone, over the denominator: where it may go on, and with any GPUs."""
    unit = workers.unit
    for job, held in zip(workers.jobs, homes.alone, strict=True):
        each = MILLION * scale * job.weight
        offer = each * job.changed
        most = max((offer // (unit * time) + 1 - gpus * gpu for gpus, time in job.by_gpus.items()), default=0)
        if held:
            most = max(most, each * job.fresh // (unit * job.by_gpus[held]) + 1 - held * gpu)
        yield most


@dataclass(kw_only=True, eq=False)
class _Classes:
    """Classes of jobs: ``times[c, k, r]`` is the least time of stage r on ``sizes[k]`` GPUs, -1 if nobody has them.

    ``members[c]`` are the jobs of class c, ``paid[j]`` is what job j pays so far.
    """

    workers: Workers
    sizes: Ints
    times: Ints
    members: list[Ints]
    paid: Ints
    gpu: int
    scale: int

    @classmethod
    def of(
        cls, workers: Workers, classes: Sequence[int], sizes: list[int], paid: list[int], scale: int, gpu: int
    ) -> _Classes | None:
        """Return the classes of a round, or ``None`` where a number is too large."""
        numbers = {one: place for place, one in enumerate(sorted(set(classes) - {0}))}
        members: list[list[int]] = [[] for _ in numbers]
        kinds: dict[tuple[object, ...], set[int]] = {}
        for place, one in enumerate(classes):
            if one:
                job = workers.jobs[place]
                members[numbers[one]].append(place)
                kinds.setdefault((job.stages, job.base, tuple(job.by_gpus.items())), set()).add(place)
        stages = max(len(workers.jobs[some[0]].stages or ()) for some in members)
        times = np.full((len(numbers), len(sizes), stages), -1, dtype=np.int64)
        place_of = {gpus: place for place, gpus in enumerate(sizes)}
        for alike in kinds.values():
            job = workers.jobs[min(alike)]
            for gpus in job.by_gpus:
                own = job.stages_on(gpus)
                if max(own) * stages >= _WORD:
                    return None
                for one in {numbers[classes[place]] for place in alike}:
                    known = times[one, place_of[gpus]]
                    times[one, place_of[gpus]] = np.where(known < 0, own, np.minimum(known, own))
        if max(paid, default=0) >= _WORD or max(sizes, default=0) * gpu >= _WORD:
            return None
        return cls(
            workers=workers,
            sizes=np.array(sizes, dtype=np.int64),
            times=times,
            members=[np.array(some, dtype=np.int64) for some in members],
            paid=np.array(paid, dtype=np.int64),
            gpu=gpu,
            scale=scale,
        )

    def charge(self, size: int, homes: Homes) -> bool:
        """Let jobs pay what groups of so many members are worth beyond what they pay; return whether that was told."""
        jobs = enumerate(self.workers.jobs)
        offers = self._offers(size, (job.fresh if place in homes.crowded else job.changed for place, job in jobs))
        if offers is None:
            return False
        number = np.array([len(some) for some in self.members])
        rows: Ints = np.array(list(combinations_with_replacement(range(len(number)), size)), dtype=np.int64)
        same = (rows[:, :, None] == rows[:, None, :]).sum(axis=2)
        rows = rows[(same <= number[rows]).all(axis=1)]
        for place, gpus in enumerate(self.sizes.tolist()):
            able = rows[(self.times[rows, place, 0] >= 0).all(axis=1)]
            if len(able):
                self._charge(able, gpus, group_periods("cyclic", self.times[able, place], worst=False), offers)
        return True

    def charge_at_home(self, size: int, homes: Homes) -> bool:
        """Let jobs pay the same of groups of so many members that go on as they are; return whether that was told."""
        offers = self._offers(size, (job.fresh for job in self.workers.jobs)) if homes.shared else None
        if offers is None:
            return not homes.shared
        for gpus, rows in homes.groups(size):
            members, place = np.unique(rows, return_inverse=True)
            times = np.array([self.workers.jobs[job].stages_on(gpus) for job in members.tolist()], dtype=np.int64)
            period = group_periods("cyclic", times[place.reshape(rows.shape)], worst=False)
            worth = (offers[rows] // period[:, None] + 1).sum(axis=1) - gpus * self.gpu
            for group in np.flatnonzero(worth > self.paid[rows].sum(axis=1)).tolist():
                missing = int(worth[group] - self.paid[rows[group]].sum())
                self.paid[rows[group, 0]] += max(0, missing)  # less is missing since others have paid
        return True

    def _offers(self, size: int, works: Iterable[int]) -> Ints | None:
        """Return what jobs offer a nanosecond of a period in groups of so many; ``None`` where one is too large."""
        factor = self.workers.rules.slowdowns[size - 1]
        over, under = MILLION * self.scale * factor.denominator, self.workers.unit * factor.numerator
        offers = [-(-over * job.weight * work // under) for job, work in zip(self.workers.jobs, works, strict=True)]
        return None if max(offers, default=0) >= _WORD else np.array(offers, dtype=np.int64)

    def _charge(self, rows: Ints, gpus: int, period: Ints, offers: Ints) -> None:
        """Let one class of each group of such a period pay what is missing."""
        gain = np.zeros(rows.shape, dtype=np.int64)
        for one in range(len(self.members)):
            here, member = (rows == one).nonzero()
            gain[here, member] = self._gain(one, period[here], offers)
        for place in np.flatnonzero(gain.sum(axis=1) > gpus * self.gpu).tolist():
            row = rows[place]
            payer = min(set(row.tolist()), key=lambda one: (len(self.members[one]), one))
            mine = row == payer
            left = (gpus * self.gpu - int(gain[place][~mine].sum())) // int(mine.sum())
            jobs = self.members[payer]
            self.paid[jobs] = np.maximum(self.paid[jobs], offers[jobs] // period[place] + 1 - left)

    def _gain(self, one: int, period: Ints, offers: Ints) -> Ints:
        """Return what a job of a class gains at most in groups of such periods."""
        jobs = self._outer(one, offers)
        found = np.empty(len(period), dtype=np.int64)
        step = max(1, _AT_ONCE // len(jobs))
        for start in range(0, len(period), step):
            some = period[start : start + step, None]
            found[start : start + step] = (offers[jobs] // some - self.paid[jobs]).max(axis=1) + 1
        return found

    def _outer(self, one: int, offers: Ints) -> Ints:
        """Return the jobs of a class of which one has the largest of offer / period - price, whatever the period."""
        jobs = self.members[one]
        line = jobs[np.lexsort((self.paid[jobs], offers[jobs]))].tolist()
        kept: list[tuple[int, int, int]] = []
        for job in line:
            offer, price = int(offers[job]), int(self.paid[job])
            while kept and kept[-1][1] >= price:
                kept.pop()
            if kept and kept[-1][0] == offer:
                continue
            while len(kept) > 1:
                (first, cost, _), (second, more, _) = kept[-2:]
                if (more - cost) * (offer - second) < (price - more) * (second - first):
                    break
                kept.pop()
            kept.append((offer, price, job))
        return np.array([job for _, _, job in kept], dtype=np.int64)
