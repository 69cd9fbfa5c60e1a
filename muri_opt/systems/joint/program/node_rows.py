"""Rows of single nodes in the joint program: columns at spots, and columns that may be anywhere in a region.

Columns at a spot take what they take of its nodes. Those in a region find GPUs on its nodes if, for every union of
regions, all that must be inside it have no more GPUs together than its nodes have left: the condition of Hall. Where
nodes are limited in CPUs or memory, too, what they have on each node are columns of their own
(:mod:`.node_shares`).
"""

from __future__ import annotations

from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Ints, Model, ModelBuilder
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED
from muri_opt.rounds.node_bits import EVERY_NODE
from muri_opt.systems.joint.jobs.group_value import Place
from muri_opt.systems.joint.nodes.regions import Region
from muri_opt.systems.joint.program.columns import JointColumns, Key

NODE_LABELS = ("kept", "keptcpus", "keptmemory", "regions", "shares")
_MOST_REGIONS = 6
"""Regions of which all unions have a row; of more, only the regions themselves: then the program is a relaxation."""
Floats = NDArray[np.float64]


def add_node_rows(builder: ModelBuilder, round_: Round, columns: JointColumns, x: Ints, y: Ints) -> None:
    """Add the rows of nodes that columns x at spots use, or y of shares, and of unions of regions."""
    amounts = round_.amounts
    found = [(node, at, *part) for at in range(len(columns.keys)) for node, *part in columns.takes(round_, at)]
    node, at_spot, *uses_at_spot = np.array(found, dtype=np.int64).reshape(-1, 5).T
    node, column = np.append(node, columns.shares.node), np.append(x[at_spot], y)
    uses = [np.append(some, more) for some, more in zip(uses_at_spot, columns.shares.uses, strict=True)]
    for label, use, has in zip(NODE_LABELS, uses, (amounts.G, amounts.C, amounts.M), strict=False):
        some = has[node] < UNLIMITED
        nodes, row = np.unique(node[some], return_inverse=True)
        entries = (row.reshape(-1), column[some], use[some])
        builder.add_rows(label, nodes, entries=entries, sense="<=", rhs=has[nodes])
    sets, gpus = _unions(columns, len(amounts.G)), amounts.G.tolist()
    inside = [[_inside(key, one) for key in columns.keys] for one in sets]
    uses_of = np.array(inside, dtype=np.int64).reshape(len(sets), len(columns.keys))
    row, at = np.nonzero(uses_of)
    entries = (row, x[at], uses_of[row, at])
    limits = [sum(has for place, has in enumerate(gpus) if one >> place & 1) for one in sets]
    builder.add_rows("regions", np.arange(len(sets)), entries=entries, sense="<=", rhs=limits)


def _inside(key: Key, one: Region) -> int:
    """Return how many GPUs of a column are inside some nodes in any case."""
    if key.spot is not None:
        return sum(gpus for node, gpus in key.spot if one >> node & 1)
    return key.gpus if key.region & one == key.region else 0


def _unions(columns: JointColumns, nodes: int) -> list[Region]:
    """Return the unions of regions that columns are in, but for that of all nodes."""
    regions = sorted({key.region for key in columns.keys} - {EVERY_NODE})
    if len(regions) > _MOST_REGIONS:
        return regions
    every = (1 << nodes) - 1
    sizes = range(1, len(regions) + 1)
    found = {reduce(int.__or__, some) for size in sizes for some in combinations(regions, size)}
    return sorted(found - {every})


def node_prices(round_: Round, model: Model, columns: JointColumns, prices: dict[str, Floats]) -> dict[str, Floats]:
    """Return the prices of ``kept``, for who stays, and of ``nodes``, for whoever has GPUs there.

    The price of a union of regions is one of each of its nodes. With shares rows of nodes are for whoever is there.
    """
    count = len(round_.cluster.nodes)
    kept, nodes = np.zeros(count), np.zeros(count)
    for family in model.rows:
        if family.label == "kept":
            (nodes if len(columns.shares) else kept)[family.index[:, 0]] = prices["kept"]
    for one, price in zip(_unions(columns, count), prices["regions"].tolist(), strict=True):
        nodes[[place for place in range(count) if one >> place & 1]] += price
    return {"kept": kept, "nodes": nodes}


def spread(round_: Round, columns: JointColumns, chosen: list[int], shares: Ints) -> list[Place | None]:
    """Return where chosen columns are: at their spots, and in their regions so that all find GPUs, as far as told.

    The values of ``shares`` tell that where there are any. Else, where jobs may be anywhere, or no such places are
    found, it is left open.
    """
    found = [columns.place(at) for at in chosen]
    if len(columns.shares):
        places, pair = columns.shares.places(shares), columns.shares.of_key
        return [places.get(int(pair[at])) if place is None else place for at, place in zip(chosen, found, strict=True)]
    open_ = [at for at, place in enumerate(found) if place is None and columns.keys[chosen[at]].way is None]
    if all(columns.keys[chosen[at]].region == EVERY_NODE for at in open_):
        return found
    free = round_.amounts.G.copy()
    for node, gpus in (part for place in found if place is not None for part in place.parts):
        free[node] -= gpus
    flows = _flows([columns.keys[chosen[at]] for at in open_], free)
    for at, flow in zip(open_, flows, strict=False):
        found[at] = Place.of_share(flow)
    return found


def _flows(keys: list[Key], free: Ints) -> list[Ints]:
    """Return GPUs per node for columns in regions, by a largest flow; none where they do not all find theirs."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_flow

    count, nodes = len(keys), len(free)
    size = count + nodes + 2
    graph = np.zeros((size, size), dtype=np.int32)
    for at, key in enumerate(keys):
        graph[0, 1 + at] = key.gpus
        for node in range(nodes):
            graph[1 + at, 1 + count + node] = key.gpus if key.region >> node & 1 else 0
    graph[1 + count : 1 + count + nodes, size - 1] = np.maximum(free, 0)
    answer: Any = maximum_flow(csr_matrix(graph), 0, size - 1)
    if answer.flow_value < sum(key.gpus for key in keys):
        return []
    flow = answer.flow.toarray()
    return [flow[1 + at, 1 + count : 1 + count + nodes].astype(np.int64) for at in range(count)]
