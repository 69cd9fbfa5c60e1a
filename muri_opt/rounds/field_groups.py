"""The fields of format 2 by what they say, so that policies and rules name what they honour in few words."""

from __future__ import annotations

from typing import Final

PLACES: Final = frozenset(
    {"node.gpu_type", "node.available_until", "job.gpu_types", "job.requires", "job.excludes", "job.within"}
)
"""On which nodes a job may start; ``node.gpu_type`` says that it is on nodes of one type."""
SHAPES: Final = frozenset({"job.nodes", "job.even"})
"""On how many nodes a job may be, and how its GPUs are split over them."""
STATES: Final = frozenset({"job.preemptible", "job.movable", "job.held", "job.not_before", "node.state"})
"""Which jobs may be stopped, moved or started now, and which nodes take jobs."""
QUOTAS: Final = frozenset({"tenant.parent", "tenant.quota_by_type", "tenant.borrow_gpus", "tenant.lend_gpus"})
"""How much a tenant may have beside its own quota."""
SHARES: Final = frozenset({"tenant.weight", "tenant.used_gpu_seconds"})
"""What a tenant's fair share is made of."""
