"""Fair shares by their definition: at each step all claims are counted anew, from the cluster down."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from muri_opt import Job, Round

Arrivals = dict[str, tuple[Fraction, int]]
"""When each job was submitted, and its place in the round."""


def fair_shares(round_: Round, arrival: Arrivals) -> list[Job]:
    """Serve, step by step, from the top down the child with the least claim."""
    waiting = sorted(round_.jobs, key=lambda job: arrival[job.id])
    shares = _Shares(round_, arrival)
    while waiting:
        shares.served.append(shares.next(waiting, 0))
        waiting.remove(shares.served[-1])
    return shares.served


class _Shares:
    def __init__(self, round_: Round, arrival: Arrivals) -> None:
        self.tenants = {tenant.id: tenant for tenant in round_.cluster.tenants}
        self.nodes = [node for node in round_.cluster.nodes if node.gpus]
        self.arrival = arrival
        self.served: list[Job] = []

    def next(self, some: list[Job], level: int) -> Job:
        """Return the job that is served next of some that are in the same children down to a level."""
        if len({tuple(self.way(job)) for job in some}) == 1:
            return min(some, key=lambda job: self.arrival[job.id])
        heads: dict[str, list[Job]] = {}
        for job in some:
            heads.setdefault(self.way(job)[level], []).append(job)
        firsts = [(self.claim(name), self.next(mine, level + 1)) for name, mine in heads.items()]
        return min(firsts, key=lambda one: (one[0], self.arrival[one[1].id]))[1]

    def way(self, job: Job) -> list[str]:
        """Return the children, from the top down, that a job is in."""
        if job.tenant is None:
            return [f"job {job.id}"]
        names, at = list[str](), job.tenant if job.tenant in self.tenants else None
        while at is not None:
            names.insert(0, at)
            at = self.tenants[at].parent
        inner = any(tenant.parent == job.tenant for tenant in self.tenants.values())
        return [*names, f"own {job.tenant}"] if inner else names or [job.tenant]

    def claim(self, name: str) -> Fraction:
        mine = [job for job in self.served if name in self.way(job)]
        weight = Fraction(str(self.tenants[name].weight)) if name in self.tenants else Fraction(1)
        used = self.used(name) / self.below(None) if self.below(None) else Fraction(0)
        return (used + self.share(mine)) / weight

    def used(self, name: str) -> Fraction:
        if name.startswith("own "):
            return self.used(name[4:]) - self.below(name[4:])
        if name not in self.tenants:
            return Fraction(0)
        return max(Fraction(str(self.tenants[name].used_gpu_seconds or 0)), self.below(name))

    def below(self, name: str | None) -> Fraction:
        return sum((self.used(tenant.id) for tenant in self.tenants.values() if tenant.parent == name), Fraction(0))

    def share(self, jobs: list[Job]) -> Fraction:
        """Return the largest part of the cluster that jobs ask for."""
        if not self.nodes:
            return Fraction(0)
        parts = [Fraction(sum(job.gpus for job in jobs), sum(node.gpus for node in self.nodes))]
        for field, unit in (("cpus", 1000), ("memory_gib", 1024)):
            has = [getattr(node, field) for node in self.nodes]
            if None not in has and sum(has):
                asked = sum(job.gpus * per_gpu(getattr(job, field), job.gpus, unit) for job in jobs)
                parts.append(Fraction(asked) / sum(Fraction(str(one)) for one in has))
        return max(parts)


def per_gpu(total: float | None, gpus: int, grid: int) -> Fraction:
    """Return what goes with one GPU: an equal part of the total, rounded up to the grid."""
    return Fraction(ceil(Fraction(str(total or 0)) * grid / gpus), grid)
