"""From a round to its exact program, and from the program's values back to a decision."""

from muri_opt.formulations.base import Formulation
from muri_opt.formulations.gangs import GangFormulation
from muri_opt.formulations.grouping import GroupingFormulation

__all__ = ["Formulation", "GangFormulation", "GroupingFormulation"]
