"""One folder per published system, and what they share: policies, exact programs, capacity, orders, plans."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.systems.catalogue import formulation_of, value_unit_of
    from muri_opt.systems.policy import Policy
    from muri_opt.systems.program import Formulation
    from muri_opt.systems.registry import POLICIES, policy_from

__all__ = ["POLICIES", "Formulation", "Policy", "formulation_of", "policy_from", "value_unit_of"]

__getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.systems.catalogue": ("formulation_of", "value_unit_of"),
        "muri_opt.systems.policy": ("Policy",),
        "muri_opt.systems.program": ("Formulation",),
        "muri_opt.systems.registry": ("POLICIES", "policy_from"),
    },
)
