"""The quotas of tenants in the joint round: each job counts for those of its own tenant and of all above it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.sharing_now import Held
from muri_opt.systems.joint.charges.consumption import Consumption, members_of
from muri_opt.systems.joint.jobs.group_value import Group


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quotas:
    """The tenants with a quota, ``left[t]`` GPUs of it, which counts what the jobs have that ``counted`` says."""

    left: Ints
    counted: Consumption

    @classmethod
    def of(cls, round_: Round) -> Quotas:
        """Return the quotas of a round; without any no job counts for one."""
        return _quotas(round_)

    def held(self, groups: Mapping[Group, int]) -> Ints:
        """Return the GPUs that each quota counts if groups have so many: each of their jobs has all of them."""
        if not len(self.left):
            return self.left
        gpus = np.array([*groups.values()], dtype=np.int64)
        return self.counted.of_groups(*members_of(groups)).total(gpus).astype(np.int64)

    def beside(self, groups: Mapping[Group, int]) -> Quotas:
        """Return what is left of them beside groups with so many GPUs."""
        return replace(self, left=self.left - self.held(groups))


@recalled
def _quotas(round_: Round) -> Quotas:
    amounts = round_.amounts
    limited = np.flatnonzero(amounts.U < UNLIMITED)
    if not len(limited):
        return Quotas(left=limited, counted=Consumption.nothing(len(amounts.tenant)))
    number = {tenant: at for at, tenant in enumerate(limited.tolist())}
    lines = [tuple(number[one] for one in amounts.line(at) if one in number) for at in range(len(amounts.U))]
    with_tenant = amounts.tenant >= 0
    by_tenant = Consumption.of_lines(lines, len(limited))
    counted = by_tenant.of_groups(amounts.tenant[with_tenant], with_tenant.astype(np.int64))
    return Quotas(left=amounts.U[limited], counted=counted)


def within_quotas(round_: Round, kept: Mapping[Group, Held]) -> dict[Group, Held]:
    """Return the running groups that may go on together: what is beyond the quota of a tenant has to stop."""
    amounts = round_.amounts
    left: list[int] = amounts.U.tolist()
    if not left:
        return dict(kept)
    found: dict[Group, Held] = {}
    for group, held in kept.items():
        gpus = sum([gpus for _, gpus in held])
        need = Counter(tenant for job in group for tenant in amounts.line(amounts.tenant.item(job)))
        if all(gpus * count <= left[tenant] for tenant, count in need.items()):
            found[group] = held
            for tenant, count in need.items():
                left[tenant] -= gpus * count
    return found
