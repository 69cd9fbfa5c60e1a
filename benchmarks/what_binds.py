"""What binds besides GPUs: fields that are drawn on top of any round of waiting jobs, for benchmarks.

:func:`bound_by` takes one of :data:`BINDING`: quotas, priorities, CPUs and memory, GPU types or labels, or several of
these. What a policy does not honour it refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Final

from msgspec.structs import replace

from muri_opt import Round, Tenant, Within

TENANTS: Final = 8
_TYPES: Final = ("a100", "v100")
_WORDS: Final = (("zone-a", "zone-b", "zone-c", "zone-d"), ("fast-net", "slow-net"), ("ssd", "disk"))
"""Labels of which every node has one of each kind; a job requires one of a kind or any."""


def bound_by(binding: str, round_: Round, draw: Random) -> Round:
    """Return a round of waiting jobs in which something binds besides."""
    for drawn in _DRAWS[binding]:
        round_ = drawn(round_, draw)
    return round_


def _few_amounts(round_: Round, draw: Random) -> Round:
    """Return the round with CPUs and memory, of which jobs ask for one of a few amounts for each GPU."""
    nodes = tuple(replace(node, cpus=32.0, memory_gib=256.0) for node in round_.cluster.nodes)
    jobs = tuple(
        replace(job, cpus=draw.choice((2.0, 4.0, 8.0)) * job.gpus, memory_gib=draw.choice((8.0, 32.0)) * job.gpus)
        for job in round_.jobs
    )
    return replace(round_, cluster=replace(round_.cluster, nodes=nodes), jobs=jobs)


def _own_amounts(round_: Round, draw: Random) -> Round:
    """Return the same, but jobs ask for amounts of their own."""
    round_ = _few_amounts(round_, draw)  # what it draws is kept, so that rounds stay as they were published
    jobs = tuple(
        replace(job, cpus=round(draw.uniform(1, 8), 3) * job.gpus, memory_gib=round(draw.uniform(4, 48), 2) * job.gpus)
        for job in round_.jobs
    )
    return replace(round_, jobs=jobs)


def _quotas(round_: Round, draw: Random, *, tenants: int = TENANTS, part: int) -> Round:
    """Return the round with tenants that may have a ``part`` of all GPUs each; they may add up to more than all."""
    quota = max(1, round_.cluster.total_gpus // part)
    every = tuple(Tenant(id=f"t{number}", quota_gpus=quota) for number in range(tenants))
    jobs = tuple(replace(job, tenant=draw.choice(every).id) for job in round_.jobs)
    return replace(round_, cluster=replace(round_.cluster, tenants=every), jobs=jobs)


def _quotas_with_parents(round_: Round, draw: Random) -> Round:
    tenants = _with_parents(round_.cluster.total_gpus)
    jobs = tuple(replace(job, tenant=draw.choice(tenants[TENANTS:]).id) for job in round_.jobs)
    return replace(round_, cluster=replace(round_.cluster, tenants=tenants), jobs=jobs)


def _priorities(round_: Round, draw: Random, *, count: int) -> Round:
    return replace(round_, jobs=tuple(replace(job, priority=draw.randrange(count)) for job in round_.jobs))


def _two_types(round_: Round, draw: Random) -> Round:
    nodes = tuple(replace(node, gpu_type=draw.choice(_TYPES)) for node in round_.cluster.nodes)
    jobs = tuple(replace(job, gpu_types=draw.choice((None, None, _TYPES[:1], _TYPES[1:]))) for job in round_.jobs)
    return replace(round_, cluster=replace(round_.cluster, nodes=nodes), jobs=jobs)


def _many_types(round_: Round, draw: Random) -> Round:
    types = [f"type-{number}" for number in range(8)]
    nodes = tuple(replace(node, gpu_type=draw.choice(types)) for node in round_.cluster.nodes)
    jobs = tuple(replace(job, gpu_types=tuple(sorted(draw.sample(types, draw.randint(1, 4))))) for job in round_.jobs)
    return replace(round_, cluster=replace(round_.cluster, nodes=nodes), jobs=jobs)


def _labels(round_: Round, draw: Random) -> Round:
    nodes = tuple(replace(node, labels=tuple(draw.choice(words) for words in _WORDS)) for node in round_.cluster.nodes)
    jobs = tuple(
        replace(job, requires=tuple(draw.choice(words) for words in _WORDS if draw.random() < 1 / 3))
        for job in round_.jobs
    )
    return replace(round_, cluster=replace(round_.cluster, nodes=nodes), jobs=jobs)


def _many_labels(round_: Round, draw: Random) -> Round:
    names = [f"label-{number}" for number in range(12)]
    nodes = tuple(replace(node, labels=_some(draw, names, 0.8)) for node in round_.cluster.nodes)
    jobs = tuple(replace(job, requires=_some(draw, names, 0.2)) for job in round_.jobs)
    return replace(round_, cluster=replace(round_.cluster, nodes=nodes), jobs=jobs)


def _with_parents(gpus: int) -> tuple[Tenant, ...]:
    """Return tenants with a sixth of the GPUs each, and then those below them with a fortieth."""
    parents = tuple(Tenant(id=f"p{number}", quota_gpus=gpus // 6) for number in range(TENANTS))
    below = (Tenant(id=f"t{number}", quota_gpus=gpus // 40, parent=f"p{number % TENANTS}") for number in range(64))
    return (*parents, *below)


def _racks(round_: Round, _: Random) -> Round:
    """Return the round with racks of eight nodes, inside one of which every job has to be."""
    nodes = tuple(replace(node, rack=f"r{place // 8}") for place, node in enumerate(round_.cluster.nodes))
    jobs = tuple(replace(job, within=Within(level="rack")) for job in round_.jobs)
    return replace(round_, cluster=replace(round_.cluster, nodes=nodes, levels=("rack",)), jobs=jobs)


def _some(draw: Random, names: Sequence[str], chance: float) -> tuple[str, ...]:
    """Return the names that are drawn, each with a chance."""
    return tuple(name for name in names if draw.random() < chance)


_EIGHTH: Final = partial(_quotas, part=8)
_OF_200_TENANTS: Final = partial(_quotas, tenants=200, part=200)
_THREE: Final = partial(_priorities, count=3)
_THIRTY: Final = partial(_priorities, count=30)
_OWN: Final = partial(_priorities, count=1_000_000)
_DRAWS: Final[Mapping[str, tuple[Callable[[Round, Random], Round], ...]]] = {
    "quotas of a quarter": (partial(_quotas, part=4),),
    "quotas of an eighth": (_EIGHTH,),
    "quotas of a fortieth": (partial(_quotas, part=40),),
    "quotas of 200 tenants": (_OF_200_TENANTS,),
    "three priorities": (_THREE,),
    "thirty priorities": (_THIRTY,),
    "a priority of its own for each": (_OWN,),
    "CPUs and memory": (_few_amounts,),
    "two GPU types": (_two_types,),
    "CPUs and memory, quotas of an eighth": (_few_amounts, _EIGHTH),
    "CPUs and memory, three priorities": (_few_amounts, _THREE),
    "quotas of an eighth, thirty priorities": (_EIGHTH, _THIRTY),
    "CPUs and memory, quotas of an eighth, two GPU types, three priorities": (
        _few_amounts,
        _EIGHTH,
        _THREE,
        _two_types,
    ),
    "CPUs and memory, quotas of an eighth, two GPU types, a priority of its own for each": (
        _few_amounts,
        _EIGHTH,
        _OWN,
        _two_types,
    ),
    "labels": (_labels,),
    "quotas of 64 tenants and their parents": (_quotas_with_parents,),
    "CPUs and memory, labels, quotas of 64 tenants and their parents": (_few_amounts, _quotas_with_parents, _labels),
    "twelve labels asked for in many ways": (_many_labels,),
    "eight GPU types asked for in many ways": (_many_types,),
    "CPUs and memory, eight GPU types asked for in many ways": (_few_amounts, _many_types),
    "CPUs and memory, eight GPU types asked for in many ways, quotas of 200 tenants, a priority of its own for each": (
        _few_amounts,
        _OF_200_TENANTS,
        _OWN,
        _many_types,
    ),
    "CPUs and memory in amounts of their own": (_own_amounts,),
    "CPUs and memory in amounts of their own, twelve labels asked for in many ways": (_own_amounts, _many_labels),
    (
        "CPUs and memory in amounts of their own, twelve labels asked for in many ways, "
        "quotas of 200 tenants, a priority of its own for each"
    ): (_own_amounts, _OF_200_TENANTS, _OWN, _many_labels),
    "racks of eight nodes, inside one of which each has to be": (_racks,),
    "racks, twelve labels asked for in many ways": (_racks, _many_labels),
}
"""What draws the fields of each, one after the other: in another order other rounds are drawn."""
BINDING: Final = tuple(_DRAWS)
