"""GPUs within quotas, by priority, where tenants may be part of others: a quota counts a tenant and all below it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.rounds.memoise import last_recalled
from muri_opt.systems.philly.priorities import priority_ranks


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuotaTree:
    """Tenants with a quota, and for which of these the GPUs of each tenant count: ``lines[v]``, the nearest first.

    ``upwards`` has every tenant with a quota before those that it is part of. Tables of GPUs have a row for each
    tenant, and a column for each priority, from the smallest on, that counts the jobs of this priority and of larger
    ones: quotas are filled by the largest first.
    """

    tenant: Ints
    rank: Ints
    gpus: Ints
    limit: Ints
    lines: tuple[tuple[int, ...], ...]
    upwards: tuple[int, ...]
    classes: int

    @classmethod
    def of(cls, round_: Round) -> QuotaTree:
        """Return the quotas of a round, from the last call if it was the same."""
        return _tree(round_)

    @property
    def plain(self) -> bool:
        """Whether there is one priority, and no tenant is part of another."""
        return self.classes == 1 and all(len(line) <= 1 for line in self.lines) and not self._inherits

    @property
    def _inherits(self) -> bool:
        return any(line and line[0] != tenant for tenant, line in enumerate(self.lines))

    def line(self, tenant: int) -> tuple[int, ...]:
        """Return the tenants for whose quotas a tenant's GPUs count; none where it is -1."""
        return () if tenant < 0 else self.lines[tenant]

    def counts_for(self, tenants: Ints, owners: Ints) -> NDArray[np.bool_]:
        """Return ``[i, k]``: whether GPUs of the k-th of the tenants count for the quota of the i-th of the owners."""
        known: dict[int, frozenset[int]] = {tenant: frozenset(self.line(tenant)) for tenant in set(tenants.tolist())}
        found = np.zeros((len(owners), len(tenants)), dtype=np.bool_)
        for tenant, line in known.items():
            found[np.ix_(np.isin(owners, list(line)), tenants == tenant)] = True
        return found

    def nearest(self, tenants: Ints) -> Ints:
        """Return for each of the tenants the nearest of its line, -1 where there is none."""
        first = [line[0] if line else -1 for line in self.lines]
        return np.array([*first, -1], dtype=np.int64)[tenants]

    def used(self, jobs: Iterable[int]) -> Ints:
        """Return the table of GPUs that these jobs have, each for its own tenant; the last row is for no tenant."""
        some = np.fromiter(jobs, dtype=np.int64)
        table = np.zeros((len(self.limit) + 1, self.classes), dtype=np.int64)
        np.add.at(table, (self.tenant[some], self.rank[some]), self.gpus[some])
        return table[:, ::-1].cumsum(axis=1)[:, ::-1]

    def held(self, used: Ints) -> Ints:
        """Return the table of GPUs that count for each quota, however far above it."""
        held = np.zeros_like(used)
        for tenant, line in enumerate(self.lines):
            for one in line:
                held[one] += used[tenant]
        return held

    def counted(self, used: Ints) -> Ints:
        """Return the table of GPUs that count for each quota, without those above the quotas of its parts."""
        counted = np.zeros_like(used)
        for tenant, line in enumerate(self.lines):
            for nearest in line[:1]:
                counted[nearest] += used[tenant]
        for tenant in self.upwards:
            for above in self.lines[tenant][1:2]:
                counted[above] += np.minimum(counted[tenant], self.limit[tenant])
        return counted

    def over(self, used: Ints) -> Ints:
        """Return the table of GPUs above each quota; what is above that of a part counts no further up."""
        limit = np.append(self.limit, UNLIMITED)
        over: Ints = np.maximum(0, self.counted(used) - limit[:, None])
        return over

    def within(self, used: Ints) -> Ints:
        """Return for each priority the GPUs within all quotas of its jobs and of those of larger ones."""
        within: Ints = used.sum(axis=0) - self.over(used).sum(axis=0)
        return within

    def payers(self, used: Ints) -> tuple[Ints, dict[int, int]]:
        """Return for each job a number of who would lose its GPUs, and how many those can lose and keep their quotas.

        That is the nearest tenant of its line, which is above its quota by jobs of its priority and of larger ones.
        """
        above = self.counted(used) - np.append(self.limit, UNLIMITED)[:, None]
        nearest = self.nearest(self.tenant)
        payer = np.where(nearest < 0, -1, nearest * self.classes + self.rank)
        known = np.unique(payer).tolist()
        return payer, {one: 0 if one < 0 else max(0, int(above[divmod(one, self.classes)])) for one in known}


@last_recalled
def _tree(round_: Round) -> QuotaTree:
    amounts, rank = round_.amounts, priority_ranks(round_)
    limited = (amounts.U < UNLIMITED).tolist()
    lines = tuple(tuple(one for one in amounts.line(v) if limited[one]) for v in range(len(limited)))
    upwards = sorted((v for v, has in enumerate(limited) if has), key=lambda v: -len(lines[v]))
    return QuotaTree(
        tenant=amounts.tenant,
        rank=rank,
        gpus=amounts.g,
        limit=amounts.U,
        lines=lines,
        upwards=tuple(upwards),
        classes=int(rank.max(initial=0)) + 1,
    )
