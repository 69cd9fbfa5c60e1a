"""The figures of a replay by tenant, and how evenly tenants were served."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from muri_opt.replay.metrics.jobs import checked, finish_time_fairness, slowdown, waiting_seconds
from muri_opt.replay.metrics.summary import SECONDS_PER_HOUR, mean, percentiles
from muri_opt.replay.outcome import Floats, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantSummary:
    """The jobs of one tenant in numbers, named as in ``Summary``; ``tenant`` ``None`` are jobs of none.

    ``share`` is its part of all GPU hours.
    """

    tenant: str | None
    jobs: int
    mean: float
    p50: float
    p95: float
    p99: float
    first_start: float
    waiting: float
    fairness: float
    fragmentation: float
    capacity: float
    gpu_hours: float
    share: float
    lost_gpu_hours: float
    failed_gpu_hours: float
    slowdown_mean: float
    rho_mean: float
    rho_worst: float
    restarts: int
    preemptions: int
    migrations: int

    def as_dict(self) -> dict[str, str | float | None]:
        """Return all figures by name."""
        return asdict(self)


def by_tenant(outcome: Outcome) -> tuple[TenantSummary, ...]:
    """Return the figures of every tenant in alphabetical order, jobs without one last."""
    jobs = checked(outcome).jobs
    waiting, slowed, rho = waiting_seconds(jobs), slowdown(jobs), finish_time_fairness(outcome)
    total = float(jobs.gpu_seconds.sum())
    places: dict[str | None, list[int]] = {}
    for position, tenant in enumerate(jobs.tenants):
        places.setdefault(tenant, []).append(position)
    found = []
    for tenant in sorted(places, key=lambda name: (name is None, name or "")):
        at = np.array(places[tenant], dtype=np.int64)
        completion = jobs.completion[at]
        p50, p95, p99 = percentiles(completion, 50, 95, 99)
        gpu_seconds = float(jobs.gpu_seconds[at].sum())
        found.append(
            TenantSummary(
                tenant=tenant,
                jobs=len(at),
                mean=mean(completion),
                p50=p50,
                p95=p95,
                p99=p99,
                first_start=mean(jobs.started[at] - jobs.submitted[at]),
                waiting=mean(waiting[at]),
                fairness=mean(jobs.fairness[at]),
                fragmentation=mean(jobs.fragmentation[at]),
                capacity=mean(jobs.capacity[at]),
                gpu_hours=gpu_seconds / SECONDS_PER_HOUR,
                share=gpu_seconds / total if total > 0 else 0.0,
                lost_gpu_hours=float(jobs.lost[at].sum()) / SECONDS_PER_HOUR,
                failed_gpu_hours=float(jobs.failed[at].sum()) / SECONDS_PER_HOUR,
                slowdown_mean=mean(slowed[at]),
                rho_mean=mean(rho[at]),
                rho_worst=float(rho[at].max()),
                restarts=int(jobs.restarts[at].sum()),
                preemptions=int(jobs.preemptions[at].sum()),
                migrations=int(jobs.migrations[at].sum()),
            )
        )
    return tuple(found)


def evenness(outcome: Outcome) -> float:
    """Return Jain's index of the tenants' mean slowdowns: 1 if all are slowed down alike, 1/n if one bears it all."""
    slowed: Floats = np.array([tenant.slowdown_mean for tenant in by_tenant(outcome)])
    return float(slowed.sum() ** 2 / (len(slowed) * (slowed**2).sum())) if len(slowed) else 1.0
