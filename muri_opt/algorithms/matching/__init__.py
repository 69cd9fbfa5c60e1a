"""Exact without a solver: maximum-weight matching that proves itself with its dual variables."""

from muri_opt.algorithms.matching.engines import ENGINES, max_weight_matching
from muri_opt.algorithms.matching.result import Blossom, Matching
from muri_opt.algorithms.matching.typed_matching import TypeMatching, match_types

__all__ = ["ENGINES", "Blossom", "Matching", "TypeMatching", "match_types", "max_weight_matching"]
