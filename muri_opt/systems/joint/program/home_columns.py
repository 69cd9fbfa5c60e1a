"""Groups that may go on as they are, as columns: nowhere else are running jobs worth what they are unchanged.

A round says where jobs run and not with whom, so that these are all groups of the jobs of a placement that may be one
of those that run. They are few, and named job by job.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.sharing_now import Home, homes_now
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.jobs.job_model import Floats

_MOST_GROUPS = 400_000
_MATTERS = 1e-12
"""A part of the price of a group's GPUs that is not asked for."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HomeColumns:
    """Groups that may go on: their ``members`` in rows, -1 where there are fewer, the ``gpus`` that they hold.

    Unchanged they are worth ``value``, in jobs. Jobs that are ``crowded`` are in more groups than are listed: they are
    to be taken for unchanged wherever they are.
    """

    members: Ints
    gpus: Ints
    value: Floats
    crowded: Ints

    @classmethod
    def of(cls, round_: Round, offers: Offers) -> HomeColumns:
        """Return the groups of a round, with what they are worth by offers of jobs that go on as they are."""
        listed, crowded = _listed(round_, offers)
        parts, sizes, values = [], [], []
        for count, (groups, gpus) in listed.items():
            members, at = np.array(groups, dtype=np.int64), offers.position(np.array(gpus, dtype=np.int64))
            parts.append(np.pad(members, ((0, 0), (0, offers.most_jobs - count)), constant_values=-1))
            sizes.append(np.array(gpus, dtype=np.int64))
            values.append(offers.groups_on(members, at))
        if not parts:
            return cls.none(offers, crowded)
        return cls(
            members=np.concatenate(parts),
            gpus=np.concatenate(sizes),
            value=np.concatenate(values),
            crowded=np.array(crowded, dtype=np.int64),
        )

    @classmethod
    def none(cls, offers: Offers, crowded: list[int]) -> HomeColumns:
        """Return that nothing goes on."""
        empty = np.zeros(0, dtype=np.int64)
        return cls(
            members=np.zeros((0, offers.most_jobs), dtype=np.int64),
            gpus=empty,
            value=np.zeros(0),
            crowded=np.array(crowded, dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.gpus)

    @property
    def alone(self) -> Ints:
        """Which columns are of one job."""
        return np.flatnonzero((self.members >= 0).sum(axis=1) == 1)

    def paid(self, each: Floats) -> Floats:
        """Return what the members of each column pay together, if job j pays ``each[j]``."""
        # Of a member that there is not the last place counts.
        found: Floats = np.append(each, 0.0)[self.members].sum(axis=1)
        return found

    def charged(self, each: Floats, price: float) -> Floats:
        """Return what jobs have to pay, at least ``each``, so that no column gains beyond the price of its GPUs.

        Of a column that does the member pays that lacks most in all its columns.
        """
        cost, found = self.gpus * price, each.copy()
        lacks = self.value - cost - self.paid(found)
        wanted = np.zeros(len(each) + 1)
        np.add.at(wanted, self.members, np.maximum(0.0, lacks)[:, None])  # the last place is of no member
        for column in np.argsort(-lacks, kind="stable").tolist():
            if lacks[column] <= _MATTERS * max(1.0, cost[column]):
                break
            group = [job for job in self.members[column].tolist() if job >= 0]
            missing = self.value[column] - cost[column] - found[group].sum()
            found[max(group, key=lambda job: (wanted[job], -job))] += max(0.0, missing)
        return found


def _listed(round_: Round, offers: Offers) -> tuple[dict[int, tuple[list[tuple[int, ...]], list[int]]], list[int]]:
    """Return the groups that may go on with their GPUs, by how many members they have, and the crowded jobs."""
    found: dict[int, tuple[list[tuple[int, ...]], list[int]]] = {}
    crowded, left = list[int](), _MOST_GROUPS
    for home in sorted(homes_now(round_).homes, key=lambda home: (len(home.jobs), home.jobs)):
        gpus = sum(count for _, count in home.held)
        at = int(offers.position(gpus))
        able = [job for job in home.jobs if at and offers.rate[offers.kind[job], at] > 0]
        shares = [job for job in able if offers.shares[job]]
        for size in _sizes(home, offers):
            some = able if size == 1 else shares
            if size > 1:
                left -= comb(len(some), size)
            if left < 0:
                crowded += some
                break
            groups = [*combinations(some, size)]
            if groups:
                listed = found.setdefault(size, ([], []))
                listed[0].extend(groups)
                listed[1].extend([gpus] * len(groups))
    return found, crowded


def _sizes(home: Home, offers: Offers) -> Iterator[int]:
    """Yield how many jobs of a placement may be a group that runs."""
    yield from range(home.least, min(home.largest, offers.most_jobs) + 1)
