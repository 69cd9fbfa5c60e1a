"""Gap studies: rounds solved under several policies by several methods, and how far apart the answers are."""

from muri_opt.studies.compare.check_stored import StoredOptimumError
from muri_opt.studies.compare.pairs import Pair, pairs_of
from muri_opt.studies.compare.rows import REFUSED, VIOLATED, CompareRow
from muri_opt.studies.compare.sources import NamedRound, rounds_from
from muri_opt.studies.compare.study import compare
from muri_opt.studies.compare.summary import MethodSummary, Summary, contradictions_of, summary_of

__all__ = [
    "REFUSED",
    "VIOLATED",
    "CompareRow",
    "MethodSummary",
    "NamedRound",
    "Pair",
    "StoredOptimumError",
    "Summary",
    "compare",
    "contradictions_of",
    "pairs_of",
    "rounds_from",
    "summary_of",
]
