"""Pods that a workload of Kueue stands for: while it is not admitted they wait at a gate, and are the same job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from muri_opt.cli.kube.objects import Object, meta, name_of

POD_GROUP: Final = "kueue.x-k8s.io/pod-group-name"
"""A label of pods: the name of the workload of all pods that have it."""
WORKLOAD: Final = "kueue.x-k8s.io/workload"
"""An annotation of pods: the name of their workload."""
_Owner = tuple[str, str, str]
"""A namespace, a kind and a name."""


def pods_of_workloads(workloads: Sequence[Object], pods: Sequence[Object]) -> dict[str, list[Object]]:
    """Return the pods of each workload by its name, of those that are known to have any.

    A pod is of a workload that it names, that it owns, or that is owned by what owns the pod, such as a Job.
    """
    names, owners = set(map(name_of, workloads)), defaultdict[_Owner, list[tuple[Any, str]]](list)
    for one in workloads:
        for owner, uid in _owners(one):
            owners[owner].append((uid, name_of(one)))
    found = defaultdict[str, list[Object]](list)
    for pod in pods:
        name = next((name for name in _candidates(pod, owners) if name in names), None)
        if name is not None:
            found[name].append(pod)
    return dict(found)


def _candidates(pod: Object, owners: Mapping[_Owner, Sequence[tuple[Any, str]]]) -> Iterator[str]:
    """Yield the names of workloads that a pod may be of."""
    space = _space(pod)
    for said in (meta(pod, "labels").get(POD_GROUP), meta(pod, "annotations").get(WORKLOAD)):
        if said:
            yield f"{space}/{said}" if space else str(said)
    itself = (space, "Pod", _name(pod)), (pod.get("metadata") or {}).get("uid")
    for owner, uid in (itself, *_owners(pod)):
        yield from (name for other, name in owners.get(owner, ()) if None in (uid, other) or uid == other)


def _owners(one: Object) -> Iterator[tuple[_Owner, Any]]:
    for said in (one.get("metadata") or {}).get("ownerReferences") or ():
        yield (_space(one), str(said.get("kind") or ""), str(said.get("name") or "")), said.get("uid")


def _space(one: Object) -> str:
    return str((one.get("metadata") or {}).get("namespace") or "")


def _name(one: Object) -> str:
    return str((one.get("metadata") or {}).get("name") or "")
