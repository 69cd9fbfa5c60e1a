"""What tenants borrow of each other: more than its quota one has of what those beside it do not use.

Tenants with a quota and one parent share a *pool*: they borrow of each other, and of what their parent's quota has
beside theirs. All tenants without a parent share the pool of the cluster, whose quota are its GPUs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from muri_opt.rounds.tenant_tree import parents

if TYPE_CHECKING:
    from muri_opt.rounds.cluster import Cluster

_ANY = 1 << 50
_NO_PART = -1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Borrowing:
    """Who borrows in which pool; pool p is that of the tenants below tenant p, and the last that of the cluster.

    Tenant v is in ``pool[v]`` (-1: it has no quota and takes no part), with ``quota[v]`` GPUs of its own, of which it
    lends ``lend[v]``. ``spare[p]`` GPUs of a pool are in nobody's quota. What the tenants of a pool have above their
    quotas, less what others lend, is at most ``most[p]``, without limit where none of them may borrow.

    What v borrows (lends, below 0) is the least ``net[v]`` of at least ``use - quota``, ``-lend``, and what its own
    pool has in use above its ``spare``.
    """

    pool: tuple[int, ...]
    quota: tuple[int, ...]
    lend: tuple[int, ...]
    spare: tuple[int, ...]
    most: tuple[int, ...]
    lines: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, cluster: Cluster, lines: tuple[tuple[int, ...], ...] | None) -> Borrowing | None:
        """Return the pools of a cluster; ``None`` where no tenant may borrow."""
        tenants = cluster.tenants
        if not any(tenant.borrow_gpus for tenant in tenants):
            return None
        count = len(tenants)
        quotas = [tenant.quota_gpus for tenant in tenants]
        above = [count if parent < 0 else parent for parent in parents(tenants).tolist()]
        pool = [parent if quota is not None else _NO_PART for parent, quota in zip(above, quotas, strict=True)]
        inside, may_borrow = [0] * (count + 1), [False] * (count + 1)
        for place, tenant in enumerate(tenants):
            if tenant.quota_gpus is not None:
                inside[pool[place]] += tenant.quota_gpus
                may_borrow[pool[place]] |= bool(tenant.borrow_gpus)
        whole = [*(quota or 0 for quota in quotas), sum(node.gpus for node in cluster.nodes if node.state != "down")]
        spare = [max(0, has - given) for has, given in zip(whole, inside, strict=True)]
        more = [*(tenant.borrow_gpus or 0 for tenant in tenants), 0]
        lend = [_ANY if tenant.lend_gpus is None else tenant.lend_gpus for tenant in tenants]
        return cls(
            pool=tuple(pool),
            quota=tuple(quota or 0 for quota in quotas),
            lend=tuple(min(lent, quota or 0) for lent, quota in zip(lend, quotas, strict=True)),
            spare=tuple(spare),
            most=tuple(spare[p] + more[p] if may_borrow[p] else _ANY for p in range(count + 1)),
            lines=lines or tuple((place,) for place in range(count)),
        )

    def net(self, tenant: int, use: int, inside: int) -> int:
        """Return what a tenant borrows that uses so much, the tenants below it having borrowed ``inside``."""
        return max(use - self.quota[tenant], -self.lend[tenant], inside - self.spare[tenant])


class _Step(NamedTuple):
    """One tenant and its pool, as they would be."""

    tenant: int
    use: int
    net: int
    pool: int
    total: int


class Borrowed:
    """What tenants use and borrow now; ``total[p]`` is the sum over the tenants of pool p."""

    def __init__(self, rules: Borrowing, use: Sequence[int] | None = None) -> None:
        self.rules = rules
        count = len(rules.pool)
        self.use = [0] * count if use is None else list(use)
        self.net, self.total = [0] * count, [0] * (count + 1)
        for tenant in sorted(range(count), key=lambda tenant: -len(rules.lines[tenant])):
            if rules.pool[tenant] != _NO_PART:
                self.net[tenant] = rules.net(tenant, self.use[tenant], self.total[tenant])
                self.total[rules.pool[tenant]] += self.net[tenant]

    def allows(self, tenant: int, gpus: int) -> bool:
        """Return whether the pools have so many GPUs more for a tenant; one that is not listed (-1) asks none."""
        return self.full_pool(tenant, gpus) is None

    def full_pool(self, tenant: int, gpus: int) -> int | None:
        """Return a tenant in whose pool too little is left for so many GPUs more of a tenant, or ``None``."""
        return next((step.tenant for step in self._steps(tenant, gpus) if self._is_over(step)), None)

    def add(self, tenant: int, gpus: int) -> None:
        """Let a tenant use so many GPUs more; fewer, if that is below 0."""
        for step in list(self._steps(tenant, gpus)):
            self.use[step.tenant], self.net[step.tenant] = step.use, step.net
            if step.pool != _NO_PART:
                self.total[step.pool] = step.total

    def _is_over(self, step: _Step) -> bool:
        rises = step.net > self.net[step.tenant]
        return rises and step.pool != _NO_PART and step.total > self.rules.most[step.pool]

    def _steps(self, tenant: int, gpus: int) -> list[_Step]:
        """Return what changes from a tenant upwards if it uses so many GPUs more."""
        rules, found = self.rules, list[_Step]()
        inside: int | None = None
        for one in rules.lines[tenant] if tenant >= 0 else ():
            use, pool = self.use[one] + gpus, rules.pool[one]
            if pool == _NO_PART:
                found.append(_Step(one, use, 0, pool, 0))
                inside = None
                continue
            net = rules.net(one, use, self.total[one] if inside is None else inside)
            inside = self.total[pool] + net - self.net[one]
            found.append(_Step(one, use, net, pool, inside))
        return found
