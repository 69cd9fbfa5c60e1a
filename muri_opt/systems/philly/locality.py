"""How close together the GPUs of a gang can be, and how close they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from muri_opt.rounds import Cluster, Round
from muri_opt.rounds.amounts import Amounts, Ints
from muri_opt.rounds.memoise import last_recalled
from muri_opt.systems.capacity import nodes_needed
from muri_opt.systems.capacity.node_sets import Demand, NodeSets, node_sets
from muri_opt.systems.capacity.shaped_fit import fit_in_sets

TOGETHER, IN_RACK, ANYWHERE = range(3)
_Demand = tuple[int, int, int, int]
"""GPUs, milli-CPUs and MiB with each of them, and what is asked of nodes."""
SPREADS: Final = ("together", "in one rack", "anywhere")
"""The three ways to sit: on as few nodes as possible, on more nodes of one rack, over racks."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Locality:
    """Racks of the nodes, and for each job how close it could be in the empty cluster.

    Node s is in rack ``rack[s]``; nodes without a rack are in one together. Job j fits if ``fits[j]``; in one rack if
    ``in_rack[j]``; and then on ``fewest[j]`` nodes of a rack, or else of the cluster. ``near`` has for each kind of
    demand what it asks of nodes if it has to be in one rack, too.

    >>> Locality.of(shipped_round("toy/three-servers")).racks
    (None,)
    """

    cluster: Cluster
    rack: Ints
    racks: tuple[str | None, ...]
    fits: np.ndarray[tuple[int], np.dtype[np.bool_]]
    in_rack: np.ndarray[tuple[int], np.dtype[np.bool_]]
    fewest: Ints
    near: tuple[Demand, ...] = ()

    @classmethod
    def of(cls, round_: Round) -> Locality:
        """Return the locality of a round's jobs."""
        return cls.within(round_.cluster, round_.amounts, node_sets(round_))

    @classmethod
    def within(cls, cluster: Cluster, amounts: Amounts, sets: NodeSets | None = None) -> Locality:
        """Return the locality of jobs that ask for these amounts; equal demands are looked at once.

        Where ``sets`` says on which nodes jobs may start, it is about these. A job that may start nowhere is together
        wherever it is.
        """
        nodes = cluster.nodes
        racks = tuple(dict.fromkeys(node.rack for node in nodes))
        place = {rack: position for position, rack in enumerate(racks)}
        rack = np.array([place[node.rack] for node in nodes], dtype=np.int64)
        members = [np.flatnonzero(rack == r) for r in range(len(racks))]
        near = () if sets is None else tuple(_in_racks(demand, rack) for demand in sets.demands)
        known = _known_closest(cluster) if sets is None else {}
        kinds = [0] * len(amounts.g) if sets is None else sets.kind.tolist()
        demands = zip(amounts.g.tolist(), amounts.c.tolist(), amounts.m.tolist(), kinds, strict=True)
        found = []
        for job, demand in enumerate(demands):
            if demand not in known:
                room = np.minimum(amounts.most_gpus([job], amounts.G, amounts.C, amounts.M), demand[0])
                known[demand] = (
                    _closest(room, members, demand[0])
                    if sets is None
                    else _closest_in_sets(room, near[demand[3]], sets.of(job), demand[0])
                )
            found.append(known[demand])
        fits, in_rack, fewest = (list(column) for column in zip(*found, strict=True)) if found else ([], [], [])
        return cls(
            cluster=cluster,
            rack=rack,
            racks=racks,
            fits=np.array(fits, dtype=bool),
            in_rack=np.array(in_rack, dtype=bool),
            fewest=np.array(fewest, dtype=np.int64),
            near=near,
        )

    def spread(self, job: int, nodes: Ints) -> int:
        """Return how the job would sit on these nodes: together, in one rack, or anywhere."""
        if self.in_rack[job] and len(np.unique(self.rack[nodes])) > 1:
            return ANYWHERE
        if len(nodes) <= self.fewest[job]:
            return TOGETHER
        return IN_RACK if self.in_rack[job] else ANYWHERE


@last_recalled
def _known_closest(cluster: Cluster) -> dict[_Demand, tuple[bool, bool, int]]:  # noqa: ARG001 - one for each cluster
    """Return how close gangs could be in the empty cluster, as far as it is known: rounds of a session share it."""
    return {}


def _closest(room: Ints, racks: list[Ints], gpus: int) -> tuple[bool, bool, int]:
    """Return whether a gang fits, whether in one rack, and on how few nodes there."""
    kinds = {room[members].tobytes(): room[members] for members in racks}  # most racks are alike
    within = [nodes_needed(rooms, gpus) for rooms in kinds.values() if rooms.sum() >= gpus]
    if within:
        return True, True, min(within)
    return bool(room.sum() >= gpus), False, nodes_needed(room, gpus)


def _closest_in_sets(room: Ints, near: Demand, demand: Demand, gpus: int) -> tuple[bool, bool, int]:
    """Return the same of a gang on the nodes where it may start, those of ``near`` in one rack."""
    close = fit_in_sets(room, gpus, near)
    if close is not None:
        return True, True, int(np.count_nonzero(close))
    far = fit_in_sets(room, gpus, demand)
    return far is not None, False, len(room) + 1 if far is None else int(np.count_nonzero(far))


def _in_racks(demand: Demand, rack: Ints) -> Demand:
    """Return what a gang asks that has to be in one rack, too."""
    parts = [nodes[rack[nodes] == r] for nodes in demand.sets for r in np.unique(rack[nodes])]
    return replace(demand, sets=tuple(parts))
