"""A scenario: what is to be different in a round, and the round in which it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from msgspec.structs import replace

from muri_opt.errors import InputError
from muri_opt.replay.what_if.node_labels import labels_in_common
from muri_opt.rounds import Cluster, Job, Node, Round, Tenant
from muri_opt.rounds.error_text import listed, shown
from muri_opt.rounds.field_checks import check_unique
from muri_opt.rounds.quantities import MAX_GPUS

MOST_ADDED = 10_000
_NODES = re.compile(r"(?P<count>[0-9]{1,6})x(?:(?P<type>[^:]+):)?(?P<gpus>[0-9]{1,7})")
_NODES_ALLOWED = "a number of nodes and of GPUs each, as 2x8, or with their type, as 2xa100:8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What is to be different: nodes more or fewer, other quotas (``None`` is no limit), other jobs, jobs released.

    A job of ``jobs`` takes the place of the one that has its id, or is new. ``release`` are held jobs that may start.
    """

    add_nodes: tuple[Node, ...] = ()
    remove_nodes: tuple[str, ...] = ()
    quotas: Mapping[str, int | None] = field(default_factory=dict)
    jobs: tuple[Job, ...] = ()
    release: tuple[str, ...] = ()

    def applied(self, round_: Round) -> Round:
        """Return the round in which all of it is so; a job that runs on a node that is removed waits there."""
        cluster = Cluster(
            levels=round_.cluster.levels,
            nodes=self._nodes(round_.cluster),
            tenants=self._tenants(round_.cluster.tenants),
        )
        return replace(round_, cluster=cluster, jobs=self._jobs(round_))

    def _nodes(self, cluster: Cluster) -> tuple[Node, ...]:
        for node in self.remove_nodes:
            _known("remove_nodes", node, cluster.node_index, "a node of the cluster")
        for added in self.add_nodes:
            _check_new(added, cluster)
        stay = (node for node in cluster.nodes if node.id not in self.remove_nodes)
        return (*stay, *self.add_nodes)

    def _tenants(self, tenants: Iterable[Tenant]) -> tuple[Tenant, ...]:
        known = {tenant.id: tenant for tenant in tenants}
        for name, quota in self.quotas.items():
            _known("quotas", name, known, "a tenant of the cluster")
            loans = {} if quota is not None else {"borrow_gpus": None, "lend_gpus": None}
            known[name] = replace(known[name], quota_gpus=quota, **loans)
        return tuple(known.values())

    def _jobs(self, round_: Round) -> tuple[Job, ...]:
        check_unique("jobs", [job.id for job in self.jobs])
        jobs = {job.id: job for job in round_.jobs}
        jobs |= {job.id: job for job in self.jobs}
        for name in self.release:
            _known("release", name, jobs, "a job of the round")
            if jobs[name].held is None:
                raise InputError("release", f"{shown(name)}, which is not held", "jobs that are held")
            jobs[name] = replace(jobs[name], held=None)
        lost = set(self.remove_nodes)
        return tuple(_without_nodes(job, lost) for job in jobs.values())


def further_nodes(text: str, cluster: Cluster) -> tuple[Node, ...]:
    """Return the nodes that a text such as ``2xa100:8`` asks for, beside those of a cluster.

    CPUs and memory are those of the first node of the cluster of this type and size, labels those that all of them
    have. If there is none, CPUs and memory are without limit, labels are those that all nodes have, and where all nodes
    are of one type they are of that, unless another is said. Labels that name a single node, as by its host name, are
    left out. They are in no rack.

    >>> cluster = Cluster(nodes=(Node(id="n0", gpus=8, cpus=96),))
    >>> [(node.id, node.cpus) for node in further_nodes("2x8", cluster)]
    [('added-0', 96.0), ('added-1', 96.0)]
    """
    found = _NODES.fullmatch(text)
    if found is None or not 1 <= int(found["count"]) <= MOST_ADDED or int(found["gpus"]) > MAX_GPUS:
        raise InputError("add_nodes", shown(text), f"{_NODES_ALLOWED}; at most {MOST_ADDED:,} nodes")
    kind, gpus = found["type"], int(found["gpus"])
    alike = [node for node in cluster.nodes if node.gpus == gpus and kind in (None, node.gpu_type)]
    types = {node.gpu_type for node in cluster.nodes}
    only = next(iter(types)) if len(types) == 1 else None
    like = alike[0] if alike else Node(id="like", gpus=gpus, gpu_type=kind or only)
    names = (f"added-{place}" for place in range(int(found["count"]) + len(cluster.nodes)))
    free = [name for name in names if name not in cluster.node_index]
    labels = labels_in_common(alike or cluster.nodes, cluster.nodes)
    more = {"labels": labels, "rack": None, "levels": None, "state": "up", "available_until": None}
    return tuple(replace(like, id=name, **more) for name in free[: int(found["count"])])


def all_further_nodes(wanted: Iterable[str | Node], cluster: Cluster) -> list[Node]:
    """Return the nodes that texts and nodes ask for together: those of each text have names that no others have.

    >>> [node.id for node in all_further_nodes(["1x8", Node(id="mine", gpus=2), "1x4"], Cluster(nodes=()))]
    ['added-0', 'mine', 'added-1']
    """
    found: list[Node] = []
    for one in wanted:
        more = (one,) if isinstance(one, Node) else further_nodes(one, cluster)
        for added in more:
            _check_new(added, cluster)
        found += more
        cluster = replace(cluster, nodes=(*cluster.nodes, *more))
    return found


def _check_new(added: Node, cluster: Cluster) -> None:
    if added.id in cluster.node_index:
        raise InputError("add_nodes", f"{shown(added.id)}, which is there", "nodes of other ids")


def _without_nodes(job: Job, lost: set[str]) -> Job:
    if job.placement is None or lost.isdisjoint(job.placement):
        return job
    return replace(job, state="waiting", placement=None)


def _known(field_: str, name: str, names: Iterable[str], what: str) -> None:
    known = list(names)
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise InputError(field_, shown(name) + hint, f"{what}: {listed(known) or 'there is none'}")
