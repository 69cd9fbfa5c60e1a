"""What tenants may borrow, by the words of the round format: three plain ways to say it, shared with nothing."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from muri_opt import Cluster, Tenant

Uses = Mapping[str, int]
"""GPUs that each tenant uses, with all below it."""


def may_use(cluster: Cluster, uses: Uses, stay: Uses) -> bool:
    """Return whether tenants may use so much; what ``stay`` uses, it may."""
    for tenant in cluster.tenants:
        if tenant.quota_gpus is not None:
            most = tenant.quota_gpus + (tenant.borrow_gpus or 0)
            if uses.get(tenant.id, 0) > max(most, stay.get(tenant.id, 0)):
                return False
    for parent in (None, *(tenant.id for tenant in cluster.tenants)):
        group = _group(cluster, parent)
        if any(tenant.borrow_gpus for tenant in group):
            above, at_least = (sum(_net(cluster, tenant, given) for tenant in group) for given in (uses, stay))
            own = 0 if parent is None else _of(cluster, parent).borrow_gpus or 0
            if above > max(_spare(cluster, parent) + own, at_least):
                return False
    return True


def _net(cluster: Cluster, tenant: Tenant, uses: Uses) -> int:
    """Return what a tenant borrows; below 0, what it lends."""
    lends = tenant.quota_gpus if tenant.lend_gpus is None else tenant.lend_gpus
    below = sum(_net(cluster, one, uses) for one in _group(cluster, tenant.id))
    return max(uses.get(tenant.id, 0) - tenant.quota_gpus, -lends, below - _spare(cluster, tenant.id))


def _group(cluster: Cluster, parent: str | None) -> list[Tenant]:
    return [one for one in cluster.tenants if one.parent == parent and one.quota_gpus is not None]


def _of(cluster: Cluster, name: str) -> Tenant:
    return next(tenant for tenant in cluster.tenants if tenant.id == name)


def _spare(cluster: Cluster, parent: str | None) -> int:
    inside = sum(tenant.quota_gpus for tenant in _group(cluster, parent))
    up = sum(node.gpus for node in cluster.nodes if node.state != "down")
    return max(0, (up if parent is None else _of(cluster, parent).quota_gpus or 0) - inside)


def loans_exist(cluster: Cluster, uses: Uses) -> bool:
    """Return whether there are numbers b and l, what each tenant borrows and lends, that allow these uses."""
    some = [tenant for tenant in cluster.tenants if tenant.quota_gpus is not None]
    ranges = []
    for tenant in some:
        lends = tenant.quota_gpus if tenant.lend_gpus is None else min(tenant.lend_gpus, tenant.quota_gpus)
        ranges += [range((tenant.borrow_gpus or 0) + 1), range(lends + 1)]
    for numbers in product(*ranges):
        net = {tenant.id: numbers[2 * at] - numbers[2 * at + 1] for at, tenant in enumerate(some)}
        if all(uses.get(tenant.id, 0) <= tenant.quota_gpus + net[tenant.id] for tenant in some) and all(
            sum(net[one.id] for one in _group(cluster, parent)) <= _spare(cluster, parent) + net.get(parent or "", 0)
            for parent in (None, *(tenant.id for tenant in cluster.tenants))
        ):
            return True
    return False


class Cohorts:
    """Kueue's count of hierarchical cohorts: what each node of the tree has, uses, and stores in its parent.

    A tenant with others below it is a cohort whose nominal quota is what its own has beside theirs; those without a
    parent are cohorts, or queues, of their own.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def allow(self, uses: Uses) -> bool:
        """Return whether no node uses more than it has and may borrow; a root may not."""
        for tenant in self._cluster.tenants:
            limit = self._subtree(tenant) + (0 if tenant.parent is None else tenant.borrow_gpus or 0)
            if self._usage(tenant, uses) > limit:
                return False
        return True

    def _below(self, tenant: Tenant) -> list[Tenant]:
        return [one for one in self._cluster.tenants if one.parent == tenant.id]

    def _subtree(self, tenant: Tenant) -> int:
        """Return ``SubtreeQuota``: the nominal quota, and what those below lend."""
        below = self._below(tenant)
        nominal = tenant.quota_gpus - sum(one.quota_gpus for one in below)
        return nominal + sum(self._subtree(one) - self._local(one) for one in below)

    def _local(self, tenant: Tenant) -> int:
        """Return ``localQuota``: what the node does not lend to its parent."""
        return 0 if tenant.lend_gpus is None else max(0, self._subtree(tenant) - tenant.lend_gpus)

    def _usage(self, tenant: Tenant, uses: Uses) -> int:
        """Return ``Usage``: that of a queue, or of a cohort what those below use beyond their local quotas."""
        below = self._below(tenant)
        if not below:
            return uses.get(tenant.id, 0)
        return sum(max(0, self._usage(one, uses) - self._local(one)) for one in below)
