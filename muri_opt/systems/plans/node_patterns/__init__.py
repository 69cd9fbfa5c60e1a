"""Options with parts on distinct nodes: what a whole node holds, priced, counted and combined.

The cluster-level knapsack forgets that a job's GPUs, CPUs and memory must be found together on its nodes. Here a node
gets a whole pattern of parts, patterns are found one by one at prices for jobs, and the prices bound what any decision
is worth.

Dantzig-Wolfe decomposition by nodes, with the patterns of Gilmore and Gomory (1961) as columns; the letters are those
of the chapter *planning*.
"""

from muri_opt.systems.plans.node_patterns.cluster import ClusterKnapsack, cluster_prices
from muri_opt.systems.plans.node_patterns.column_generation import Packed, pack

__all__ = ["ClusterKnapsack", "Packed", "cluster_prices", "pack"]
