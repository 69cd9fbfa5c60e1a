"""One option per job, or none, under a few capacities: multipliers that bound it, a good answer, and the best one.

The multiple-choice knapsack with several resources. No solver is imported here: what multipliers and enumeration leave
open goes to a callable as a small :class:`~muri_opt.modelling.Model`.
"""

from muri_opt.algorithms.knapsack.multipliers import Priced, lagrangian, priced
from muri_opt.algorithms.knapsack.one_resource import OneResource
from muri_opt.algorithms.knapsack.options import Options
from muri_opt.algorithms.knapsack.repair import feasible_choice
from muri_opt.algorithms.knapsack.residual_program import Rest, rest_program
from muri_opt.algorithms.knapsack.solve import Answer, Basis, quick_answer, solve_options

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
