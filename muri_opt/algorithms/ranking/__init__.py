"""One order from several lists: Borda's, by sums of ranks, and Kemeny's, of least disagreement, with its proof.

Lists may be partial and have weights. No solver is imported here: what reductions and dynamic programming leave open
goes to callables as a :class:`~muri_opt.modelling.Model`.
"""

from muri_opt.algorithms.ranking.borda import borda_order, borda_scores
from muri_opt.algorithms.ranking.disagreement import disagreement
from muri_opt.algorithms.ranking.kemeny import Block, Kemeny, kemeny_order
from muri_opt.algorithms.ranking.program import kemeny_program
from muri_opt.algorithms.ranking.rankings import Rankings

__all__ = [
    "Block",
    "Kemeny",
    "Rankings",
    "borda_order",
    "borda_scores",
    "disagreement",
    "kemeny_order",
    "kemeny_program",
]
