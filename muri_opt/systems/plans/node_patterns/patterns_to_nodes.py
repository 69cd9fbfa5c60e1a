"""From counts of patterns to jobs on nodes, and from jobs on nodes to patterns.

Columns of the decomposition are about classes of nodes and kinds of jobs; here each gets its members, those with a home
first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.node_patterns.items import Items, NodeFamily
from muri_opt.systems.plans.node_patterns.master import NO_HOME, Key


def placed(
    items: Items, families: Sequence[NodeFamily], patterns: Mapping[Key, int], jobs: Mapping[int, int]
) -> dict[int, Ints]:
    """Return options and their nodes: so many nodes with each pattern, so many jobs for each item in several parts.

    A kind's jobs are taken in their order. No pattern has two parts of one item, so the nodes of a job differ.
    """
    free = [dict.fromkeys(family.nodes.tolist()) for family in families]
    where: dict[int, list[int]] = {}
    for family, home, pattern in sorted(patterns, key=lambda key: key[1] == NO_HOME):  # homes have fewer nodes to go to
        hosts = free[family] if home == NO_HOME else families[family].at_home[home].nodes.tolist()
        for node in [node for node in hosts if node in free[family]][: patterns[family, home, pattern]]:
            del free[family][node]
            for item in pattern:
                where.setdefault(item, []).append(node)
    taken: Counter[int] = Counter()
    chosen = {}
    for item, nodes in sorted(where.items()):
        kind, parts = int(items.owner[item]), int(items.q[item])
        for turn in range(jobs.get(item, 0) if parts > 1 else len(nodes)):
            option = items.of_member(item, taken[kind])
            chosen[option] = np.array(sorted(nodes[turn * parts : (turn + 1) * parts]), dtype=np.int64)
            taken[kind] += 1
    return chosen


def seen_patterns(items: Items, families: Sequence[NodeFamily], chosen: Mapping[int, Ints]) -> Counter[Key]:
    """Return which patterns options on nodes make, and how often.

    Where equal jobs have parts on one node, only one of them counts: a pattern has no item in several parts twice.
    """
    on_node: dict[int, list[int]] = {}
    for option, nodes in chosen.items():
        item = items.item_of(option)
        for node in nodes.tolist():
            here = on_node.setdefault(node, [])
            if items.q[item] == 1 or item not in here:
                here.append(item)
    found: Counter[Key] = Counter()
    at_home = items.options.home[items.option] >= 0
    for place, family in enumerate(families):
        homes = {node: home for home, here in enumerate(family.at_home) for node in here.nodes.tolist()}
        for node in family.nodes.tolist():
            pattern = tuple(sorted(on_node.get(node, ())))
            if pattern:
                stays = bool(at_home[list(pattern)].any())
                found[place, homes[node] if stays else NO_HOME, pattern] += 1
    return found
