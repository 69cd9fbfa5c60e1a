"""Jobs on nodes: after any changes all is as if only those that are there had been put."""

from __future__ import annotations

import numpy as np
import pytest
from handmade import gang, round_of
from hypothesis import given, strategies as st

from muri_opt import Job, Node, Tenant
from muri_opt.systems.capacity.jobs_on_nodes import JobsOnNodes

JOBS = 5
ROUND = round_of(
    [Node(id="n0", gpus=4, cpus=8, memory_gib=4), Node(id="n1", gpus=8), Node(id="n2", gpus=2, cpus=1)],
    [gang(j, 1 + j % 3, tenant="t" if j % 2 else None, cpus=2.5 * j, memory_gib=j) for j in range(JOBS)],
    [Tenant(id="t", quota_gpus=4)],
)
held = st.dictionaries(st.integers(0, 2), st.integers(0, 3))


@given(st.lists(st.tuples(st.integers(0, JOBS - 1), held)), st.booleans())
def test_only_the_jobs_that_are_there_count(changes: list[tuple[int, dict[int, int]]], cpus_alone: bool) -> None:
    jobs: JobsOnNodes[dict[int, int]] = JobsOnNodes(ROUND.amounts, cpus_alone=cpus_alone)
    there: dict[int, dict[int, int]] = {}
    for job, share in changes:
        if job in there:
            assert jobs.take(job) == there.pop(job)
        else:
            jobs.put(job, share)
            there[job] = share
    amounts = ROUND.amounts
    left = np.array([amounts.G, amounts.C, amounts.M])
    for job, share in there.items():
        for node, gpus in share.items():
            units = max(gpus, 1) if cpus_alone else gpus
            left[:, node] -= [gpus, units * amounts.c[job], units * amounts.m[job]]
    assert jobs.left.tolist() == left.tolist()
    assert jobs.at == there
    assert jobs.residents == [{job for job, share in there.items() if node in share} for node in range(3)]
    assert jobs.quota.tolist() == [4 - sum(sum(share.values()) for job, share in there.items() if job % 2)]


@pytest.mark.parametrize(("cpus_alone", "left"), [(True, 3000), (False, 8000)])
def test_a_job_without_gpus_takes_cpus_where_that_counts(cpus_alone: bool, left: int) -> None:
    round_ = round_of([Node(id="n0", gpus=4, cpus=8)], [Job(id="cpus", gpus=0, cpus=5.0)])
    jobs: JobsOnNodes[dict[int, int]] = JobsOnNodes(round_.amounts, cpus_alone=cpus_alone)
    jobs.put(0, {0: 0})
    assert (jobs.gpus.tolist(), jobs.cpus.tolist()) == ([4], [left])
    jobs.take(0)
    assert jobs.cpus.tolist() == [8000]
