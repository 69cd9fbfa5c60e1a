"""Where gangs fit: the arithmetic of free GPUs, CPUs and memory per node."""

from muri_opt.placement.best_fit import best_fit, fewest_nodes, held_gpus, nodes_needed, place_gang
from muri_opt.placement.leftover import Leftover
from muri_opt.placement.shares import place_shares
from muri_opt.placement.yarn import first_fit

__all__ = [
    "Leftover",
    "best_fit",
    "fewest_nodes",
    "first_fit",
    "held_gpus",
    "nodes_needed",
    "place_gang",
    "place_shares",
]
