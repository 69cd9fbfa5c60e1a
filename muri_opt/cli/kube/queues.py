"""Queues as tenants: Kueue's cluster queues and cohorts, and the queues of Volcano and KAI Scheduler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from muri_opt.cli.kube.nodes import GPU_RESOURCES
from muri_opt.cli.kube.objects import Object, name_of, of_kind, spec
from muri_opt.cli.kube.quantities import quantity
from muri_opt.cli.ledger import Ledger
from muri_opt.rounds import Tenant


def read_tenants(every: Sequence[Object], ledger: Ledger) -> dict[str, Tenant]:
    """Return the tenants by name; a cohort is above its cluster queues, a parent queue above its queues."""
    found: dict[str, Tenant] = {}
    for one in of_kind(every, "Cohort"):
        found[_cohort(name_of(one))] = Tenant(id=_cohort(name_of(one)), parent=_parent_cohort(one))
    for one in of_kind(every, "ClusterQueue"):
        tenant = _cluster_queue(one, ledger)
        found[tenant.id] = tenant
        if tenant.parent is not None:
            found.setdefault(tenant.parent, Tenant(id=tenant.parent))
    for one in of_kind(every, "Queue"):
        tenant = _queue(one)
        found[tenant.id] = tenant
    missing = {tenant.parent for tenant in found.values() if tenant.parent is not None} - set(found)
    return found | {name: Tenant(id=name) for name in sorted(missing)}


def local_queues(every: Sequence[Object]) -> dict[str, str]:
    """Return the cluster queue of each local queue, by namespace and name."""
    return {name_of(one): str(spec(one).get("clusterQueue") or "") for one in of_kind(every, "LocalQueue")}


def _cluster_queue(one: Object, ledger: Ledger) -> Tenant:
    said, name = spec(one), name_of(one)
    cohort = said.get("cohortName") or said.get("cohort")
    quotas = [
        resource
        for group in said.get("resourceGroups") or ()
        for flavor in group.get("flavors") or ()
        for resource in flavor.get("resources") or ()
        if resource.get("name") in GPU_RESOURCES
    ]
    if len(quotas) > 1:
        ledger.node(name, "quotas of several flavors of a cluster queue are added up")
    quota = _sum(quotas, "nominalQuota") if quotas else None
    return Tenant(
        id=name,
        parent=_cohort(str(cohort)) if cohort else None,
        quota_gpus=quota,
        borrow_gpus=_borrowing(quotas, bool(cohort)) if quota is not None else None,
        lend_gpus=_sum(quotas, "lendingLimit") if all("lendingLimit" in one for one in quotas) and quotas else None,
    )


def _borrowing(quotas: Sequence[Mapping[str, Any]], in_cohort: bool) -> int | None:
    """Return what may be borrowed: as much as is said, and without a word all that a cohort has."""
    if not in_cohort:
        return None
    return _sum(quotas, "borrowingLimit") if all("borrowingLimit" in one for one in quotas) else 1_000_000


def _queue(one: Object) -> Tenant:
    said = spec(one)
    gpus = (said.get("resources") or {}).get("gpu") or {}
    capability = (said.get("capability") or {}).get(GPU_RESOURCES[0])
    limit = gpus.get("limit") if gpus else capability
    known = limit is not None and quantity(limit) >= 0
    parent = said.get("parentQueue") or said.get("parent")
    return Tenant(
        id=name_of(one).rpartition("/")[2],
        parent=str(parent) if parent else None,
        quota_gpus=int(quantity(limit)) if known else None,
    )


def _parent_cohort(one: Object) -> str | None:
    parent = spec(one).get("parentName") or spec(one).get("parent")
    return _cohort(str(parent)) if parent else None


def _cohort(name: str) -> str:
    return f"cohort:{name}"


def _sum(quotas: Sequence[Mapping[str, Any]], field: str) -> int:
    return int(sum(quantity(one.get(field)) for one in quotas))
