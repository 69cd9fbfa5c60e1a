"""Small random rounds of elastic jobs, and their best shares by trying all of them."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise, product
from math import isqrt

from muri_opt import Cluster, Job, Node, Round, Tenant


def stretchable(position: int, rates: dict[int, float], **fields: object) -> Job:
    """Return an elastic job with a scaling table; by default lower positions come first."""
    given: dict[str, object] = {
        "id": f"j{position}",
        "gpus": 1,
        "submitted": float(position),
        "remaining_iterations": 10 * (1 + position),
        "scaling": rates,
    }
    return Job(**given | fields)


def elastic_round(nodes: list[int | Node], jobs: list[Job], tenants: tuple[Tenant, ...] = ()) -> Round:
    boxes = tuple(Node(id=f"n{s}", gpus=node) if isinstance(node, int) else node for s, node in enumerate(nodes))
    return Round(cluster=Cluster(nodes=boxes, tenants=tenants), jobs=tuple(jobs))


def random_elastic_round(seed: int, *, quotas: bool = True) -> Round:
    """Return 1 to 5 jobs with curves of any shape, gaps in their tables included, on up to 7 GPUs."""
    rng = random.Random(seed)
    jobs = []
    for position in range(rng.randint(1, 5)):
        counts = sorted({1, *rng.sample(range(2, 9), rng.randint(0, 4))})
        rates = {k: round(rng.choice((1.0, k**0.5, k**0.8, float(k))) * rng.uniform(0.8, 1.3), 3) for k in counts}
        fields = {
            "tenant": rng.choice(("a", "b", None)),
            "remaining_iterations": rng.randint(1, 60),
            "iteration_seconds": rng.choice((None, 0.25, 2.0)),
        }
        jobs.append(stretchable(position, rates, **fields))
    limited = quotas and rng.random() < 0.5
    tenants = (
        Tenant(id="a", quota_gpus=rng.randint(0, 4) if limited else None),
        Tenant(id="b", quota_gpus=rng.randint(0, 4) if limited else None),
    )
    first = rng.randint(0, 4)
    return elastic_round([first, rng.randint(1, 3)], jobs, tenants)


def speeds(job: Job) -> dict[int, Fraction]:
    """Return iterations a second with 1, 2, ... GPUs, missing counts linear in iteration time, to nine digits."""
    table = {k: Fraction(str(rate)) for k, rate in job.scaling.items()}
    counts = sorted(table)
    for a, b in pairwise(counts):
        for k in range(a + 1, b):
            table[k] = 1 / (Fraction(b - k, b - a) / table[a] + Fraction(k - a, b - a) / table[b])
    if job.iteration_seconds is not None:
        unit = table[job.gpus] * Fraction(str(job.iteration_seconds))
        table = {k: rate / unit for k, rate in table.items()}
    return table


def worths(round_: Round, objective: str, sizes: list[int]) -> list[dict[int, int]]:
    """Return what each share of each job is worth, from the definitions, on speeds of nine digits."""
    total = round_.cluster.total_gpus
    curves = [{k: rate for k, rate in speeds(job).items() if k <= total} for job in round_.jobs]
    times = [
        {k: job.remaining_iterations / rate for k, rate in curve.items()}
        for job, curve in zip(round_.jobs, curves, strict=True)
    ]
    if objective == "time":
        everything = 1 + sum(int(100 * time[1]) for time in times)
        return [{k: everything - int(100 * time[k]) for k in time if k in sizes} for time in times]
    speed = objective.removeprefix("jobs-then-")
    weights = [10**10 // max(1000, isqrt(int(10**6 * time[1]))) if speed == "speed" else 1000 for time in times]
    found = [
        {k: int(weight * rate / curve[1]) for k, rate in curve.items() if k in sizes}
        for weight, curve in zip(weights, curves, strict=True)
    ]
    runs = 1 + sum(max(table.values(), default=0) for table in found) if objective != speed else 0
    return [{k: value + runs for k, value in table.items()} for table in found]


def best_of_all(round_: Round, values: list[dict[int, int]]) -> int:
    """Return the best total value of one share per job, or none, within GPUs and quotas."""
    quota = {t.id: t.quota_gpus for t in round_.cluster.tenants if t.quota_gpus is not None}
    best = 0
    for shares in product(*([0, *table] for table in values)):
        held = dict.fromkeys(quota, 0)
        for job, share in zip(round_.jobs, shares, strict=True):
            if job.tenant in held:
                held[job.tenant] += share
        if sum(shares) <= round_.cluster.total_gpus and all(held[v] <= quota[v] for v in quota):
            worth = sum(table[k] for table, k in zip(values, shares, strict=True) if k)
            best = max(best, worth)
    return best
