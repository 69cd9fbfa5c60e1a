"""What the cluster offers: nodes with GPUs, CPUs and memory, and tenants with quotas."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

import msgspec
from msgspec import Meta

from muri_opt.rounds.field_checks import check_items, check_name, check_texts, check_unique
from muri_opt.rounds.quantities import MAX_CPUS, MAX_GPUS, MAX_MEMORY_GIB, check_cpus, check_memory, check_whole

GpuCount = Annotated[int, Meta(ge=0, le=MAX_GPUS)]
Cpus = Annotated[float, Meta(ge=0, le=MAX_CPUS)]
MemoryGib = Annotated[float, Meta(ge=0, le=MAX_MEMORY_GIB)]
Name = Annotated[str, Meta(min_length=1)]


class Node(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One server. CPUs or memory left out are not limited.

    >>> Node(id="n0", gpus=8, cpus=96, memory_gib=1600).cpus
    96.0
    """

    id: Name
    gpus: GpuCount
    cpus: Cpus | None = None
    memory_gib: MemoryGib | None = None
    rack: str | None = None
    gpu_type: str | None = None

    def __post_init__(self) -> None:
        check_name(self, "id")
        check_texts(self, "rack", "gpu_type")
        check_whole(self, "gpus", MAX_GPUS)
        check_cpus(self)
        check_memory(self)


class Tenant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A team of users. A quota left out is no limit.

    >>> Cluster(nodes=(Node(id="n0", gpus=8),), tenants=(Tenant(id="vision", quota_gpus=4),)).tenants[0].quota_gpus
    4
    """

    id: Name
    quota_gpus: GpuCount | None = None

    def __post_init__(self) -> None:
        check_name(self, "id")
        if self.quota_gpus is not None:
            check_whole(self, "quota_gpus", MAX_GPUS)


class Cluster(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, dict=True):
    """All nodes and tenants; ids are unique in each list.

    >>> Cluster(nodes=(Node(id="n0", gpus=8), Node(id="n1", gpus=8))).total_gpus
    16
    """

    nodes: tuple[Node, ...]
    tenants: tuple[Tenant, ...] = ()

    def __post_init__(self) -> None:
        check_items(self, "nodes", Node)
        check_items(self, "tenants", Tenant)
        check_unique("nodes", [node.id for node in self.nodes])
        check_unique("tenants", [tenant.id for tenant in self.tenants])

    @cached_property
    def node_index(self) -> dict[str, int]:
        """Position of each node id in ``nodes``."""
        return {node.id: position for position, node in enumerate(self.nodes)}

    @cached_property
    def total_gpus(self) -> int:
        """GPUs of all nodes together."""
        return sum(node.gpus for node in self.nodes)
