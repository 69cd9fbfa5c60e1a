"""Which GPU counts a share may have on a cluster."""

from __future__ import annotations

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds import Cluster
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.afs.share_steps import legal_shares


def share_sizes(cluster: Cluster, packing: str) -> Ints:
    """Return the GPU counts a share may have, ascending: any, or under ``node`` those that pack into nodes.

    >>> share_sizes(Cluster(nodes=(Node(id="n0", gpus=4), Node(id="n1", gpus=4))), "node")
    array([1, 2, 4, 8])
    """
    if packing == "any":
        return np.arange(1, cluster.total_gpus + 1, dtype=np.int64)
    return np.array(legal_shares(gpus_per_node(cluster), cluster.total_gpus), dtype=np.int64)


def gpus_per_node(cluster: Cluster) -> int:
    """Return how many GPUs every node has; nodes without GPUs do not count, unequal ones are refused.

    >>> gpus_per_node(Cluster(nodes=(Node(id="n0", gpus=4), Node(id="n1", gpus=4))))
    4
    """
    sizes = sorted({node.gpus for node in cluster.nodes if node.gpus})
    if len(sizes) > 1:
        found = "nodes of " + ", ".join(map(str, sizes)) + " GPUs"
        raise InputError("cluster.nodes", found, "nodes of one size: packing=node counts in GPUs per node")
    return sizes[0] if sizes else 1
