"""Philly: gangs of tenants with quotas, locality relaxed with waiting, preemption and migration."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.systems.philly.decision import placement_decision as placement_decision
    from muri_opt.systems.philly.job_status import JobStatus as JobStatus
    from muri_opt.systems.philly.locality import Locality as Locality
    from muri_opt.systems.philly.policy import PhillyPolicy as PhillyPolicy
    from muri_opt.systems.philly.program import PlacementFormulation as PlacementFormulation
    from muri_opt.systems.philly.system import SYSTEM as SYSTEM
    from muri_opt.systems.philly.tenant_rules import TenantRules as TenantRules

__all__, __getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.systems.philly.decision": ("placement_decision",),
        "muri_opt.systems.philly.job_status": ("JobStatus",),
        "muri_opt.systems.philly.locality": ("Locality",),
        "muri_opt.systems.philly.policy": ("PhillyPolicy",),
        "muri_opt.systems.philly.program": ("PlacementFormulation",),
        "muri_opt.systems.philly.tenant_rules": ("TenantRules",),
        "muri_opt.systems.philly.system": ("SYSTEM",),
    },
)
