"""Rounds of any size after public traces: the same arguments always give the same round."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from muri_opt.errors import unknown_name
from muri_opt.rounds.cluster import Cluster, Node, Tenant
from muri_opt.rounds.generate.families import MOST_JOBS, MOST_NODES
from muri_opt.rounds.generate.family_fields import NODE_GPUS, NOW, Fields
from muri_opt.rounds.generate.portable_random import Draws
from muri_opt.rounds.generate.published import published_jobs
from muri_opt.rounds.generate.published.job_mixes import PHILLY_TENANTS
from muri_opt.rounds.generate.running_jobs import scattered, started
from muri_opt.rounds.job import Job
from muri_opt.rounds.quantities import whole
from muri_opt.rounds.round import DEFAULT_RESOURCES, Round

_MURI_RESOURCES: Final = ("data", "gpu", "network")
_RACK_NODES: Final = 8
_CPUS: Final = 96


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFamily:
    """A family after a public source: what it is, its jobs and nodes, and which jobs run."""

    what: str
    jobs: Callable[[Draws, int, int], Fields]
    node: Callable[[int], Node] = lambda position: Node(id=f"n{position}", gpus=NODE_GPUS)
    tenants: Callable[[int], tuple[Tenant, ...]] = lambda _nodes: ()
    start: Callable[[Draws, Cluster, tuple[Job, ...]], tuple[Job, ...]] = started
    resources: tuple[str, ...] = DEFAULT_RESOURCES


def _with_cpus(position: int) -> Node:
    return Node(id=f"n{position}", gpus=NODE_GPUS, cpus=_CPUS)


def _every_other_without_gpus(position: int) -> Node:
    return Node(id=f"n{position}", gpus=0 if position % 2 else NODE_GPUS, cpus=_CPUS)


def _in_racks(position: int) -> Node:
    return Node(id=f"n{position}", gpus=NODE_GPUS, rack=f"r{position // _RACK_NODES}")


def _virtual_clusters(nodes: int) -> tuple[Tenant, ...]:
    """Return the tenants; a quota is the part of the GPUs that the virtual cluster used."""
    total = sum(used for _, used in PHILLY_TENANTS.values())
    gpus = nodes * NODE_GPUS
    return tuple(Tenant(id=name, quota_gpus=gpus * used // total) for name, (_, used) in PHILLY_TENANTS.items())


PUBLISHED: Final[Mapping[str, PublishedFamily]] = {
    "tiresias-trace": PublishedFamily(
        what="gangs of the sizes of Tiresias' trace, with times of AFS' simulator", jobs=published_jobs.gangs
    ),
    "muri-trace": PublishedFamily(
        what="jobs of the sizes, times, models and stage times of Muri's traces",
        jobs=published_jobs.interleaving,
        resources=_MURI_RESOURCES,
    ),
    "afs-trace": PublishedFamily(
        what="jobs of AFS' simulator, with the speed-ups of its nine models", jobs=published_jobs.elastic
    ),
    "deadline-trace": PublishedFamily(
        what="the same with deadlines as ElasticFlow draws them", jobs=published_jobs.dated
    ),
    "joint-trace": PublishedFamily(
        what="jobs of Muri's models, with stage times and speed-ups",
        jobs=published_jobs.joint,
        resources=_MURI_RESOURCES,
    ),
    "rubick-trace": PublishedFamily(
        what="jobs of Rubick's workload, with the measured plans of six models",
        jobs=published_jobs.plans,
        node=_with_cpus,
    ),
    "aiturbo-trace": PublishedFamily(
        what="servers and workers of AITurbo's table, on GPUs or on CPUs; every other node has no GPUs",
        jobs=published_jobs.configurations,
        node=_every_other_without_gpus,
    ),
    "philly-trace": PublishedFamily(
        what="gangs of the sizes, times and virtual clusters of Philly's trace, scattered over racks",
        jobs=published_jobs.busy,
        node=_in_racks,
        tenants=_virtual_clusters,
        start=scattered,
    ),
}


def generate_published(family: str, *, jobs: int, nodes: int, seed: int = 0) -> Round:
    """Return the round of a family of ``PUBLISHED`` with this many jobs and nodes.

    >>> round_ = generate_published("muri-trace", jobs=3, nodes=1, seed=1)
    >>> round_.name, len(round_.jobs), round_.resources
    ('muri-trace/3-jobs-1-nodes-seed-1', 3, ('data', 'gpu', 'network'))
    """
    if family not in PUBLISHED:
        raise unknown_name("family", family, PUBLISHED)
    chosen = PUBLISHED[family]
    jobs = whole("jobs", jobs, MOST_JOBS)
    nodes = whole("nodes", nodes, MOST_NODES, 1)
    draws = Draws(whole("seed", seed, 2**63 - 1))
    cluster = Cluster(nodes=tuple(map(chosen.node, range(nodes))), tenants=chosen.tenants(nodes))
    rows = chosen.jobs(draws, jobs, nodes)
    return Round(
        name=f"{family}/{jobs}-jobs-{nodes}-nodes-seed-{seed}",
        now=float(NOW),
        resources=chosen.resources,
        cluster=cluster,
        jobs=chosen.start(draws, cluster, tuple(Job(**row) for row in rows)),
    )
