"""Exact without a solver: maximum-weight matching that proves itself with its dual variables."""

from muri_opt.matching.api import ENGINES, max_weight_matching
from muri_opt.matching.result import Blossom, Matching
from muri_opt.matching.types import TypeMatching, match_types

__all__ = ["ENGINES", "Blossom", "Matching", "TypeMatching", "match_types", "max_weight_matching"]
