"""For tests of schedulers: strategies of rounds, invariants of allocators. Needs the extra ``muri-opt[testing]``."""

try:
    import hypothesis as _hypothesis  # noqa: F401 - nothing below can be imported without it
except ModuleNotFoundError as _missing:
    raise ImportError("muri_opt.testing needs Hypothesis: pip install 'muri-opt[testing]'") from _missing

from muri_opt.testing.allocators import Allocator, from_dicts, published
from muri_opt.testing.aspects import Aspect
from muri_opt.testing.checking import check_allocator, find_breaches
from muri_opt.testing.invariant import Breach, Case, Finding, Invariant, Tier, invariant
from muri_opt.testing.invariants_fairness import FAIRNESS
from muri_opt.testing.invariants_rationality import RATIONALITY
from muri_opt.testing.invariants_safety import SAFETY
from muri_opt.testing.kept_by_policy import NOT_PROMISED, promised
from muri_opt.testing.machine import allocator_machine
from muri_opt.testing.programs import from_command
from muri_opt.testing.report import Broken, Report
from muri_opt.testing.strategies import clusters, jobs, nodes, rounds
from muri_opt.testing.strategies_demands import demanding_rounds
from muri_opt.testing.strategies_families import (
    FAMILIES,
    decisions,
    family_clusters,
    family_of,
    family_rounds,
    full_rounds,
)
from muri_opt.testing.strategies_gangs import gang_rounds
from muri_opt.testing.strategies_tenants import tenant_policies, tenant_rounds

INVARIANTS = {one.name: one for one in (*SAFETY, *RATIONALITY, *FAIRNESS)}
"""Every invariant by its name."""

__all__ = [
    "FAIRNESS",
    "FAMILIES",
    "INVARIANTS",
    "NOT_PROMISED",
    "RATIONALITY",
    "SAFETY",
    "Allocator",
    "Aspect",
    "Breach",
    "Broken",
    "Case",
    "Finding",
    "Invariant",
    "Report",
    "Tier",
    "allocator_machine",
    "check_allocator",
    "clusters",
    "decisions",
    "demanding_rounds",
    "family_clusters",
    "family_of",
    "family_rounds",
    "find_breaches",
    "from_command",
    "from_dicts",
    "full_rounds",
    "gang_rounds",
    "invariant",
    "jobs",
    "nodes",
    "promised",
    "published",
    "rounds",
    "tenant_policies",
    "tenant_rounds",
]
