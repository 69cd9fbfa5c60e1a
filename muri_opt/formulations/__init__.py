"""From a round to its exact program, and from the program's values back to a decision."""

from typing import TYPE_CHECKING

from muri_opt.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.formulations.base import Formulation
    from muri_opt.formulations.configuration import AdmissionFormulation, ConfigurationFormulation
    from muri_opt.formulations.gangs import GangFormulation
    from muri_opt.formulations.group_values import GroupRules
    from muri_opt.formulations.grouping import GroupingFormulation
    from muri_opt.formulations.placement import PlacementFormulation
    from muri_opt.formulations.planning import PlanningFormulation
    from muri_opt.formulations.sharing import SharingFormulation

__all__ = [
    "AdmissionFormulation",
    "ConfigurationFormulation",
    "Formulation",
    "GangFormulation",
    "GroupRules",
    "GroupingFormulation",
    "PlacementFormulation",
    "PlanningFormulation",
    "SharingFormulation",
]

__getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.formulations.base": ("Formulation",),
        "muri_opt.formulations.configuration": ("AdmissionFormulation", "ConfigurationFormulation"),
        "muri_opt.formulations.gangs": ("GangFormulation",),
        "muri_opt.formulations.group_values": ("GroupRules",),
        "muri_opt.formulations.grouping": ("GroupingFormulation",),
        "muri_opt.formulations.placement": ("PlacementFormulation",),
        "muri_opt.formulations.planning": ("PlanningFormulation",),
        "muri_opt.formulations.sharing": ("SharingFormulation",),
    },
)
