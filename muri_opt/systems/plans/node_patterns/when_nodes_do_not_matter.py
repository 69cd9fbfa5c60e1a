"""Rounds in which nodes do not matter: what fits the cluster as a whole can always be placed.

That is so where part sizes go into each other and into the nodes, as 1, 2, 4 and 8 GPUs go into 8: placed from the
largest to the smallest, no part ever meets nodes whose free GPUs are enough together and too few on each.

Packing with divisible item sizes (Coffman, Garey and Johnson 1987): first fit by decreasing size wastes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muri_opt.algorithms.knapsack import Options
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.systems.plans.node_patterns.items import Items, NodeFamily
from muri_opt.systems.plans.options import PlanOptions


def equivalent_knapsack(
    round_: Round, options: PlanOptions, items: Items, families: Sequence[NodeFamily]
) -> tuple[Options, Ints] | None:
    """Return a knapsack over the GPUs of each family of nodes that is the same choice, and the options it is about.

    ``None`` if there is none: a quota binds guaranteed jobs, staying on a node saves a restart, an option may use nodes
    of several families, or parts would not always find their place.
    """
    kept = np.flatnonzero(options.home < 0)
    if (items.tenant >= 0).any() or not _stays_are_worth_nothing(options) or not families:
        return None
    use = np.zeros((len(kept), len(families)), dtype=np.int64)
    for place, family in enumerate(families):
        mine = options.hosts[options.kind[kept], family.nodes[0]]
        if use[mine].any() or not _always_placed(options, kept[mine], family):
            return None
        use[mine, place] = (options.q * options.g)[kept[mine]]
    capacity = [len(family.nodes) * int(family.capacity[0]) for family in families]
    return Options.of(options.job[kept], options.e[kept], use, capacity, jobs=len(round_.jobs)), kept


def _stays_are_worth_nothing(options: PlanOptions) -> bool:
    """Return whether every option at home is worth no more than the same one anywhere, which then follows it.

    A job that could not start on the nodes it holds may have no such option.
    """
    home = np.flatnonzero(options.home >= 0)
    if len(home) and home[-1] + 1 == len(options):
        return False
    same = (options.job[home] == options.job[home + 1]) & (options.plan[home] == options.plan[home + 1])
    same &= options.kind[home] == options.kind[home + 1]
    return bool((same & (options.e[home] <= options.e[home + 1])).all())


def _always_placed(options: PlanOptions, some: Ints, family: NodeFamily) -> bool:
    """Return whether parts of the options that take no more GPUs than the nodes have always fit on them."""
    gpus, cpus, memory = family.capacity.tolist()
    g, whole = options.g[some], options.g[some] == gpus
    if not (whole | (options.q[some] == 1)).all():  # parts on distinct nodes are, if each takes a whole one
        return False
    sizes = np.unique(np.append(g, gpus))
    chain = bool(sizes[0] > 0 and (sizes[1:] % sizes[:-1] == 0).all())
    return chain and _within(options.c[some], g, cpus, gpus) and _within(options.m[some], g, memory, gpus)


def _within(each: Ints, g: Ints, has: int, gpus: int) -> bool:
    """Return whether no part takes more of a resource than its GPUs' share of what the node has."""
    return has >= UNLIMITED or bool((each * gpus <= g * has).all())
