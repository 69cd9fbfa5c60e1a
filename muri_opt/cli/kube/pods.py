"""Pods as jobs: those of a gang are one job, and what runs holds what it requests whatever group it is in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from muri_opt.cli.kube.nodes import GPU_RESOURCES, gpus_of, taint_label, tolerates
from muri_opt.cli.kube.objects import Object, meta, name_of, spec
from muri_opt.cli.kube.quantities import GIBIBYTE, quantity
from muri_opt.cli.kube.workload_pods import POD_GROUP
from muri_opt.cli.ledger import Ledger
from muri_opt.rounds import Job, NodeRange
from muri_opt.rounds.job_demands import MAX_PRIORITY

GROUP_LABELS: Final = ("pod-group.scheduling.sigs.k8s.io/name", "pod-group.scheduling.sigs.k8s.io", POD_GROUP)
GROUP_ANNOTATIONS: Final = (
    "scheduling.k8s.io/group-name",
    "scheduling.volcano.sh/group-name",
    "pod-group-name",
)
QUEUE_LABELS: Final = ("kueue.x-k8s.io/queue-name", "kai.scheduler/queue", "runai/queue", "volcano.sh/queue-name")
OVER: Final = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What one pod requests."""

    gpus: int
    cpus: float
    memory_gib: float


def needs_of(pod_spec: Mapping[str, Any]) -> Needs:
    """Return what a pod requests: its containers together, or the largest of its init containers if that is more."""
    together = [_requests(one) for one in pod_spec.get("containers") or ()]
    first = [_requests(one) for one in pod_spec.get("initContainers") or ()]

    def most(name: str) -> float:
        return max(sum(one[name] for one in together), *(one[name] for one in first), 0.0)

    return Needs(gpus=int(most("gpus")), cpus=most("cpu"), memory_gib=most("memory") / GIBIBYTE)


def group_of(pod: Object) -> str | None:
    """Return the gang that a pod says it is of, with its namespace."""
    names = [*(meta(pod, "labels").get(label) for label in GROUP_LABELS)]
    names += [meta(pod, "annotations").get(annotation) for annotation in GROUP_ANNOTATIONS]
    name = next((one for one in names if one), None)
    space = (pod.get("metadata") or {}).get("namespace")
    return None if name is None else f"{space}/{name}" if space else str(name)


def queue_of(pod: Object) -> str | None:
    """Return the queue that labels of a pod name."""
    return next((str(meta(pod, "labels")[label]) for label in QUEUE_LABELS if meta(pod, "labels").get(label)), None)


def seconds(text: Any) -> float | None:
    """Return a moment such as ``2026-01-02T03:04:05Z`` in seconds."""
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gang:
    """Pods that start together: all alike, or it is noted. ``fields`` are those of the job beside its size."""

    name: str
    pods: Sequence[tuple[Needs, str | None]]
    """What each requests, and its node if it has one."""
    fields: Mapping[str, Any]


def jobs_of(gang: Gang, largest: int, ledger: Ledger) -> list[Job]:
    """Return the job of a gang, or two: what of it runs, and what of it waits. Pods without GPUs are no jobs."""
    runs = [(needs, node) for needs, node in gang.pods if node is not None and needs.gpus]
    waits = [needs for needs, node in gang.pods if node is None and needs.gpus]
    found = list[Job]()
    if runs:
        placement: dict[str, int] = {}
        for needs, node in runs:
            placement[str(node)] = placement.get(str(node), 0) + needs.gpus
        sizes = _amounts([needs for needs, _ in runs])
        found.append(Job(id=gang.name, state="running", placement=placement, **sizes, **gang.fields))
    if waits:
        name = gang.name if not runs else f"{gang.name}#waiting"
        if runs:
            ledger.job(gang.name, "a gang of which some pods run and others wait: two jobs")
        if len({needs.gpus for needs in waits}) > 1:
            ledger.job(gang.name, "pods of several sizes in one gang: only their sum is kept")
        shape = _shape(waits, largest, gang.name, ledger)
        found.append(Job(id=name, **_amounts(waits), **shape, **gang.fields))
    return found


def asked_of(
    pod_spec: Mapping[str, Any], taints: Sequence[Mapping[str, Any]], name: str, ledger: Ledger
) -> dict[str, Any]:
    """Return which nodes a pod may be on: its node selector, required affinities, and taints it does not tolerate."""
    requires = [f"{key}={value}" for key, value in (pod_spec.get("nodeSelector") or {}).items()]
    affinity = (pod_spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms") or ()
    excludes = list[str]()
    for term in terms if len(terms) == 1 else ():
        for one in term.get("matchExpressions") or ():
            values: list[str] = one.get("values") or []
            if one.get("operator") == "In" and len(values) == 1:
                requires.append(f"{one.get('key')}={values[0]}")
            elif one.get("operator") == "NotIn":
                excludes += [f"{one.get('key')}={value}" for value in values]
            else:
                ledger.job(name, f"an affinity by {one.get('operator')}")
    if len(terms) > 1:
        ledger.job(name, "alternative affinities")
    for other in ("podAffinity", "podAntiAffinity"):
        if (pod_spec.get("affinity") or {}).get(other):
            ledger.job(name, other)
    accepted = pod_spec.get("tolerations") or ()
    excludes += [taint_label(one) for one in taints if not any(tolerates(other, one) for other in accepted)]
    return {"requires": tuple(dict.fromkeys(requires)), "excludes": tuple(dict.fromkeys(excludes))}


def priority_of(said: Any) -> int:
    """Return a priority within what a round can say."""
    return max(-MAX_PRIORITY, min(MAX_PRIORITY, int(said or 0)))


def named(pod: Object) -> str:
    """Return the gang of a pod, or its own name where it is in none."""
    return group_of(pod) or name_of(pod)


def runs_on(pod: Object) -> str | None:
    """Return the node of a pod."""
    return str(spec(pod).get("nodeName") or "") or None


def _amounts(pods: Sequence[Needs]) -> dict[str, Any]:
    return {
        "gpus": sum(one.gpus for one in pods),
        "cpus": sum(one.cpus for one in pods),
        "memory_gib": sum(one.memory_gib for one in pods),
    }


def _shape(pods: Sequence[Needs], largest: int, name: str, ledger: Ledger) -> dict[str, Any]:
    """Return on how many nodes a gang may be, so that no pod is torn apart."""
    each, total = max(one.gpus for one in pods), sum(one.gpus for one in pods)
    if len(pods) == 1:
        return {"nodes": NodeRange(least=1, most=1)}
    if each == 1:
        return {}
    if total <= largest:
        ledger.job(name, "several pods of more than one GPU: all on one node")
        return {"nodes": NodeRange(least=1, most=1)}
    if 2 * each <= largest:
        ledger.job(name, "several pods of more than one GPU: each on a node of its own")
    return {"nodes": NodeRange(least=len(pods), most=len(pods)), "even": True}


def _requests(container: Mapping[str, Any]) -> dict[str, float]:
    said = container.get("resources") or {}
    limits, requests = said.get("limits") or {}, said.get("requests") or {}
    both = {**limits, **requests}
    gpus = {name: both.get(name) for name in GPU_RESOURCES}
    return {"gpus": gpus_of(gpus), "cpu": quantity(both.get("cpu")), "memory": quantity(both.get("memory"))}
