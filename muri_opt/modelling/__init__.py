"""The solver-agnostic language: an array model, its exact evaluation, its text."""

from muri_opt.modelling.builder import ModelBuilder
from muri_opt.modelling.evaluation import Broken, Evaluation, Number, Values, evaluate
from muri_opt.modelling.lexicographic import STAGE_DIGITS, Stage, combined_bound, combined_value, stage_model
from muri_opt.modelling.model import INFINITY, Columns, Ints, Matrix, Model, Rows, RowSense
from muri_opt.modelling.protocols import Relax, Relaxed, Solve, Solved, SolveStages
from muri_opt.modelling.text import lp_text, mps_text

__all__ = [
    "INFINITY",
    "STAGE_DIGITS",
    "Broken",
    "Columns",
    "Evaluation",
    "Ints",
    "Matrix",
    "Model",
    "ModelBuilder",
    "Number",
    "Relax",
    "Relaxed",
    "RowSense",
    "Rows",
    "Solve",
    "SolveStages",
    "Solved",
    "Stage",
    "Values",
    "combined_bound",
    "combined_value",
    "evaluate",
    "lp_text",
    "mps_text",
    "stage_model",
]
