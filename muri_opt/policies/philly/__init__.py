"""Policy ``philly``: gangs of tenants with quotas, locality relaxed with waiting, preemption and migration."""

from muri_opt.policies.philly.policy import PhillyPolicy

__all__ = ["PhillyPolicy"]
