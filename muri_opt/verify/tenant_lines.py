"""Tenants that are part of others: whose quotas a job counts for."""

from __future__ import annotations

from collections import Counter

from muri_opt.rounds import Round


def tenant_lines(round_: Round) -> dict[str, tuple[str, ...]]:
    """Return each tenant with those that it is part of, from itself upwards."""
    parent = {tenant.id: tenant.parent for tenant in round_.cluster.tenants}
    lines = {}
    for tenant in parent:
        line, at = list[str](), parent[tenant]
        while at is not None:
            line.append(at)
            at = parent[at]
        lines[tenant] = (tenant, *line)
    return lines


def with_parents(round_: Round, held: Counter[str]) -> Counter[str]:
    """Return the GPUs of each tenant and of all below it."""
    if all(tenant.parent is None for tenant in round_.cluster.tenants):
        return held
    lines, total = tenant_lines(round_), Counter[str]()
    for tenant, gpus in held.items():
        for above in lines.get(tenant, ()):
            total[above] += gpus
    return total


def most_gpus(round_: Round) -> dict[str, int]:
    """Return what tenants with a quota may have at most: the quota, and what they may borrow."""
    quotas = {tenant.id: (tenant.quota_gpus, tenant.borrow_gpus or 0) for tenant in round_.cluster.tenants}
    return {tenant: quota + more for tenant, (quota, more) in quotas.items() if quota is not None}


def spare_quotas(round_: Round, held: Counter[str]) -> dict[str, int]:
    """Return the GPUs that each tenant has left of what it, or one above it, may have at most, where that is said."""
    total = with_parents(round_, held)
    spare = {tenant: most - total[tenant] for tenant, most in most_gpus(round_).items()}
    if all(tenant.parent is None for tenant in round_.cluster.tenants):
        return spare
    limits = {tenant: [spare[one] for one in line if one in spare] for tenant, line in tenant_lines(round_).items()}
    return {tenant: min(left) for tenant, left in limits.items() if left}
