"""From a round to its exact program, and from the program's values back to a decision."""

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
