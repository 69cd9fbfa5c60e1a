"""One order from several lists by Borda's count: the sum of the ranks. Lists may be partial and have weights."""

from muri_opt.algorithms.ranking.borda import borda_order, borda_scores
from muri_opt.algorithms.ranking.rankings import Rankings

__all__ = ["Rankings", "borda_order", "borda_scores"]
