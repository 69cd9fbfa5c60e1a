"""Free nodes, or make room for a waiting gang, with the fewest moved GPUs, and prove that fewer do not do.

No solver is imported here: linear relaxations and programs go to callables as a :class:`~muri_opt.modelling.Model`.
"""

from muri_opt.systems.defragment.result import Cost, Defragmentation, Move, moved_round
from muri_opt.systems.defragment.search import free_nodes, make_room

__all__ = ["Cost", "Defragmentation", "Move", "free_nodes", "make_room", "moved_round"]
