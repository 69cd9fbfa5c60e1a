"""Exact without a solver: maximum-weight matching that proves itself with its dual variables.

Edmonds' blossom algorithm (1965), primal and dual, started from an optimal fractional matching (Derigs and Metz 1986).
The dual has a price per vertex and per odd set of vertices (Edmonds' matching polytope).
"""

from muri_opt.algorithms.matching.engines import ENGINES, max_weight_matching
from muri_opt.algorithms.matching.many_graphs import match_each
from muri_opt.algorithms.matching.result import Blossom, Matching
from muri_opt.algorithms.matching.typed_matching import TypeMatching, match_types

__all__ = ["ENGINES", "Blossom", "Matching", "TypeMatching", "match_each", "match_types", "max_weight_matching"]
