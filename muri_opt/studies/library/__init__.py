"""The instance library: rounds with the best value and bound that are known, who proved them, and how to do better."""

from muri_opt.studies.library.adding import add
from muri_opt.studies.library.best import BEST_FORMAT, Best, Optimum, parse_best, read_best, write_best
from muri_opt.studies.library.check import Finding, check_instance, check_optimum
from muri_opt.studies.library.gap_check import GapFinding, check_gap, check_gaps, decided_value
from muri_opt.studies.library.gaps import CompletionGap, Gap, ValueGap, measure_name
from muri_opt.studies.library.improve import Change, offer, refresh, solved
from muri_opt.studies.library.instance import FAMILIES, Instance, instances, library_folder
from muri_opt.studies.library.named import shipped_round, shipped_rounds
from muri_opt.studies.library.recipe import RECIPE_FORMAT, Recipe, load_round
from muri_opt.studies.library.table import readme_text

__all__ = [
    "BEST_FORMAT",
    "FAMILIES",
    "RECIPE_FORMAT",
    "Best",
    "Change",
    "CompletionGap",
    "Finding",
    "Gap",
    "GapFinding",
    "Instance",
    "Optimum",
    "Recipe",
    "ValueGap",
    "add",
    "check_gap",
    "check_gaps",
    "check_instance",
    "check_optimum",
    "decided_value",
    "instances",
    "library_folder",
    "load_round",
    "measure_name",
    "offer",
    "parse_best",
    "read_best",
    "readme_text",
    "refresh",
    "shipped_round",
    "shipped_rounds",
    "solved",
    "write_best",
]
