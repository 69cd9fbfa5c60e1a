"""One folder per published system, and what they share: policies, exact programs, capacity, orders, plans."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.systems.admission import admit as admit, admit_job as admit_job, honouring as honouring
    from muri_opt.systems.history import JobHistory as JobHistory
    from muri_opt.systems.naming import (
        PLAIN_RULES as PLAIN_RULES,
        Decide as Decide,
        FunctionPolicy as FunctionPolicy,
        Named as Named,
        policy_from as policy_from,
    )
    from muri_opt.systems.policy import Policy as Policy, Rules as Rules, Span as Span
    from muri_opt.systems.program import Formulation as Formulation
    from muri_opt.systems.registry import (
        DEFAULT_POLICY as DEFAULT_POLICY,
        POLICIES as POLICIES,
        has_program as has_program,
        program_of as program_of,
        register_system as register_system,
        systems as systems,
        unit_of as unit_of,
    )
    from muri_opt.systems.system import System as System

__all__, __getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.systems.admission": ("admit", "admit_job", "honouring"),
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
