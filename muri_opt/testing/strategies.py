"""Hypothesis strategies of small valid rounds, built up part by part so that no draw is thrown away.

They shrink to short ids (``n0``, ``t0``, ``job-0``) and small whole numbers. Every job has the fields that the policies
of the library order jobs by.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import msgspec
from hypothesis import strategies as st

from muri_opt.rounds import Cluster, Job, Node, Round, Tenant
from muri_opt.systems.capacity import Leftover
from muri_opt.testing.kept_strategies import number_or_none, orders, value_of

NOW = 32.0
"""The moment of every drawn round; jobs were submitted before it."""


@cache
def _count(most: int) -> st.SearchStrategy[int]:
    """Return a number of things; none at all is drawn, but seldom, as there is little to test then."""
    return st.sampled_from([*range(1, most + 1), *range(1, most + 1), 0])


@cache
def _amount(most: int) -> st.SearchStrategy[float | None]:
    """Return a limit or a demand in halves, in one draw of three none."""
    halves = st.integers(0, 2 * most).map(lambda number: number / 2)
    return st.one_of(st.none(), halves, halves)


@st.composite
def nodes(draw: st.DrawFn, *, name: str = "n0", max_gpus: int = 4, tight: bool = True) -> Node:
    """Draw a node; a ``tight`` one may lack the CPUs or the memory for all its GPUs.

    >>> from hypothesis import find
    >>> find(nodes(max_gpus=4), lambda node: node.gpus > 2).gpus
    3
    """
    gpus = draw(_count(max_gpus) if tight else st.integers(1, max_gpus))
    if not tight:
        return Node(id=name, gpus=gpus)
    return Node(id=name, gpus=gpus, cpus=draw(_amount(2 * gpus)), memory_gib=draw(_amount(2 * gpus)))


@st.composite
def clusters(draw: st.DrawFn, *, max_nodes: int = 3, max_gpus: int = 4, tight: bool = True) -> Cluster:
    """Draw a cluster of up to ``max_nodes`` nodes; a ``tight`` one may have two tenants with or without a quota.

    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5)
    ... @given(clusters(max_nodes=2))
    ... def holds(cluster):
    ...     assert len(cluster.nodes) <= 2
    >>> holds()
    """
    drawn = [draw(_nodes(name=f"n{s}", max_gpus=max_gpus, tight=tight)) for s in range(draw(_count(max_nodes)))]
    total = sum(node.gpus for node in drawn)
    quotas = [draw(number_or_none(total)) for _ in range(draw(st.integers(0, 2)) if tight else 0)]
    tenants = tuple(Tenant(id=f"t{v}", quota_gpus=quota) for v, quota in enumerate(quotas))
    return Cluster(nodes=tuple(drawn), tenants=tenants)


@st.composite
def jobs(
    draw: st.DrawFn, *, name: str = "job-0", max_gpus: int = 8, tenants: Sequence[str] = (), tight: bool = True
) -> Job:
    """Draw a waiting job; a ``tight`` one may ask for CPUs and memory.

    >>> from hypothesis import find
    >>> find(jobs(max_gpus=8), lambda job: job.gpus > 5).gpus
    6
    """
    gpus = draw(st.integers(1, max_gpus))
    return Job(
        id=name,
        tenant=draw(value_of(None, *tenants, *tenants)),
        submitted=float(draw(st.integers(0, int(NOW)))),
        gpus=gpus,
        cpus=draw(_amount(3 * gpus)) if tight else None,
        memory_gib=draw(_amount(3 * gpus)) if tight else None,
        remaining_iterations=draw(st.integers(0, 16)),
        iteration_seconds=draw(st.integers(1, 8)) / 4,
        attained_gpu_seconds=float(draw(st.integers(0, 16))),
    )


_nodes, _clusters, _jobs = cache(nodes), cache(clusters), cache(jobs)
"""The strategies of the parts of a round, each made once."""


@st.composite
def rounds(
    draw: st.DrawFn,
    *,
    max_jobs: int = 5,
    max_nodes: int = 3,
    max_gpus: int = 4,
    tight: bool = True,
    running: bool = True,
) -> Round:
    """Draw a round of up to ``max_jobs`` jobs on up to ``max_nodes`` nodes of up to ``max_gpus`` GPUs.

    In a ``tight`` round CPUs, memory and quotas bind at times, and a node may have no GPU at all; otherwise GPUs are
    the only limit. A job may ask for more GPUs than the cluster has. With ``running``, some jobs hold GPUs that no
    other job holds, within the CPUs, memory and quotas.

    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5)
    ... @given(rounds(max_jobs=3))
    ... def holds(round_):
    ...     assert len(round_.jobs) <= 3
    >>> holds()
    """
    cluster = draw(_clusters(max_nodes=max_nodes, max_gpus=max_gpus, tight=tight))
    tenants = tuple(tenant.id for tenant in cluster.tenants)
    most = min(cluster.total_gpus + 1, 2 * max_gpus)
    count = draw(_count(max_jobs))
    waiting = [draw(_jobs(name=f"job-{j}", max_gpus=most, tenants=tenants, tight=tight)) for j in range(count)]
    round_ = Round(now=NOW, cluster=cluster, jobs=tuple(waiting))
    return _with_running(draw, round_) if running else round_


def _with_running(draw: st.DrawFn, round_: Round) -> Round:
    """Return the round with some jobs on the nodes; one that no longer fits when its turn comes keeps waiting."""
    left = Leftover(round_)
    drawn = list(round_.jobs)
    for j, job in enumerate(round_.jobs):
        if not draw(st.booleans()):
            continue
        share = left.room(j) * 0
        for s in draw(orders(len(share))):
            share[s] = min(left.room(j)[s], job.gpus - share.sum())
        if share.sum() == job.gpus and left.within_quota(j):
            left.take(share, j)
            held = {node.id: int(share[s]) for s, node in enumerate(round_.cluster.nodes) if share[s]}
            drawn[j] = msgspec.structs.replace(job, state="running", placement=held)
    return msgspec.structs.replace(round_, jobs=tuple(drawn))
