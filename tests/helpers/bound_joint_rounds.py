"""Joint rounds in which tenants have quotas, or CPUs and memory are scarce, and what their jobs offer."""

from __future__ import annotations

from random import Random

from msgspec.structs import replace

from muri_opt import Cluster, Round, Tenant, policy_from
from muri_opt.systems.joint.models import models_of
from muri_opt.systems.joint.offers import Offers
from muri_opt.systems.joint.rules import JointRules
from muri_opt.systems.joint.worth import worth_of

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


def offers_of(round_: Round) -> Offers:
    """Return what the jobs of a round offer by the usual rules of `joint-s`."""
    rules = JointRules.of(policy_from("joint-s").rules)
    models = models_of(round_, rules)
    return Offers.of(round_, models, worth_of(round_, models, rules), rules)
