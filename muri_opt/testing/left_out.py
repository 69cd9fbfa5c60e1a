"""Rounds that do not say what an allocator knows nothing of: CPUs, memory, tenants and their quotas."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from msgspec.structs import replace

from muri_opt.errors import InputError, unknown_name
from muri_opt.rounds import Round

LIMITS: Final = ("cpus", "memory", "quotas")
"""What rounds can leave out."""
_OF_JOBS: Final[dict[str, dict[str, Any]]] = {
    "cpus": {"cpus": None},
    "memory": {"memory_gib": None},
    "quotas": {"tenant": None},
}
_OF_NODES: Final[dict[str, dict[str, Any]]] = {
    "cpus": {"cpus": None},
    "memory": {"memory_gib": None},
    "quotas": {},
}
_NEEDED: Final = {"configurations": frozenset({"cpus"}), "tenants": frozenset({"quotas"})}
"""What rounds of a family are about, so that none is left without it."""


def checked_limits(names: Collection[str], family: str) -> frozenset[str]:
    """Return the names of what is left out of the rounds of a family, or refuse them."""
    for name in names:
        if name not in LIMITS:
            raise unknown_name("without", name, LIMITS)
        if name in _NEEDED.get(family, ()):
            raise InputError("without", name, f"something that rounds of the family {family} are not about")
    return frozenset(names)


def fields_beside(names: Collection[str], fields: Collection[str]) -> frozenset[str]:
    """Return the fields of format 2 that rounds without these limits can still have."""
    return frozenset(field for field in fields if "quotas" not in names or not field.startswith("tenant."))


def without_limits(round_: Round, names: Collection[str]) -> Round:
    """Return a round that says nothing of the limits of these names."""
    of_job = {field: absent for name in names for field, absent in _OF_JOBS[name].items()}
    of_node = {field: absent for name in names for field, absent in _OF_NODES[name].items()}
    cluster = replace(round_.cluster, nodes=tuple(replace(node, **of_node) for node in round_.cluster.nodes))
    if "quotas" in names:
        cluster = replace(cluster, tenants=())
    return replace(round_, cluster=cluster, jobs=tuple(replace(job, **of_job) for job in round_.jobs))
