"""GPUs within quotas: a quota counts what a tenant and all that are part of it have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.verify.tenant_lines import tenant_lines

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """The ``limits`` of tenants that have one, and the ``lines`` of all tenants.

    The line of a tenant are those with a quota for which its GPUs count, itself first. ``upwards`` has every tenant
    with a quota before those that it is part of. A quota above the cluster is what a lost node leaves.
    """

    limits: Mapping[str, int]
    lines: Mapping[str, tuple[str, ...]]
    upwards: tuple[str, ...]

    @classmethod
    def of(cls, round_: Round) -> Quotas:
        """Return the quotas of a round."""
        limits = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants if tenant.quota_gpus is not None}
        lines = {tenant: tuple(one for one in line if one in limits) for tenant, line in tenant_lines(round_).items()}
        upwards = sorted(limits, key=lambda tenant: -len(lines[tenant]))
        return cls(limits=limits, lines=lines, upwards=tuple(upwards))

    @property
    def nested(self) -> bool:
        """Whether GPUs of some tenant count for several quotas, or for that of another tenant."""
        return any(line not in ((), (tenant,)) for tenant, line in self.lines.items())

    def line(self, tenant: str) -> tuple[str, ...]:
        """Return those for whose quotas the GPUs of a tenant count, the nearest first; none for no tenant."""
        return self.lines.get(tenant, ())

    def held(self, used: Mapping[str, int]) -> Counter[str]:
        """Return the GPUs that count for each quota."""
        held: Counter[str] = Counter()
        for tenant, gpus in used.items():
            for one in self.line(tenant):
                held[one] += gpus
        return held

    def over(self, used: Mapping[str, Ints]) -> dict[str, Ints]:
        """Return the GPUs that tenants have above their quotas; what is above that of a part counts no further up.

        Each has a row of GPUs, as many as any other: those of some jobs, those of some more, and so on.
        """
        counted: dict[str, Ints] = {}
        for tenant, gpus in used.items():
            for nearest in self.line(tenant)[:1]:
                counted[nearest] = counted.get(nearest, 0) + gpus
        over = {}
        for tenant in filter(counted.__contains__, self.upwards):
            over[tenant] = np.maximum(0, counted[tenant] - self.limits[tenant])
            for above in self.lines[tenant][1:2]:
                counted[above] = counted.get(above, 0) + counted[tenant] - over[tenant]
        return over

    def within_alone(self, tenant: str, gpus: int) -> int:
        """Return the GPUs within quotas where only one tenant has any, and they count for no quota but its own."""
        return min(gpus, self.limits[tenant]) if self.lines.get(tenant) else gpus

    def is_above(self, tenant: str, held: Mapping[str, int]) -> bool:
        """Return whether a tenant, or the nearest above it with a quota, has all of that with what is ``held``."""
        return any(held[one] >= self.limits[one] for one in self.line(tenant)[:1])

    def has_left(self, tenant: str, gpus: int, held: Mapping[str, int]) -> bool:
        """Return whether a tenant may have so many GPUs more within all quotas they count for."""
        return all(held[one] + gpus <= self.limits[one] for one in self.line(tenant))


@dataclass(frozen=True, slots=True)
class Scale:
    """What counts for the jobs of one priority: K for a GPU within a quota, P for one preempted, and all work."""

    premium: int
    penalty: int
    work: int


def scales(classes: Iterable[tuple[int, int, int]], *, weighted: bool) -> tuple[Scale, ...]:
    """Return what counts for each priority, from the smallest on.

    ``classes`` has for each priority the GPUs of its jobs, by how much its work can differ, and the GPUs that could be
    preempted. Weighted, the n-th priority counts n times. Else all work of the jobs of a larger priority
    outweighs that of the smaller ones; preempted GPUs outweigh all work, those of a larger priority first; and GPUs
    within quotas outweigh all of this, in the same way.
    """
    known = list(classes)
    if weighted:
        return tuple(Scale(1000 * times, 1000 * times, times) for times in range(1, len(known) + 1))
    unit, work, penalties, premiums = 1, list[int](), list[int](), list[int]()
    for _, differs, _ in known:
        work.append(unit)
        unit *= 1 + differs
    for _, _, evictable in known:
        penalties.append(unit)
        unit *= 1 + evictable
    for gpus, _, _ in known:
        premiums.append(unit)
        unit *= 1 + gpus
    return tuple(map(Scale, premiums, penalties, work))
