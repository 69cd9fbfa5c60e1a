"""Rounds that differ from another one in a single respect: what should make no difference, or a known one."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from muri_opt.rounds import Cluster, Job, Node, Round
from muri_opt.verify.demands import is_lost

PREFIX = "x-"


def renamed(round_: Round) -> Round:
    """Return the round with other names for all jobs, nodes and tenants, which sort the other way round."""
    tenants = _names("t", dict.fromkeys(_tenants(round_)))
    return _named(round_, _names("n", round_.cluster.node_index), _names("j", round_.job_index), tenants)


def prefixed(round_: Round) -> Round:
    """Return the round with other names that sort as before: whatever goes by the order of a set goes otherwise."""
    nodes, jobs, tenants = (
        _prefixes(names) for names in (round_.cluster.node_index, round_.job_index, _tenants(round_))
    )
    return _named(round_, nodes, jobs, tenants)


def renumbered(round_: Round) -> Round:
    """Return the round with jobs ``j0``, ``j1``, ..., nodes ``n0``, ... and tenants ``t0``, ... in their order."""
    nodes, jobs, tenants = (
        {name: f"{letter}{place}" for place, name in enumerate(names)}
        for letter, names in (("n", round_.cluster.node_index), ("j", round_.job_index), ("t", _tenants(round_)))
    )
    return _named(round_, nodes, jobs, tenants)


def without_prefix(name: str) -> str:
    """Return the name that something of a prefixed round had."""
    return name.removeprefix(PREFIX)


def _prefixes(names: Iterable[str]) -> dict[str, str]:
    return {name: PREFIX + name for name in names}


def _tenants(round_: Round) -> list[str]:
    return [tenant.id for tenant in round_.cluster.tenants] or sorted({job.tenant for job in round_.jobs if job.tenant})


def _named(round_: Round, nodes: dict[str, str], jobs: dict[str, str], tenants: dict[str, str]) -> Round:
    return replace(
        round_,
        cluster=Cluster(
            levels=round_.cluster.levels,
            nodes=tuple(replace(node, id=nodes[node.id]) for node in round_.cluster.nodes),
            tenants=tuple(
                replace(tenant, id=tenants[tenant.id], parent=tenants.get(tenant.parent or ""))
                for tenant in round_.cluster.tenants
            ),
        ),
        jobs=tuple(
            replace(
                job,
                id=jobs[job.id],
                tenant=None if job.tenant is None else tenants[job.tenant],
                placement=None if job.placement is None else {nodes[n]: gpus for n, gpus in job.placement.items()},
            )
            for job in round_.jobs
        ),
    )


def new_names(round_: Round) -> dict[str, str]:
    """Return the name of each job in the renamed round."""
    return _names("j", round_.job_index)


def jobs_reversed(round_: Round) -> Round:
    """Return the round with its jobs listed the other way round."""
    return replace(round_, jobs=round_.jobs[::-1])


def nodes_reversed(round_: Round) -> Round:
    """Return the round with its nodes listed the other way round."""
    return replace(round_, cluster=replace(round_.cluster, nodes=round_.cluster.nodes[::-1]))


def with_node(round_: Round) -> Round:
    """Return the round with one more node, which has as many GPUs, CPUs and GiB as any node has."""
    nodes = round_.cluster.nodes
    largest = max(nodes, key=lambda node: node.gpus, default=Node(id="n0", gpus=1))
    cpus, memory = _most(node.cpus for node in nodes), _most(node.memory_gib for node in nodes)
    more = replace(largest, id=_unused("more", round_.cluster.node_index), cpus=cpus, memory_gib=memory)
    return replace(round_, cluster=replace(round_.cluster, nodes=(*round_.cluster.nodes, more)))


def without(round_: Round, job_id: str) -> Round:
    """Return the round without one job."""
    return replace(round_, jobs=tuple(job for job in round_.jobs if job.id != job_id))


def alone(round_: Round, job: Job) -> Round:
    """Return the round with one job only, which waits."""
    return replace(round_, jobs=(replace(job, state="waiting", placement=None),))


def only_running(round_: Round) -> Round:
    """Return the round with those jobs only that run on one node each, which is not down."""
    running = (job for job in round_.jobs if len(job.placement or ()) == 1)
    return replace(round_, jobs=tuple(job for job in running if not is_lost(round_, job)))


def with_twin(round_: Round, job: Job, *, first: bool) -> Round:
    """Return the round with a job like another one just before or behind it."""
    twin = replace(job, id=_unused("twin", round_.job_index))
    at = round_.job_index[job.id]
    pair = (twin, job) if first else (job, twin)
    return replace(round_, jobs=(*round_.jobs[:at], *pair, *round_.jobs[at + 1 :]))


def understated(round_: Round, job: Job, gpus: int) -> Round:
    """Return the round in which a job asks for another number of GPUs, and says nothing else differently."""
    jobs = (replace(other, gpus=gpus) if other.id == job.id else other for other in round_.jobs)
    return replace(round_, jobs=tuple(jobs))


def has_ties(round_: Round) -> bool:
    """Return whether two jobs were submitted at the same moment, so that their order in the list may matter."""
    moments = [job.submitted or 0.0 for job in round_.jobs]
    return len(set(moments)) < len(moments)


def _most(limits: Iterable[float | None]) -> float | None:
    """Return the largest of some limits, where ``None`` is no limit."""
    told = list(limits)
    return None if None in told else max((limit for limit in told if limit is not None), default=None)


def _names(letter: str, known: dict[str, int] | dict[str, None]) -> dict[str, str]:
    return {name: f"{letter}{len(known) - place:03}" for place, name in enumerate(known)}


def _unused(name: str, known: dict[str, int]) -> str:
    return name if name not in known else _unused(name + "+", known)
