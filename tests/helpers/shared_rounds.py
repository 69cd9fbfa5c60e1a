"""Small random rounds of jobs that share GPUs, and their optimum by looking at every grouping."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, permutations

from muri_opt import Cluster, Job, Node, Round, Tenant
from muri_opt.systems.muri.interleaving import best_period

RESOURCES = ("storage", "cpu", "gpu", "network")
Efficiency = Callable[[Sequence[Job]], int]


def sharer(position: int, stages: Sequence[float], gpus: int = 1, **fields: object) -> Job:
    """Return a job with stage times; by default lower positions come first in every order."""
    given: dict[str, object] = {
        "id": f"j{position}",
        "gpus": gpus,
        "submitted": float(position),
        "remaining_iterations": 1 + position,
        "iteration_seconds": 1.0,
        "attained_gpu_seconds": float(position),
        "stage_seconds": tuple(map(float, stages)),
    }
    return Job(**given | fields)


def sharing_round(nodes: Sequence[int | Node], jobs: Sequence[Job], tenants: Sequence[Tenant] = ()) -> Round:
    """Return a round of such jobs, with as many resources as they have stages."""
    stages = len(jobs[0].stage_seconds) if jobs else 4
    boxes = tuple(Node(id=f"n{s}", gpus=node) if isinstance(node, int) else node for s, node in enumerate(nodes))
    cluster = Cluster(nodes=boxes, tenants=tuple(tenants))
    return Round(cluster=cluster, jobs=tuple(jobs), resources=RESOURCES[:stages])


def random_round(seed: int, resources: int | None = None, quotas: bool = True) -> Round:
    """Return 3 to 7 jobs, some of them equal, that want more GPUs than there are; only GPUs and quotas are limited."""
    rng = random.Random(seed)
    stages = resources or rng.choice((3, 4))
    sizes = rng.sample((1, 2, 3), rng.choice((1, 2)))
    kinds = [
        (rng.choice(sizes), [rng.choice((0, 0.5, 1, 2, 3, 4.25)) for _ in range(stages)], rng.choice(("a", "b", None)))
        for _ in range(rng.randint(2, 6))
    ]
    jobs = []
    for position in range(rng.randint(3, 7)):
        gpus, times, tenant = rng.choice(kinds)
        jobs.append(sharer(position, times, gpus, tenant=tenant, remaining_iterations=rng.randint(1, 9)))
    asked = sum(job.gpus for job in jobs)
    total = rng.randint(max(1, asked // 4), max(1, asked - 1))
    first = rng.randint(0, total)
    limited = quotas and rng.random() < 0.5
    tenants = [
        Tenant(id="a", quota_gpus=rng.randint(1, 4) if limited else None),
        Tenant(id="b", quota_gpus=rng.randint(1, 6) if limited else None),
    ]
    return sharing_round([first, total - first], jobs, tenants)


def cyclic_ppm(jobs: Sequence[Job]) -> int:
    """Return the efficiency of a group in its best seating, from the definition."""
    stages = [[Fraction(str(seconds)) for seconds in job.stage_seconds] for job in jobs]
    slots = range(len(stages[0]))
    period = min(
        sum(max(times[(i - seat) % len(slots)] for times, seat in zip(stages, seats, strict=True)) for i in slots)
        for seats in permutations(slots, len(jobs))
    )
    return int(10**6 * sum(map(sum, stages)) / (len(slots) * period)) if period else 0


def authors_ppm(jobs: Sequence[Job]) -> int:
    """Return the efficiency in four slots, slowed down by the size of the group as the authors' simulator does."""
    stages = [job.stage_seconds for job in jobs]
    period = Fraction(round(best_period(stages, "muri-4slot").period_seconds * 10**6), 10**6)
    slowdown = {1: Fraction(1), 2: Fraction(1330, 1015), 3: Fraction(1500, 1015), 4: Fraction(1370, 1015)}
    total = sum(Fraction(str(seconds)) for times in stages for seconds in times)
    return int(10**6 * total / (4 * period * slowdown[len(jobs)])) if period else 0


def best_grouping(round_: Round, efficiency: Efficiency, largest: int, *, mixed: bool = False) -> int:
    """Return the best total over every choice of disjoint groups, of equal GPU count unless mixed, that may run."""
    quota = {t.id: t.quota_gpus for t in round_.cluster.tenants if t.quota_gpus is not None}
    known: dict[tuple[str, ...], int] = {}

    def worth(group: tuple[Job, ...]) -> int:
        key = tuple(job.id for job in group)
        if key not in known:
            known[key] = efficiency(group)
        return known[key]

    def best(jobs: tuple[Job, ...], gpus: int, left: dict[str, int]) -> int:
        if not jobs:
            return 0
        first, rest = jobs[0], jobs[1:]
        found = best(rest, gpus, left)
        alike = [job for job in rest if mixed or job.gpus == first.gpus]
        for others in (chosen for size in range(largest) for chosen in combinations(alike, size)):
            group = (first, *others)
            free = dict(left)
            for job in group:
                free[job.tenant] = free.get(job.tenant, 10**9) - job.gpus
            taken = max(job.gpus for job in group)
            if taken <= gpus and min(free.values()) >= 0:
                remaining = tuple(job for job in rest if job not in others)
                found = max(found, worth(group) + best(remaining, gpus - taken, free))
        return found

    return best(round_.jobs, round_.cluster.total_gpus, quota)
