"""One folder per published system, and what they share: policies, exact programs, capacity, orders, plans."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.systems.admission import admit, honouring
    from muri_opt.systems.history import JobHistory
    from muri_opt.systems.naming import PLAIN_RULES, Decide, FunctionPolicy, Named, policy_from
    from muri_opt.systems.policy import Policy, Rules, Span
    from muri_opt.systems.program import Formulation
    from muri_opt.systems.registry import (
        DEFAULT_POLICY,
        POLICIES,
        has_program,
        program_of,
        register_system,
        systems,
        unit_of,
    )
    from muri_opt.systems.system import System

__all__ = [
    "DEFAULT_POLICY",
    "PLAIN_RULES",
    "POLICIES",
    "Decide",
    "Formulation",
    "FunctionPolicy",
    "JobHistory",
    "Named",
    "Policy",
    "Rules",
    "Span",
    "System",
    "admit",
    "has_program",
    "honouring",
    "policy_from",
    "program_of",
    "register_system",
    "systems",
    "unit_of",
]

__getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.systems.admission": ("admit", "honouring"),
        "muri_opt.systems.history": ("JobHistory",),
        "muri_opt.systems.naming": ("Decide", "FunctionPolicy", "Named", "PLAIN_RULES", "policy_from"),
        "muri_opt.systems.policy": ("Policy", "Rules", "Span"),
        "muri_opt.systems.program": ("Formulation",),
        "muri_opt.systems.registry": (
            "DEFAULT_POLICY",
            "POLICIES",
            "has_program",
            "program_of",
            "register_system",
            "systems",
            "unit_of",
        ),
        "muri_opt.systems.system": ("System",),
    },
)
