"""Exact and heuristic algorithms that know no round and import no solver: matching, knapsacks, rankings, columns."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.algorithms.matching.engines import ENGINES as ENGINES, max_weight_matching as max_weight_matching
    from muri_opt.algorithms.matching.result import Blossom as Blossom, Matching as Matching
    from muri_opt.algorithms.matching.typed_matching import TypeMatching as TypeMatching, match_types as match_types
    from muri_opt.algorithms.ranking.borda import borda_order as borda_order, borda_scores as borda_scores
    from muri_opt.algorithms.ranking.rankings import Rankings as Rankings

__all__, __getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.algorithms.matching.engines": ("ENGINES", "max_weight_matching"),
        "muri_opt.algorithms.matching.result": ("Blossom", "Matching"),
        "muri_opt.algorithms.matching.typed_matching": ("TypeMatching", "match_types"),
        "muri_opt.algorithms.ranking.borda": ("borda_order", "borda_scores"),
        "muri_opt.algorithms.ranking.rankings": ("Rankings",),
    },
)
