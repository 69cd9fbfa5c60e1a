"""Rounds on which a published algorithm is far from the optimum: found, made small, and stored with a proof."""

from muri_opt.studies.worst_case.measure import MEASURES, Distance, Measure, measure_of
from muri_opt.studies.worst_case.search import Step, WorstCase, find_worst, search_worst
from muri_opt.studies.worst_case.shrink import Shrunk, shrink
from muri_opt.studies.worst_case.store import save

__all__ = [
    "MEASURES",
    "Distance",
    "Measure",
    "Shrunk",
    "Step",
    "WorstCase",
    "find_worst",
    "measure_of",
    "save",
    "search_worst",
    "shrink",
]
