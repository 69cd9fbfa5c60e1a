"""Tenants as a tree: a quota holds for a tenant and all below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds.error_text import listed, shown

if TYPE_CHECKING:
    from muri_opt.rounds.cluster import Tenant


def check_tree(tenants: Sequence[Tenant]) -> None:
    """Refuse a parent that is not listed, and tenants that are above themselves."""
    if all(tenant.parent is None for tenant in tenants):
        return
    parent = {tenant.id: tenant.parent for tenant in tenants}
    good: set[str] = set()
    for position, tenant in enumerate(tenants):
        field = f"tenants[{position}] ({shown(tenant.id)}).parent"
        if tenant.parent is not None and tenant.parent not in parent:
            raise InputError(field, shown(tenant.parent), f"another tenant of the cluster: {listed(parent)}")
        way: dict[str, None] = {}
        at: str | None = tenant.id
        while at is not None and at in parent and at not in good:
            if at in way:
                circle = [*way][[*way].index(at) :]
                found = f"{shown(tenant.parent)}, which makes a circle: {' -> '.join(map(shown, [*circle[:4], at]))}"
                raise InputError(field, found, "parents that lead to a tenant without one")
            way[at] = None
            at = parent[at]
        good.update(way)


def oversubscribed(tenants: Sequence[Tenant]) -> dict[str, int]:
    """Return the tenants whose children's quotas add up to more than their own, with that sum; it is no fault."""
    below: Counter[str] = Counter()
    for tenant in tenants:
        if tenant.parent is not None and tenant.quota_gpus is not None:
            below[tenant.parent] += tenant.quota_gpus
    own = {tenant.id: tenant.quota_gpus for tenant in tenants if tenant.quota_gpus is not None}
    return {tenant: below[tenant] for tenant, quota in own.items() if below[tenant] > quota}


def parents(tenants: Sequence[Tenant]) -> NDArray[np.int64]:
    """Return for each tenant the position of its parent, -1 for one without."""
    place = {tenant.id: position for position, tenant in enumerate(tenants)}
    return np.fromiter((-1 if t.parent is None else place[t.parent] for t in tenants), dtype=np.int64)


def lines_above(tenants: Sequence[Tenant]) -> tuple[tuple[int, ...], ...] | None:
    """Return for each tenant its position and those of all above it, from itself upwards; ``None`` without parents."""
    if all(tenant.parent is None for tenant in tenants):
        return None
    above, lines = parents(tenants).tolist(), list[tuple[int, ...]]()
    for position in range(len(above)):
        line = [position]
        while above[line[-1]] >= 0:
            line.append(above[line[-1]])
        lines.append(tuple(line))
    return tuple(lines)
