"""Nodes of Kubernetes as nodes of a round: what can be allocated, labels, taints, and levels of a topology."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from muri_opt.cli.kube.objects import Object, meta, spec
from muri_opt.cli.kube.quantities import GIBIBYTE, quantity
from muri_opt.rounds import Node

GPU_RESOURCES: Final = ("nvidia.com/gpu", "amd.com/gpu")
TYPE_LABELS: Final = ("nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "amd.com/gpu.product-name")
HOST: Final = "kubernetes.io/hostname"
_KEEPING: Final = ("NoSchedule", "NoExecute")


def gpus_of(resources: Mapping[str, Any] | None) -> int:
    """Return the GPUs among resources."""
    return int(sum(quantity((resources or {}).get(name)) for name in GPU_RESOURCES))


def level_labels(topologies: Sequence[Object]) -> tuple[str, ...]:
    """Return the labels of nodes that are levels of the first topology, from wide to narrow, without the node."""
    for one in topologies:
        labels = (str(level.get("nodeLabel") or "") for level in spec(one).get("levels") or ())
        return tuple(label for label in labels if label and label != HOST)
    return ()


def read_node(one: Object, levels: Iterable[str]) -> Node:
    """Return a node. A taint that keeps pods away is a label that jobs without its toleration exclude."""
    labels = {str(key): str(value) for key, value in meta(one, "labels").items()}
    has = (one.get("status") or {}).get("allocatable") or {}
    taints = [taint_label(taint) for taint in spec(one).get("taints") or () if taint.get("effect") in _KEEPING]
    return Node(
        id=str((one.get("metadata") or {}).get("name") or ""),
        gpus=gpus_of(has),
        cpus=quantity(has.get("cpu")),
        memory_gib=quantity(has.get("memory")) / GIBIBYTE,
        gpu_type=next((labels[name] for name in TYPE_LABELS if name in labels), None),
        labels=tuple(sorted({*(f"{key}={value}" for key, value in labels.items()), *taints})),
        levels={level: labels[level] for level in levels if level in labels} or None,
        state=_state(one),
    )


def taint_label(taint: Mapping[str, Any]) -> str:
    """Return the label that stands for a taint."""
    return f"taint:{taint.get('key')}={taint.get('value') or ''}:{taint.get('effect')}"


def tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    """Return whether a toleration is for a taint."""
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in (None, "", taint.get("key"))
    same_value = (toleration.get("value") or "") == (taint.get("value") or "")
    return toleration.get("key") == taint.get("key") and same_value


def keeping_taints(nodes: Sequence[Object]) -> list[Mapping[str, Any]]:
    """Return every taint of the nodes that keeps pods away, once."""
    every = (taint for one in nodes for taint in spec(one).get("taints") or () if taint.get("effect") in _KEEPING)
    return list({taint_label(taint): taint for taint in every}.values())


def _state(one: Object) -> Any:
    conditions = (one.get("status") or {}).get("conditions") or ()
    ready = [condition.get("status") for condition in conditions if condition.get("type") == "Ready"]
    if ready and ready[0] != "True":
        return "down"
    return "drain" if spec(one).get("unschedulable") else "up"
