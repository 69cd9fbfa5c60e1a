"""Philly: gangs of tenants with quotas, locality relaxed with waiting, preemption and migration."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.systems.philly.decision import placement_decision
    from muri_opt.systems.philly.job_status import Standing
    from muri_opt.systems.philly.locality import Locality
    from muri_opt.systems.philly.policy import PhillyPolicy
    from muri_opt.systems.philly.program import PlacementFormulation
    from muri_opt.systems.philly.system import SYSTEM
    from muri_opt.systems.philly.tenant_rules import TenantRules

__all__ = [
    "SYSTEM",
    "Locality",
    "PhillyPolicy",
    "PlacementFormulation",
    "Standing",
    "TenantRules",
    "placement_decision",
]

__getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.systems.philly.decision": ("placement_decision",),
        "muri_opt.systems.philly.job_status": ("Standing",),
        "muri_opt.systems.philly.locality": ("Locality",),
        "muri_opt.systems.philly.policy": ("PhillyPolicy",),
        "muri_opt.systems.philly.program": ("PlacementFormulation",),
        "muri_opt.systems.philly.tenant_rules": ("TenantRules",),
        "muri_opt.systems.philly.system": ("SYSTEM",),
    },
)
