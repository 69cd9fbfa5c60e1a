"""Levels of priority whose jobs can all have what they wish: they need no price, and are decided together.

A job of a larger priority outweighs all of smaller ones. So where all jobs of a level find the GPUs on which they are
worth most, they get them, and those of the next level what they wish beside them, until there is too little for all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.charges.consumption import Consumption
from muri_opt.systems.joint.charges.quotas import Quotas
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.jobs.group_value import Group, Place
from muri_opt.systems.joint.nodes.places import place_in_turn
from muri_opt.systems.joint.nodes.state import Case

_MANY = 64
"""Jobs of a level from which on it is first looked at whether they are far too many."""
_FEW = 0.25
"""Which part of the jobs of an easy level, or one, may find less of a quota than there was before it."""


class EasyPriorities:
    """The levels of a case, looked at in turn as long as they are easy."""

    def __init__(self, case: Case, offers: Offers) -> None:
        self._case, self._alone = case, _Alone(offers)
        self._quotas = Quotas.of(case.round_)
        self._lines = self._quotas.counted.things_of_each()

    def beside(self, placed: dict[Group, Place], levels: Sequence[Ints], most: Ints) -> tuple[dict[Group, Place], int]:
        """Return groups that are placed and jobs of the first levels that are easy, each alone, and how many these are.

        Job j could have at most ``most[j]`` GPUs in the place where it would find most.
        """
        sizes = {group: place.gpus for group, place in placed.items()}
        gpus = self._case.round_.cluster.total_gpus - sum(sizes.values())
        demands = _Demands(self._alone, self._lines, gpus, self._quotas.beside(sizes).left.tolist())
        room: list[int] = most.tolist()
        given, easy = dict[int, int](), 0
        for level in levels:
            jobs = [job for job in level.tolist() if room[job] > 0]
            if len(jobs) > _MANY and demands.are_too_many(self._quotas.counted, jobs, most):
                break
            wished = demands.of_level(jobs, room)
            if wished is None:
                break
            given |= wished
            easy += 1
        if not given:
            return placed, easy
        return place_in_turn(self._case.round_, self._case.models, given, placed), easy


class _Alone:
    """What each job is worth alone: job j most on ``size[j]`` GPUs, ``each[j]`` is the most for one of its GPUs."""

    def __init__(self, offers: Offers) -> None:
        self._value = offers.alone(np.arange(len(offers.kind)))
        self._counts: list[int] = offers.counts.tolist()
        self.sizes = offers.counts[self._value.argmax(axis=1)]
        self.size: list[int] = self.sizes.tolist()
        self.each: list[float] = (self._value[:, 1:] / offers.counts[1:]).max(axis=1, initial=0.0).tolist()

    def best(self, job: int, cap: int) -> int:
        """Return the count of GPUs, at most so many, on which a job is worth most."""
        size = self.size[job]
        if size <= cap:
            return size
        able = bisect_right(self._counts, cap)
        return self._counts[int(self._value[job, :able].argmax())]


class _Demands:
    """What jobs of one level after another wish, and what is left of GPUs and quotas; ``lines`` has those of each."""

    def __init__(self, alone: _Alone, lines: Sequence[Sequence[int]], gpus: int, quota: list[int]) -> None:
        self._alone, self._lines, self._gpus, self._quota = alone, lines, gpus, quota

    def are_too_many(self, counted: Consumption, jobs: Sequence[int], most: Ints) -> bool:
        """Return whether it is plain that there are too few GPUs for jobs of one level, before each is looked at.

        All but a few get what they wish of what quotas leave them now, if :meth:`of_level` finds enough for all;
        ``counted`` says which quotas these are.
        """
        whole = np.minimum(most, self._gpus)
        np.minimum.at(whole, counted.row, np.array(self._quota, dtype=np.int64)[counted.what])
        size = self._alone.sizes[jobs]
        least = np.sort(np.where(size <= whole[jobs], size, 0))
        return int(least[: len(jobs) - max(1, int(_FEW * len(jobs)))].sum()) > self._gpus

    def of_level(self, jobs: Sequence[int], most: Sequence[int]) -> dict[int, int] | None:
        """Return the GPUs on which each job is worth most, those of the most value for a GPU first, and take them.

        ``None`` if there are too few for all, or too little of quotas for more than a few.
        """
        before, quota = self._quota, self._quota.copy()
        gpus, few, found = self._gpus, 0, dict[int, int]()
        for job in sorted(jobs, key=self._alone.each.__getitem__, reverse=True):
            limits = self._lines[job]
            whole = cap = min(most[job], self._gpus)
            for one in limits:
                whole, cap = min(whole, before[one]), min(cap, quota[one])
            few += cap < whole
            size = self._alone.best(job, cap)
            gpus -= size
            if gpus < 0 or few > max(1, _FEW * len(jobs)):
                return None
            for one in limits:
                quota[one] -= size
            if size:
                found[job] = size
        self._gpus, self._quota = gpus, quota
        return found
