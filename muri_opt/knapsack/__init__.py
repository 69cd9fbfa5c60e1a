"""One option per job, or none, under a few capacities: multipliers that bound it, a good answer, and the best one.

The multiple-choice knapsack with several resources. No solver is imported here: what multipliers and enumeration leave
open goes to a callable as a small :class:`~muri_opt.modelling.Model`.
"""

from muri_opt.knapsack.one_resource import OneResource
from muri_opt.knapsack.options import Options
from muri_opt.knapsack.pricing import Priced, lagrangian, priced
from muri_opt.knapsack.primal import feasible_choice
from muri_opt.knapsack.rest import Rest, rest_program
from muri_opt.knapsack.solve import Answer, Basis, quick_answer, solve_options

__all__ = [
    "Answer",
    "Basis",
    "OneResource",
    "Options",
    "Priced",
    "Rest",
    "feasible_choice",
    "lagrangian",
    "priced",
    "quick_answer",
    "rest_program",
    "solve_options",
]
