"""Elastic jobs and rounds for tests, drawn or written by hand, and the plain definitions they are held against."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product

import msgspec
import numpy as np
from hypothesis import strategies as st
from running_states import settled

from muri_opt import Cluster, Job, Node, Result, Round, Tenant
from muri_opt.systems.capacity import Leftover
from muri_opt.testing.kept_strategies import number_or_none, value_of

POLICIES = ("afs-l", "afs-p", "optimus", "max-min-elastic", "srtf-elastic")
LONG_TABLE = 9
"""The most GPUs a drawn table speaks of; drawn clusters have up to 12."""

_MAYBE = st.one_of(st.none(), st.integers(0, 16).map(lambda halves: halves / 2))
_SECONDS = st.none() | st.integers(1, 8).map(lambda quarters: quarters / 4)
_RESTART = st.none() | st.integers(0, 20).map(float)
_QUOTAS = st.lists(number_or_none(8), max_size=2)
_ANY_SIZES = st.lists(st.integers(0, 4), max_size=3)


def elastic(position: int, rates: Sequence[float] | Mapping[int, float], **fields: object) -> Job:
    """Return a job with throughput ``rates`` at 1, 2, ... GPUs; by default lower positions come first."""
    table = dict(rates) if isinstance(rates, Mapping) else dict(enumerate(map(float, rates), 1))
    given: dict[str, object] = {
        "id": f"j{position}",
        "gpus": 1,
        "submitted": float(position),
        "remaining_iterations": 10 * (position + 1),
        "scaling": table,
    }
    return Job(**given | fields)


def round_with(nodes: Iterable[int | Node], jobs: Iterable[Job], tenants: Iterable[Tenant] = ()) -> Round:
    """Return a round of nodes ``n0``, ``n1``, ..., each given whole or by its GPUs."""
    boxes = tuple(Node(id=f"n{s}", gpus=node) if isinstance(node, int) else node for s, node in enumerate(nodes))
    return Round(now=100.0, cluster=Cluster(nodes=boxes, tenants=tuple(tenants)), jobs=tuple(jobs))


def shares_of(round_: Round, result: Result) -> list[int]:
    """Return the GPUs each job of the round has in a result."""
    assert result.decision is not None
    given = {one.jobs[0]: sum(one.gpus.values()) for one in result.decision.assignments}
    return [given.get(job.id, 0) for job in round_.jobs]


def share_vectors(round_: Round, tables: Sequence[Mapping[int, int]]) -> Iterator[tuple[int, ...]]:
    """Yield every choice of one share of its table, or none, per job within GPUs and quotas."""
    quotas = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants if tenant.quota_gpus is not None}
    for shares in product(*([0, *table] for table in tables)):
        held = dict.fromkeys(quotas, 0)
        for job, gpus in zip(round_.jobs, shares, strict=True):
            if job.tenant in held:
                held[job.tenant] += gpus
        if sum(shares) <= round_.cluster.total_gpus and all(held[tenant] <= quotas[tenant] for tenant in held):
            yield shares


def best_value(round_: Round, tables: Sequence[Mapping[int, int]]) -> int:
    """Return the most that shares within GPUs and quotas are worth, by trying all."""
    return max(
        sum(table[gpus] for table, gpus in zip(tables, shares, strict=True) if gpus)
        for shares in share_vectors(round_, tables)
    )


@cache
@st.composite
def tables(draw: st.DrawFn, *, gaps: bool = True) -> dict[int, float]:
    """Draw a scaling table of any shape: growing or not, concave or not, with gaps unless told."""
    last = draw(st.integers(1, LONG_TABLE))
    between = [k for k in range(2, last) if not gaps or draw(st.booleans())]
    return {k: draw(st.integers(1, 40)) / 8 for k in sorted({1, *between, last})}


@st.composite
def elastic_rounds(
    draw: st.DrawFn, *, max_jobs: int = 5, equal: bool = False, tight: bool = False, gaps: bool = True
) -> Round:
    """Draw a round of elastic jobs on up to three nodes of up to four GPUs, some with quotas, some running.

    ``equal`` nodes have one size, though some may have no GPU; in a ``tight`` round CPUs and memory bind at times.
    """
    size = draw(st.integers(1, 4))
    sizes = draw(st.lists(value_of(size, size, 0), max_size=3) if equal else _ANY_SIZES)
    nodes = [
        Node(id=f"n{s}", gpus=gpus, cpus=draw(_MAYBE) if tight else None, memory_gib=draw(_MAYBE) if tight else None)
        for s, gpus in enumerate(sizes)
    ]
    quotas = draw(_QUOTAS)
    tenants = [Tenant(id=f"t{v}", quota_gpus=quota) for v, quota in enumerate(quotas)]
    jobs = [_job(draw, place, tenants, tight=tight, gaps=gaps) for place in range(draw(st.integers(0, max_jobs)))]
    return _with_running(draw, round_with(nodes, jobs, tenants))


def _job(draw: st.DrawFn, place: int, tenants: list[Tenant], *, tight: bool, gaps: bool) -> Job:
    table = draw(tables(gaps=gaps))
    return Job(
        id=f"job-{place}",
        gpus=draw(st.integers(1, max(table))),
        submitted=float(draw(st.integers(0, 9))),
        tenant=draw(value_of(None, *(tenant.id for tenant in tenants))),
        cpus=draw(_MAYBE) if tight else None,
        memory_gib=draw(_MAYBE) if tight else None,
        remaining_iterations=draw(st.integers(0, 60)),
        iteration_seconds=draw(_SECONDS),
        executed_seconds=float(draw(st.integers(0, 3))) * 3600,
        attained_gpu_seconds=float(draw(st.integers(0, 3))) * 3600,
        restart_seconds=draw(_RESTART),
        scaling=table,
    )


def _with_running(draw: st.DrawFn, round_: Round) -> Round:
    """Return the round with some jobs on some GPUs, any number of them that is free."""
    asks = np.ones(len(round_.jobs), dtype=np.int64)
    left = Leftover(round_, asks)
    jobs = list(round_.jobs)
    for place, job in enumerate(jobs):
        if not draw(st.booleans()):
            continue
        share = np.array([draw(st.integers(0, max(0, int(most)))) for most in left.room(place)], dtype=np.int64)
        asks[place] = share.sum()
        if share.sum() and left.within_quota(place):
            left.take(share, place)
            held = {node.id: int(gpus) for node, gpus in zip(round_.cluster.nodes, share, strict=True) if gpus}
            jobs[place] = msgspec.structs.replace(job, state="running", placement=held)
    return msgspec.structs.replace(round_, jobs=settled(round_.cluster, jobs))
