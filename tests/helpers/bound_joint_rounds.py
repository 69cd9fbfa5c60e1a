"""Joint rounds in which tenants have quotas, or CPUs and memory are scarce, and what their jobs offer."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from msgspec.structs import replace

from muri_opt import Cluster, Round, Tenant, policy_from
from muri_opt.systems.joint.charges.capacity_charges import Capacities
from muri_opt.systems.joint.charges.search_terms import Terms
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.jobs.models import models_of
from muri_opt.systems.joint.jobs.worth import worth_of
from muri_opt.systems.joint.rules import JointRules

TENANTS = 5


def with_tenants(round_: Round, seed: int, part: float) -> Round:
    """Return the round with jobs of tenants that may have so large a part of all GPUs each."""
    draw = Random(seed)
    quota = max(1, round(part * round_.cluster.total_gpus))
    tenants = tuple(Tenant(id=f"t{number}", quota_gpus=quota) for number in range(TENANTS))
    jobs = tuple(replace(job, tenant=f"t{draw.randrange(TENANTS)}") for job in round_.jobs)
    return Round(cluster=Cluster(nodes=round_.cluster.nodes, tenants=tenants), resources=round_.resources, jobs=jobs)


def with_cpus(round_: Round, seed: int, cpus: float | None, memory: float | None) -> Round:
    """Return the round where nodes have so many CPUs and GiB, and jobs ask for 1 to 8 CPUs and some memory a GPU."""
    draw = Random(seed)
    nodes = tuple(replace(node, cpus=cpus, memory_gib=memory) for node in round_.cluster.nodes)
    jobs = tuple(
        replace(
            job, cpus=float(draw.choice((1, 2, 4, 8)) * job.gpus), memory_gib=float(draw.choice((4, 32)) * job.gpus)
        )
        for job in round_.jobs
    )
    return Round(cluster=Cluster(nodes=nodes), resources=round_.resources, jobs=jobs)


def with_priorities(round_: Round, seed: int, priorities: int) -> Round:
    """Return the round with jobs of so many priorities."""
    draw = Random(seed)
    return replace(round_, jobs=tuple(replace(job, priority=draw.randrange(priorities)) for job in round_.jobs))


def with_types(round_: Round, seed: int) -> Round:
    """Return the round on nodes of two GPU types, of which half of the jobs ask for one."""
    draw, types = Random(seed), ("a100", "v100")
    nodes = tuple(replace(node, gpu_type=draw.choice(types)) for node in round_.cluster.nodes)
    asked = (None, None, types[:1], types[1:])
    jobs = tuple(replace(job, gpu_types=draw.choice(asked)) for job in round_.jobs)
    return replace(round_, cluster=replace(round_.cluster, nodes=nodes), jobs=jobs)


def with_all(round_: Round, seed: int, priorities: int) -> Round:
    """Return the round in which quotas, CPUs and memory, GPU types and priorities bind, or two or three of these."""
    draw = Random(seed)
    if draw.random() < 0.6:
        round_ = with_cpus(round_, seed, draw.choice((12.0, 32.0)), 96.0)
    if draw.random() < 0.6:
        round_ = with_tenants(round_, seed, draw.choice((0.1, 0.3)))
    if draw.random() < 0.6:
        round_ = with_types(round_, seed)
    return with_priorities(round_, seed, priorities)


def offers_of(round_: Round) -> Offers:
    """Return what the jobs of a round offer by the usual rules of `joint-s`."""
    rules = JointRules.of(policy_from("joint-s").rules)
    models = models_of(round_, rules)
    return Offers.of(round_, models, worth_of(round_, models, rules), rules)


def ask_no_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let joint searches ask for GPUs as if there were enough of all else."""

    def free(offers: Offers, _jobs: object, gpus: int, *_: object) -> Terms:
        enough = Capacities.of_gpus(gpus, len(offers.kind))
        return Terms(charge=np.zeros(len(offers.kind)), limits=enough, members=offers.most_jobs)

    monkeypatch.setattr("muri_opt.systems.joint.search.quota_search.terms_of", free)
    monkeypatch.setattr("muri_opt.systems.joint.search.quota_search.within", lambda *_: True)
