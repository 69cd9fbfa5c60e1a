"""The strategies draw valid rounds only, and those in which each limit binds at times."""

import random
from collections import Counter, defaultdict

import pytest
from hypothesis import HealthCheck, Phase, find, given, seed, settings

from muri_opt.rounds import Job, Node, Round, canonical_json, parse_round
from muri_opt.rounds.quantities import mebibytes, milli_cpus
from muri_opt.testing import clusters, jobs, nodes, rounds

ORDERED_BY = ("submitted", "remaining_iterations", "iteration_seconds", "attained_gpu_seconds")


def per_gpu(total, gpus):
    return -(-total // gpus)


def legal(round_):
    """Return whether the running jobs, and no others, hold whole gangs within nodes and quotas."""
    used, held = defaultdict(Counter), Counter()
    for job in round_.jobs:
        if (job.state == "running") != (job.placement is not None):
            return False
        if job.placement is None:
            continue
        if sum(job.placement.values()) != job.gpus:
            return False
        held[job.tenant] += job.gpus
        for node, gpus in job.placement.items():
            used[node]["gpus"] += gpus
            used[node]["cpus"] += gpus * per_gpu(milli_cpus(job.cpus or 0), job.gpus)
            used[node]["memory"] += gpus * per_gpu(mebibytes(job.memory_gib or 0), job.gpus)
    return all(
        used[node.id]["gpus"] <= node.gpus
        and (node.cpus is None or used[node.id]["cpus"] <= milli_cpus(node.cpus))
        and (node.memory_gib is None or used[node.id]["memory"] <= mebibytes(node.memory_gib))
        for node in round_.cluster.nodes
    ) and all(tenant.quota_gpus is None or held[tenant.id] <= tenant.quota_gpus for tenant in round_.cluster.tenants)


@given(round_=rounds())
def test_a_drawn_round_is_valid_and_says_what_policies_need(round_):
    assert parse_round(canonical_json(round_)) == round_
    assert len(round_.jobs) <= 5
    assert len(round_.cluster.nodes) <= 3
    assert [job.id for job in round_.jobs] == [f"job-{j}" for j in range(len(round_.jobs))]
    assert [node.id for node in round_.cluster.nodes] == [f"n{s}" for s in range(len(round_.cluster.nodes))]
    for job in round_.jobs:
        assert job.gpus >= 1
        assert job.submitted <= round_.now
        assert all(getattr(job, field) is not None for field in ORDERED_BY)
    assert legal(round_)


@given(round_=rounds(max_jobs=2, max_nodes=1, max_gpus=2, tight=False, running=False))
def test_a_round_that_is_not_tight_has_no_limit_but_gpus(round_):
    assert len(round_.jobs) <= 2
    assert len(round_.cluster.nodes) <= 1
    assert round_.cluster.tenants == ()
    for node in round_.cluster.nodes:
        assert 1 <= node.gpus <= 2
        assert node.cpus is node.memory_gib is None
    for job in round_.jobs:
        assert job.cpus is job.memory_gib is job.placement is None
        assert job.state == "waiting"


@given(node=nodes(name="x", max_gpus=2), cluster=clusters(max_nodes=2), job=jobs(name="y", max_gpus=3, tenants=["t"]))
def test_parts_of_a_round_can_be_drawn_alone(node, cluster, job):
    assert node.id == "x"
    assert node.gpus <= 2
    assert len(cluster.nodes) <= 2
    assert job.id == "y"
    assert job.gpus <= 3
    assert job.tenant in {None, "t"}


def fits_alone(job, node, *, cpus, memory):
    """Return whether the node holds the whole job, looking at GPUs and at the resources named."""
    return (
        job.gpus <= node.gpus
        and (
            not cpus
            or node.cpus is None
            or job.gpus * per_gpu(milli_cpus(job.cpus or 0), job.gpus) <= milli_cpus(node.cpus)
        )
        and (
            not memory
            or node.memory_gib is None
            or job.gpus * per_gpu(mebibytes(job.memory_gib or 0), job.gpus) <= mebibytes(node.memory_gib)
        )
    )


def cpus_bind(round_):
    return any(
        fits_alone(j, n, cpus=False, memory=True) and not fits_alone(j, n, cpus=True, memory=True)
        for j in round_.jobs
        for n in round_.cluster.nodes
    )


def memory_binds(round_):
    return any(
        fits_alone(j, n, cpus=True, memory=False) and not fits_alone(j, n, cpus=True, memory=True)
        for j in round_.jobs
        for n in round_.cluster.nodes
    )


def quota_binds(round_):
    asked = Counter()
    for job in round_.jobs:
        asked[job.tenant] += job.gpus
    return any(t.quota_gpus is not None and 0 < t.quota_gpus < asked[t.id] for t in round_.cluster.tenants)


def oversize(round_):
    return any(job.gpus > round_.cluster.total_gpus > 0 for job in round_.jobs)


def runs_on_two_nodes(round_):
    return any(len(job.placement or ()) > 1 for job in round_.jobs)


def gpus_are_short(round_):
    return 0 < round_.cluster.total_gpus < sum(job.gpus for job in round_.jobs)


TRAITS = [
    (cpus_bind, 0.05),
    (memory_binds, 0.05),
    (quota_binds, 0.05),
    (oversize, 0.1),
    (runs_on_two_nodes, 0.05),
    (gpus_are_short, 0.3),
    (lambda round_: any(job.state == "running" for job in round_.jobs), 0.2),
    (lambda round_: not round_.jobs, 0.005),
    (lambda round_: not round_.cluster.nodes, 0.01),
    (lambda round_: any(node.gpus == 0 for node in round_.cluster.nodes), 0.03),
]


def test_each_limit_binds_in_a_fair_part_of_the_draws():
    drawn = []

    @seed(0)
    @settings(max_examples=250, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(round_=rounds())
    def collect(round_):
        drawn.append(round_)

    collect()
    assert len(drawn) >= 250
    for trait, part in TRAITS:
        assert sum(map(trait, drawn)) >= part * len(drawn), trait


@pytest.mark.parametrize(
    ("condition", "smallest"),
    [
        (lambda r: len(r.jobs) == 2, {"jobs": ["job-0", "job-1"], "nodes": ["n0"]}),
        (lambda r: r.jobs and r.jobs[0].state == "running", {"jobs": ["job-0"], "nodes": ["n0"]}),
        (cpus_bind, {"jobs": ["job-0"], "nodes": ["n0"]}),
    ],
)
def test_a_failing_round_shrinks_to_a_short_one(condition, smallest):
    found = find(
        rounds(max_jobs=2, max_nodes=2),
        condition,
        settings=settings(max_examples=1000, database=None),
        random=random.Random(0),
    )
    assert isinstance(found, Round)
    assert {"jobs": [j.id for j in found.jobs], "nodes": [n.id for n in found.cluster.nodes]} == smallest
    assert all(job.gpus == 1 for job in found.jobs)
    assert all(isinstance(node, Node) and node.gpus <= 1 for node in found.cluster.nodes)
    assert all(isinstance(job, Job) and job.submitted == 0 for job in found.jobs)
