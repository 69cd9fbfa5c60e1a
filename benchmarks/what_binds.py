"""What binds besides GPUs: fields that are drawn on top of any round of waiting jobs, for benchmarks.

:func:`bound_by` takes one of :data:`BINDING`: quotas, priorities, CPUs and memory, GPU types or labels, or several of
these. What a policy does not honour it refuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from msgspec.structs import replace

from muri_opt import Round, Tenant

TENANTS: Final = 8
_TYPES: Final = ("a100", "v100")
_EIGHTH: Final = "quotas of an eighth"
_QUOTAS: Final = {
    "quotas of a quarter": (TENANTS, 4),
    _EIGHTH: (TENANTS, 8),
    "quotas of a fortieth": (TENANTS, 40),
    "quotas of 200 tenants": (200, 200),
}
"""How many tenants there are, and which part of all GPUs each may have; by sharing more can be asked for."""
_CPUS: Final = "CPUs and memory"
_AMOUNTS: Final = f"{_CPUS} in amounts of their own"
_TWO_TYPES: Final = "two GPU types"
_MANY_TYPES: Final = "eight GPU types asked for in many ways"
_LABELS: Final = "labels"
_MANY_LABELS: Final = "twelve labels asked for in many ways"
_PARENTS: Final = "quotas of 64 tenants and their parents"
_PRIORITIES: Final = {"three priorities": 3, "thirty priorities": 30, "a priority of its own for each": 1_000_000}
"""How many priorities there are."""
BINDING: Final = (
    *_QUOTAS,
    *_PRIORITIES,
    _CPUS,
    _TWO_TYPES,
    f"{_CPUS}, {_EIGHTH}",
    f"{_CPUS}, three priorities",
    f"{_EIGHTH}, thirty priorities",
    f"{_CPUS}, {_EIGHTH}, {_TWO_TYPES}, three priorities",
    f"{_CPUS}, {_EIGHTH}, {_TWO_TYPES}, a priority of its own for each",
    _LABELS,
    _PARENTS,
    f"{_CPUS}, {_LABELS}, {_PARENTS}",
    _MANY_LABELS,
    _MANY_TYPES,
    f"{_CPUS}, {_MANY_TYPES}",
    f"{_CPUS}, {_MANY_TYPES}, quotas of 200 tenants, a priority of its own for each",
    _AMOUNTS,
    f"{_AMOUNTS}, {_MANY_LABELS}",
    f"{_AMOUNTS}, {_MANY_LABELS}, quotas of 200 tenants, a priority of its own for each",
)

_WORDS: Final = (("zone-a", "zone-b", "zone-c", "zone-d"), ("fast-net", "slow-net"), ("ssd", "disk"))
"""Labels of which every node has one of each kind; a job requires one of a kind or any."""


def bound_by(binding: str, round_: Round, draw: Random) -> Round:
    """Return a round of waiting jobs in which something binds besides."""
    nodes, tenants, said = round_.cluster.nodes, round_.cluster.tenants, round_.jobs
    if _CPUS in binding:
        nodes = tuple(replace(node, cpus=32.0, memory_gib=256.0) for node in nodes)
        said = tuple(
            replace(job, cpus=draw.choice((2.0, 4.0, 8.0)) * job.gpus, memory_gib=draw.choice((8.0, 32.0)) * job.gpus)
            for job in said
        )
    if _AMOUNTS in binding:
        said = tuple(
            replace(
                job, cpus=round(draw.uniform(1, 8), 3) * job.gpus, memory_gib=round(draw.uniform(4, 48), 2) * job.gpus
            )
            for job in said
        )
    for name, (count, part) in _QUOTAS.items():
        if name in binding:
            quota = max(1, round_.cluster.total_gpus // part)
            tenants = tuple(Tenant(id=f"t{number}", quota_gpus=quota) for number in range(count))
            said = tuple(replace(job, tenant=draw.choice(tenants).id) for job in said)
    if _PARENTS in binding:
        tenants = _with_parents(round_.cluster.total_gpus)
        said = tuple(replace(job, tenant=draw.choice(tenants[TENANTS:]).id) for job in said)
    for name, count in _PRIORITIES.items():
        if name in binding:
            said = tuple(replace(job, priority=draw.randrange(count)) for job in said)
    if _TWO_TYPES in binding:
        nodes = tuple(replace(node, gpu_type=draw.choice(_TYPES)) for node in nodes)
        said = tuple(replace(job, gpu_types=draw.choice((None, None, _TYPES[:1], _TYPES[1:]))) for job in said)
    if _MANY_TYPES in binding:
        types = [f"type-{number}" for number in range(8)]
        nodes = tuple(replace(node, gpu_type=draw.choice(types)) for node in nodes)
        said = tuple(replace(job, gpu_types=tuple(sorted(draw.sample(types, draw.randint(1, 4))))) for job in said)
    if _MANY_LABELS in binding:
        names = [f"label-{number}" for number in range(12)]
        nodes = tuple(replace(node, labels=_some(draw, names, 0.8)) for node in nodes)
        said = tuple(replace(job, requires=_some(draw, names, 0.2)) for job in said)
    elif _LABELS in binding:
        nodes = tuple(replace(node, labels=tuple(draw.choice(words) for words in _WORDS)) for node in nodes)
        said = tuple(
            replace(job, requires=tuple(draw.choice(words) for words in _WORDS if draw.random() < 1 / 3))
            for job in said
        )
    return replace(round_, cluster=replace(round_.cluster, nodes=nodes, tenants=tenants), jobs=said)


def _with_parents(gpus: int) -> tuple[Tenant, ...]:
    """Return tenants with a sixth of the GPUs each, and then those below them with a fortieth."""
    parents = tuple(Tenant(id=f"p{number}", quota_gpus=gpus // 6) for number in range(TENANTS))
    below = (Tenant(id=f"t{number}", quota_gpus=gpus // 40, parent=f"p{number % TENANTS}") for number in range(64))
    return (*parents, *below)


def _some(draw: Random, names: Sequence[str], chance: float) -> tuple[str, ...]:
    """Return the names that are drawn, each with a chance."""
    return tuple(name for name in names if draw.random() < chance)
