"""Columns and rows of the chapter *gangs* for quotas of tenants that borrow of each other, and for quotas by GPU type.

Letters as in the chapter: n_v what tenant v borrows of those beside it, below 0 what it lends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from muri_opt.modelling import ModelBuilder
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Amounts, Ints
from muri_opt.rounds.borrowing import Borrowed, Borrowing
from muri_opt.systems.capacity import held_gpus
from muri_opt.systems.capacity.type_quotas import TypeQuotas, type_quotas
from muri_opt.systems.gangs.program_places import OpenPart, Places


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoanColumns:
    """Columns n of the ``members``: tenants with a quota, where some may borrow.

    ``used`` are the GPUs of the jobs that stay, by tenant, and ``most`` what each pool may borrow at most: no less than
    what is borrowed by jobs that nobody may stop.
    """

    rules: Borrowing
    amounts: Amounts
    members: Ints
    used: Ints
    most: Ints
    total: int

    @classmethod
    def of(cls, round_: Round, part: OpenPart) -> LoanColumns | None:
        """Return the columns of the open part of a round; ``None`` where no tenant may borrow."""
        rules = part.amounts.borrowing
        if rules is None:
            return None
        used = used_gpus(part.amounts, part.stays)
        kept = Borrowed(rules, (used + used_gpus(part.amounts, part.must.tolist())).tolist())
        return cls(
            rules=rules,
            amounts=part.amounts,
            members=np.flatnonzero(np.array(rules.pool) >= 0),
            used=used,
            most=np.maximum(rules.most, kept.total),
            total=round_.cluster.total_gpus,
        )

    def add(self, builder: ModelBuilder, a: Ints) -> None:
        """Add columns and rows to a program that has the columns a."""
        rules, members = self.rules, self.members
        n = builder.add_columns("n", members, lower=-np.array(rules.lend)[members], upper=self.total)
        row_of = {tenant: row for row, tenant in enumerate(members.tolist())}
        owners = [(row_of[one], job) for job, one in self._counted(range(len(a))) if one in row_of]
        row, job = np.array(owners, dtype=np.int64).reshape(-1, 2).T
        rows, columns = np.append(row, np.arange(len(n))), np.append(a[job], n)
        numbers = np.append(self.amounts.g[job], -np.ones_like(n))
        own = np.array(rules.quota)[members] - self.used[members]
        builder.add_rows("borrow", members, entries=(rows, columns, numbers), sense="<=", rhs=own)
        pools = np.array(rules.pool)[members]
        inner = np.flatnonzero(np.isin(members, pools))
        some = np.flatnonzero(np.isin(pools, members[inner]))
        rows = np.append(np.searchsorted(members[inner], pools[some]), np.arange(len(inner)))
        numbers = np.append(np.ones_like(some), -np.ones_like(inner))
        entries = (rows, np.append(n[some], n[inner]), numbers)
        builder.add_rows("pass", members[inner], entries=entries, sense="<=", rhs=np.array(rules.spare)[members[inner]])
        bound = np.flatnonzero(np.array(rules.most) < UNLIMITED)
        some = np.flatnonzero(np.isin(pools, bound))
        entries = (np.searchsorted(bound, pools[some]), n[some], np.ones_like(some))
        builder.add_rows("pool", bound, entries=entries, sense="<=", rhs=self.most[bound])

    def encoded(self, a: Ints) -> Ints:
        """Return the columns n that go with the jobs that run."""
        use = self.used + used_gpus(self.amounts, np.flatnonzero(a).tolist())
        return np.array(Borrowed(self.rules, use.tolist()).net, dtype=np.int64)[self.members]

    def _counted(self, jobs: Iterable[int]) -> list[tuple[int, int]]:
        """Return the jobs with each tenant whose quota they count for."""
        return [(job, one) for job in jobs for one in self.amounts.line(int(self.amounts.tenant[job]))]


def used_gpus(amounts: Amounts, jobs: Iterable[int]) -> Ints:
    """Return the GPUs of jobs by tenant, with those of all below it."""
    used = np.zeros_like(amounts.U)
    for job in jobs:
        used[list(amounts.line(int(amounts.tenant[job])))] += amounts.g[job]
    return used


def add_type_quotas(
    builder: ModelBuilder, round_: Round, part: OpenPart, places: Places, taken: tuple[Ints, Ints, Ints, Ints]
) -> None:
    """Add the rows of quotas by GPU type: ``taken`` are jobs, places, columns and GPUs of all that can be used.

    What jobs hold that nobody may stop is within every quota.
    """
    quotas = type_quotas(round_)
    if quotas is None:
        return
    left = np.maximum(_beside(round_, part, part.stays), _kept(round_, part))
    limited = np.argwhere(quotas.left < UNLIMITED)
    j, s, columns, gpus = taken
    kind = np.zeros(len(places.G), dtype=np.int64)
    kind[places.of_node] = quotas.types
    rows, entries = list[int](), list[int]()
    row_of = {(tenant, code): row for row, (tenant, code) in enumerate(limited.tolist())}
    for entry, (job, place) in enumerate(zip(j.tolist(), s.tolist(), strict=True)):
        for tenant in part.amounts.line(int(part.amounts.tenant[job])):
            row = row_of.get((tenant, int(kind[place])))
            if row is not None:
                rows.append(row)
                entries.append(entry)
    parts = (np.array(rows, dtype=np.int64), columns[entries], gpus[entries])
    builder.add_rows("type", limited, entries=parts, sense="<=", rhs=left[tuple(limited.T)])


def _beside(round_: Round, part: OpenPart, shares: Mapping[int, Ints]) -> Ints:
    """Return what quotas by type have left beside shares, nothing where those are above them."""
    quotas = TypeQuotas(round_)
    for job, share in shares.items():
        quotas.charge(part.amounts.line(int(part.amounts.tenant[job])), share)
    return np.maximum(quotas.left, 0)


def _kept(round_: Round, part: OpenPart) -> Ints:
    """Return the GPUs of each tenant and type that the open jobs hold now which must go on."""
    quotas = TypeQuotas(round_)
    kept = np.zeros_like(quotas.left)
    for job in part.must.tolist():
        held = held_gpus(round_, job)
        if held is not None:
            kept[list(part.amounts.line(int(part.amounts.tenant[job])))] += quotas.per_type(held)
    return kept
