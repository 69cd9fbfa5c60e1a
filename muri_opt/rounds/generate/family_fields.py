"""What the families of random rounds add to plain gangs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from muri_opt.rounds.cluster import Tenant
from muri_opt.rounds.generate.portable_random import Draws
from muri_opt.rounds.job import Guarantee, Plan
from muri_opt.rounds.round import DEFAULT_RESOURCES

SIZES: Final = (1, 2, 4, 8, 16)
NODE_GPUS: Final = 8
NODE_CPUS: Final = 96
NODE_GIB: Final = 512
NOW: Final = 7 * 86_400
"""The moment of every generated round, in seconds; all jobs were submitted before it."""

Fields = list[dict[str, Any]]
"""The fields of each job, before the jobs are made."""

_WAITED = ((0.0, 0.0), (0.3, 150.0), (0.6, 600.0), (0.8, 1800.0), (0.95, 7200.0), (1.0, 86_400.0))
# Name, CPUs and GiB per GPU, and how many hundredths of the throughput per GPU a doubling of the GPUs keeps.
_PLAN_KINDS = (("dp", 4, 16, 95), ("zero-dp", 16, 40, 90), ("tp", 4, 12, 84), ("pp", 2, 12, 80))


def add_tenants(draws: Draws, rows: Fields, nodes: int) -> tuple[Tenant, ...]:
    """Give jobs to tenants; a quota is a part of the cluster, and less than its tenant asks for."""
    count = 3 + int(draws.below(1, 3)[0])
    parts = [count + 1 - rank for rank in range(count)]
    owner = draws.pick(len(rows), range(count), parts)
    user = draws.below(len(rows), 4)
    asked = np.zeros(count, dtype=np.int64)
    for row, tenant, number in zip(rows, owner.tolist(), user.tolist(), strict=True):
        row["tenant"], row["user"] = f"team-{tenant}", f"u{4 * tenant + number}"
        asked[tenant] += row["gpus"]
    factor = draws.uniform(count, 0.7, 1.2)
    share = [int(nodes * NODE_GPUS * part * f / sum(parts)) for part, f in zip(parts, factor.tolist(), strict=True)]
    quota = [max(1, min(part, int(0.7 * most))) for part, most in zip(share, asked.tolist(), strict=True)]
    return tuple(Tenant(id=f"team-{tenant}", quota_gpus=quota[tenant]) for tenant in range(count))


def add_busy_tenants(draws: Draws, rows: Fields, nodes: int) -> tuple[Tenant, ...]:
    """Give jobs to tenants whose quotas are not what they use; the last has none of its own, and borrows.

    Jobs have waited for minutes or hours, CPUs and memory seldom bind, and one job in five cannot be restarted.
    """
    count = 4 + int(draws.below(1, 5)[0])
    owner = draws.below(len(rows), count)
    waited = np.floor(draws.spread(len(rows), _WAITED)).astype(np.int64)
    pinned = draws.uniform(len(rows)) < 0.2
    for row, tenant, seconds, fixed in zip(rows, owner.tolist(), waited.tolist(), pinned.tolist(), strict=True):
        row["tenant"], row["waiting_seconds"] = f"team-{tenant}", float(seconds)
        row["submitted"] = NOW - seconds - row["executed_seconds"]
        row["cpus"] = min(row["cpus"], row["gpus"] * NODE_CPUS // NODE_GPUS)
        row["memory_gib"] = min(row["memory_gib"], row["gpus"] * NODE_GIB // NODE_GPUS)
        if fixed:
            del row["restart_seconds"]
    parts = draws.uniform(count, 0.3, 1.7).tolist()
    total = sum(parts[:-1])
    quotas = [int(nodes * NODE_GPUS * part / total) for part in parts[:-1]]
    return tuple(Tenant(id=f"team-{tenant}", quota_gpus=quota) for tenant, quota in enumerate([*quotas, 0]))


def add_stages(draws: Draws, rows: Fields, _nodes: int) -> tuple[Tenant, ...]:
    """Give each job a time per resource that adds up to its iteration, one of them half of it or more."""
    jobs, stages = len(rows), len(DEFAULT_RESOURCES)
    longest = draws.below(jobs, stages)
    part = draws.uniform(jobs, 0.5, 0.8)
    weights = draws.uniform(jobs * stages, 0.1, 1.0).reshape(jobs, stages)
    for j, row in enumerate(rows):
        total = round(row["iteration_seconds"] * 1_000_000)
        others = weights[j] * (1 - part[j]) / weights[j].sum()
        times = [int(total * share) for share in others.tolist()]
        times[longest[j]] += total - sum(times)
        row["stage_seconds"] = tuple(time / 1_000_000 for time in times)
    return ()


def add_scaling(draws: Draws, rows: Fields, _nodes: int) -> tuple[Tenant, ...]:
    """Give each job a throughput per GPU count: Amdahl's law for one half of them, a power law for the other."""
    amdahl = draws.below(len(rows), 2)
    parallel = draws.uniform(len(rows), 0.8, 0.999)
    doubling = draws.uniform(len(rows), 1.5, 1.95)  # the power law: twice the GPUs, this many times the throughput
    for j, row in enumerate(rows):
        table, power = {}, 1.0
        for gpus in SIZES:
            speed = 1 / (1 - parallel[j] + parallel[j] / gpus) if amdahl[j] else power
            table[gpus] = round(float(speed), 4)
            power *= doubling[j]
        row["scaling"] = table
    return ()


def add_plans(draws: Draws, rows: Fields, _nodes: int) -> tuple[Tenant, ...]:
    """Give each job plans of two kinds at its own and the neighbouring GPU counts, and some jobs a guarantee."""
    first = draws.below(len(rows), len(_PLAN_KINDS))
    second = (first + 1 + draws.below(len(rows), len(_PLAN_KINDS) - 1)) % len(_PLAN_KINDS)
    speed = draws.uniform(len(rows), 2.0, 40.0)
    guaranteed = draws.uniform(len(rows)) < 0.4
    for j, row in enumerate(rows):
        counts = [gpus for gpus in SIZES if row["gpus"] <= 2 * gpus <= 4 * row["gpus"]]
        kinds = [_PLAN_KINDS[first[j]], _PLAN_KINDS[second[j]]]
        row["plans"] = tuple(_plan(kind, gpus, float(speed[j])) for gpus in counts for kind in kinds)
        now = next(plan for plan in row["plans"] if plan.gpus == row["gpus"])
        row |= {"cpus": now.cpus, "memory_gib": now.memory_gib}
        if guaranteed[j]:
            row["guarantee"] = Guarantee(throughput=round(0.8 * now.throughput, 3))
    return ()


def _plan(kind: tuple[str, int, int, int], gpus: int, speed: float) -> Plan:
    name, cpus, memory, kept = kind
    throughput = speed * gpus
    for _ in range(SIZES.index(gpus)):
        throughput = throughput * kept / 100  # what each doubling of the GPUs keeps of the throughput per GPU
    nodes = -(-gpus // NODE_GPUS)
    return Plan(
        name=f"{name}{gpus}",
        gpus=gpus,
        nodes=nodes,
        cpus=min(cpus * gpus, NODE_CPUS * nodes),
        memory_gib=memory * gpus,
        throughput=round(throughput, 3),
    )


FIELDS: Final[Mapping[str, Callable[[Draws, Fields, int], tuple[Tenant, ...]]]] = {
    "tenants": add_tenants,
    "philly": add_busy_tenants,
    "interleaving": add_stages,
    "elastic": add_scaling,
    "plans": add_plans,
}
"""Per family the function that completes the jobs of a cluster with so many nodes, and returns the tenants."""
