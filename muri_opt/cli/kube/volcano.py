"""The dump that Volcano's scheduler writes on SIGUSR1: several JSON documents with the field names of its Go types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from muri_opt.cli.kube.nodes import GPU_RESOURCES
from muri_opt.cli.kube.pods import Gang, Needs, priority_of, seconds
from muri_opt.cli.kube.quantities import GIBIBYTE
from muri_opt.rounds import Node

MILLI: Final = 1000
NODE: Final = "Node"
VOLCANO_JOB: Final = "job of Volcano"
OVER: Final = (1 << 7, 1 << 8)
"""The states of tasks that have succeeded or failed."""


def is_volcano(document: Any) -> bool:
    """Return whether a document is a part of such a dump: nodes or jobs by name."""
    return isinstance(document, dict) and any(_is_node(one) or _is_job(one) for one in document.values())


def entry_key(name: str, one: Any) -> tuple[str, str] | None:
    """Return the kind and the name of an entry of such a document, or ``None`` where it is neither node nor job."""
    if _is_node(one):
        return NODE, str(one.get("Name") or name)
    return (VOLCANO_JOB, _name(name, one)) if _is_job(one) else None


def volcano_nodes(document: Mapping[str, Any]) -> Iterator[Node]:
    """Yield the nodes of a document."""
    for name, one in document.items():
        if _is_node(one):
            gpus, cpus, memory = _amounts(one.get("Allocatable") or {})
            labels = (((one.get("Node") or {}).get("metadata") or {}).get("labels")) or {}
            marks = tuple(sorted(f"{key}={value}" for key, value in labels.items()))
            yield Node(id=str(one.get("Name") or name), gpus=gpus, cpus=cpus, memory_gib=memory, labels=marks)


def volcano_gangs(document: Mapping[str, Any]) -> Iterator[Gang]:
    """Yield the gangs of a document."""
    for name, one in document.items():
        if _is_job(one):
            live = [task for task in (one.get("Tasks") or {}).values() if task.get("Status") not in OVER]
            yield Gang(
                name=_name(name, one),
                pods=[(_needs(task), str(task.get("NodeName") or "") or None) for task in live],
                fields={
                    "tenant": str(one.get("Queue") or "") or None,
                    "priority": priority_of(one.get("Priority")),
                    "submitted": seconds(one.get("CreationTimestamp")) or 0.0,
                },
            )


def _is_node(one: Any) -> bool:
    return isinstance(one, dict) and "Allocatable" in one and "Tasks" in one


def _is_job(one: Any) -> bool:
    return isinstance(one, dict) and "MinAvailable" in one and "Tasks" in one


def _name(name: str, one: Mapping[str, Any]) -> str:
    space, own = one.get("Namespace"), str(one.get("Name") or name)
    return f"{space}/{own}" if space else own


def _needs(task: Mapping[str, Any]) -> Needs:
    gpus, cpus, memory = _amounts(task.get("Resreq") or {})
    return Needs(gpus=gpus, cpus=cpus, memory_gib=memory)


def _amounts(resources: Mapping[str, Any]) -> tuple[int, float, float]:
    scalars = resources.get("ScalarResources") or {}
    gpus = sum(float(scalars.get(name) or 0) for name in GPU_RESOURCES) / MILLI
    return int(gpus), float(resources.get("MilliCPU") or 0) / MILLI, float(resources.get("Memory") or 0) / GIBIBYTE
