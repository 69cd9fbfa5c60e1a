"""For tests of schedulers: Hypothesis strategies of valid rounds. Needs the extra ``muri-opt[testing]``."""

from muri_opt.testing.strategies import clusters, jobs, nodes, rounds
from muri_opt.testing.strategies_tenants import tenant_policies, tenant_rounds

__all__ = ["clusters", "jobs", "nodes", "rounds", "tenant_policies", "tenant_rounds"]
