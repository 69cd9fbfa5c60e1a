"""What the cluster offers: nodes with GPUs, CPUs and memory, and tenants with quotas."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from muri_opt.errors import InputError
from muri_opt.rounds.error_text import shortened, shown
from muri_opt.rounds.field_checks import (
    check_items,
    check_name,
    check_names,
    check_texts,
    check_unique,
    check_word,
    items,
    pairs,
    text,
)
from muri_opt.rounds.levels import RACK, check_levels
from muri_opt.rounds.quantities import (
    MAX_CPUS,
    MAX_GPU_SECONDS,
    MAX_GPUS,
    MAX_MEMORY_GIB,
    MAX_RATE,
    MAX_SECONDS,
    check_cpus,
    check_gpu_seconds,
    check_memory,
    check_seconds,
    check_whole,
    finite,
    mebibytes,
    milli_cpus,
    whole,
)
from muri_opt.rounds.tenant_tree import check_tree

GpuCount = Annotated[int, Meta(ge=0, le=MAX_GPUS)]
Cpus = Annotated[float, Meta(ge=0, le=MAX_CPUS)]
MemoryGib = Annotated[float, Meta(ge=0, le=MAX_MEMORY_GIB)]
Seconds = Annotated[float, Meta(ge=0, le=MAX_SECONDS)]
GpuSeconds = Annotated[float, Meta(ge=0, le=MAX_GPU_SECONDS)]
Rate = Annotated[float, Meta(gt=0, le=MAX_RATE)]
Name = Annotated[str, Meta(min_length=1)]

NODE_STATES = ("up", "drain", "down")
_USUAL_WEIGHT: Final = 1.0


class Node(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One server. CPUs or memory left out are not limited.

    ``levels`` maps levels of the cluster to the node's unit; ``rack`` is the unit of the level of that name, in short:
    however it is given, it is stored there, and ``units`` has all. A node in state ``drain`` keeps what runs on it and
    takes nothing new, one that is ``down`` has nothing. From ``available_until`` on nothing starts on it.

    >>> Node(id="n0", gpus=8, cpus=96, memory_gib=1600).cpus
    96.0
    """

    id: Name
    gpus: GpuCount
    cpus: Cpus | None = None
    memory_gib: MemoryGib | None = None
    rack: str | None = None
    gpu_type: str | None = None
    levels: Mapping[Name, str] | None = None
    labels: tuple[Name, ...] = ()
    state: Literal["up", "drain", "down"] = "up"
    available_until: Seconds | None = None

    def __post_init__(self) -> None:
        check_name(self, "id")
        check_texts(self, "rack", "gpu_type")
        check_whole(self, "gpus", MAX_GPUS)
        check_cpus(self)
        check_memory(self)
        if self.levels is not None:
            _check_units(self)
        check_names(self, "labels")
        check_word(self, "state", NODE_STATES)
        check_seconds(self, "available_until")

    @property
    def units(self) -> dict[str, str]:
        """The node's unit of each level, its rack among them."""
        return {**(self.levels or {}), **({} if self.rack is None else {RACK: self.rack})}


class Tenant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A team of users, or several. A quota left out is no limit; it holds for the tenant and all below it.

    With ``borrow_gpus``, a tenant may exceed its quota by so much of what those beside it do not use; ``lend_gpus`` is
    how much of its own they may take, all if it is left out. ``quota_by_type`` counts GPUs on nodes of a type.
    ``used_gpu_seconds`` is decayed use, of the tenant and all below it, for fair shares by ``weight``.

    >>> Cluster(nodes=(Node(id="n0", gpus=8),), tenants=(Tenant(id="vision", quota_gpus=4),)).tenants[0].quota_gpus
    4
    """

    id: Name
    quota_gpus: GpuCount | None = None
    parent: str | None = None
    weight: Rate = _USUAL_WEIGHT
    quota_by_type: Mapping[Name, GpuCount] | None = None
    borrow_gpus: GpuCount | None = None
    lend_gpus: GpuCount | None = None
    used_gpu_seconds: GpuSeconds | None = None

    def __post_init__(self) -> None:
        check_name(self, "id")
        check_texts(self, "parent")
        # A default is left out of the text by identity: another object of the same value would not be.
        weight = finite("weight", self.weight, MAX_RATE, positive=True)
        msgspec.structs.force_setattr(self, "weight", _USUAL_WEIGHT if weight == _USUAL_WEIGHT else weight)
        if self.quota_by_type is not None:
            _check_quotas(self)
        for field in ("quota_gpus", "borrow_gpus", "lend_gpus"):
            if getattr(self, field) is not None:
                check_whole(self, field, MAX_GPUS)
        if self.quota_gpus is None:
            for field in ("borrow_gpus", "lend_gpus"):
                if getattr(self, field) is not None:
                    found = f"{getattr(self, field)} without a quota"
                    raise InputError(field, found, "a quota beside it ('quota_gpus'), or nothing")
        check_gpu_seconds(self, "used_gpu_seconds")


class Cluster(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, dict=True):
    """All nodes and tenants; ids are unique in each list.

    ``levels`` names the levels that nodes are in units of, from wide to narrow; racks alone need not be named.

    >>> Cluster(nodes=(Node(id="n0", gpus=8), Node(id="n1", gpus=8))).total_gpus
    16
    """

    levels: tuple[Name, ...] = ()
    nodes: tuple[Node, ...]
    tenants: tuple[Tenant, ...] = ()

    def __post_init__(self) -> None:
        check_items(self, "nodes", Node)
        check_items(self, "tenants", Tenant)
        check_unique("nodes", [node.id for node in self.nodes])
        check_unique("tenants", [tenant.id for tenant in self.tenants])
        check_tree(self.tenants)
        if self.levels != ():
            names = enumerate(items("levels", self.levels))
            levels = tuple(text(f"levels[{at}]", name, empty=False) for at, name in names)
            check_unique("levels", list(levels), part="")
            msgspec.structs.force_setattr(self, "levels", levels)
        if self.levels or any(node.levels is not None for node in self.nodes):
            check_levels(self.levels, self.nodes)
            if self.levels == (RACK,):  # what format 1 says without a list
                msgspec.structs.force_setattr(self, "levels", ())

    @cached_property
    def level_names(self) -> tuple[str, ...]:
        """The levels from wide to narrow, ``rack`` among them where it is the only one."""
        if self.levels:
            return self.levels
        return (RACK,) if any(node.rack is not None for node in self.nodes) else ()

    @cached_property
    def node_index(self) -> dict[str, int]:
        """Position of each node id in ``nodes``."""
        return {node.id: position for position, node in enumerate(self.nodes)}

    @cached_property
    def total_gpus(self) -> int:
        """GPUs of all nodes together."""
        return sum(node.gpus for node in self.nodes)

    @cached_property
    def used_fields(self) -> dict[str, str]:
        """The fields used that format 1 does not have, each with the first place it is in; rounds ask for them."""
        from muri_opt.rounds.used_fields import cluster_fields  # it asks what jobs say, too, and they import this

        return cluster_fields(self)

    @cached_property
    def another_type(self) -> str | None:
        """The place of the first node whose GPUs are of another type than those of the first node, if there is one."""
        from muri_opt.rounds.used_fields import another_type  # as above

        return another_type(self)

    @cached_property
    def gpus_by_node(self) -> dict[str, int]:
        """GPUs of each node, by its id."""
        return {node.id: node.gpus for node in self.nodes}

    @cached_property
    def milli_cpus_by_node(self) -> dict[str, int]:
        """Milli-CPUs of each node that says how many it has, by its id."""
        return {node.id: milli_cpus(node.cpus) for node in self.nodes if node.cpus is not None}

    @cached_property
    def mebibytes_by_node(self) -> dict[str, int]:
        """MiB of each node that says how much memory it has, by its id."""
        return {node.id: mebibytes(node.memory_gib) for node in self.nodes if node.memory_gib is not None}


def _check_units(node: Node) -> None:
    """Store the rack as ``rack`` and all other units as ``levels``, in order, or as nothing."""
    units = {
        text("levels key", level, empty=False): text(f"levels[{shortened(level)}]", unit)
        for level, unit in pairs("levels", node.levels)
    }
    rack = units.pop(RACK, node.rack)
    if node.rack not in (None, rack):
        raise InputError("levels[rack]", shown(rack), f"{shown(node.rack)}, as 'rack' says")
    msgspec.structs.force_setattr(node, "rack", rack)
    msgspec.structs.force_setattr(node, "levels", dict(sorted(units.items())) or None)


def _check_quotas(tenant: Tenant) -> None:
    quotas = {
        text("quota_by_type key", kind, empty=False): whole(f"quota_by_type[{shortened(kind)}]", gpus, MAX_GPUS)
        for kind, gpus in pairs("quota_by_type", tenant.quota_by_type)
    }
    msgspec.structs.force_setattr(tenant, "quota_by_type", dict(sorted(quotas.items())) or None)
