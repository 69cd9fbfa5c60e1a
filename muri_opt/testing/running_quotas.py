"""Whether running jobs are within the quotas of their tenants: a state that can be, unless idle GPUs are lent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from muri_opt.rounds import Job, Round
from muri_opt.verify.feasibility import quota_breaches
from muri_opt.verify.type_quotas import ByType, type_breaches, used_by_type


def within_quotas(round_: Round, jobs: Iterable[Job]) -> bool:
    """Return whether tenants may have what these jobs of theirs hold, by all quotas and what can be borrowed."""
    running = [(job, job.placement) for job in jobs if job.placement]
    held = Counter[str]()
    for job, placement in running:
        held[job.tenant or ""] += sum(placement.values())
    types = type_breaches(round_, used_by_type(round_, running), ByType())
    return not any(quota_breaches(round_, held)) and not any(types)
