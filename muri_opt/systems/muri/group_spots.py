"""Where groups may run in rounds whose jobs ask for certain nodes: what all members may use, or hold together now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.memoise import recalled
from muri_opt.systems.capacity import Leftover, held_gpus
from muri_opt.systems.capacity.node_sets import Demand, node_sets
from muri_opt.systems.capacity.shaped_fit import fit_in_sets


class Spot(NamedTuple):
    """Nodes on which all GPUs of a group may be, spread in any way.

    ``share`` are GPUs per node of jobs that may only go on exactly there: what runs may stay where it is, whatever is
    asked of a start.
    """

    nodes: frozenset[int]
    share: tuple[tuple[int, int], ...] | None = None

    def holds(self, gpus: int, whole: Ints) -> bool:
        """Return whether a group of so many GPUs can be here, where nodes have ``whole``."""
        if self.share is not None:
            return sum(given for _, given in self.share) == gpus
        return int(whole[list(self.nodes)].sum()) >= gpus

    def meets(self, other: Spot) -> Spot | None:
        """Return where jobs of both can share GPUs; ``None``: nowhere."""
        if self.share is not None and other.share is not None:
            return self if self.share == other.share else None
        if self.share is not None:
            return self if self.nodes <= other.nodes else None
        if other.share is not None:
            return other.meets(self)
        common = self.nodes & other.nodes
        return Spot(common) if common else None

    def takes(self, share: Ints) -> bool:
        """Return whether a share is one of a group here."""
        if self.share is not None:
            return bool((share == self.on_nodes(len(share))).all())
        return self.nodes.issuperset(np.flatnonzero(share).tolist())

    def on_nodes(self, nodes: int) -> Ints:
        """Return the share as GPUs per node of so many nodes."""
        share = np.zeros(nodes, dtype=np.int64)
        for node, gpus in self.share or ():
            share[node] = gpus
        return share


Spots = tuple[Spot, ...]
"""Disjoint sets of nodes, and shares that are inside none of them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupSpots:
    """Where jobs may be: job j is of kind ``kind[j]``, and kind k may be at ``spots[k]``.

    A group may be where all its members may. ``whole`` are the GPUs of every node.
    """

    kind: Ints
    spots: tuple[Spots, ...]
    whole: Ints
    known: dict[tuple[frozenset[int], int], Spots] = field(default_factory=dict)

    def among(self, jobs: Sequence[int]) -> GroupSpots:
        """Return the same of some of the jobs, by their places in the list."""
        return replace(self, kind=self.kind[list(jobs)])

    def kinds(self, jobs: Iterable[int]) -> frozenset[int]:
        """Return the kinds of jobs of a group."""
        return frozenset(int(self.kind[job]) for job in jobs)

    def of(self, kinds: frozenset[int], gpus: int) -> Spots:
        """Return where a group of members of these kinds may be with so many GPUs, if nothing else ran."""
        key = kinds, gpus
        if key not in self.known:
            found = reduce(_met, (self.spots[kind] for kind in sorted(kinds)))
            self.known[key] = tuple(spot for spot in found if spot.holds(gpus, self.whole))
        return self.known[key]

    @property
    def parts(self) -> Ints:
        """The part of the cluster of each kind: kinds of different parts have no node in common, however often."""
        found: list[tuple[set[int], list[int]]] = []
        for kind, spots in enumerate(self.spots):
            nodes, kinds = {node for spot in spots for node in spot.nodes}, [kind]
            for other in [other for other in found if not other[0].isdisjoint(nodes)]:
                found.remove(other)
                nodes |= other[0]
                kinds += other[1]
            found.append((nodes, kinds))
        parts = np.zeros(len(self.spots), dtype=np.int64)
        for number, (_, kinds) in enumerate(found):
            parts[kinds] = number
        return parts

    def fit(self, left: Leftover, gpus: int, *jobs: int) -> Ints | None:
        """Return GPUs per node for a group or ``None``: where it runs if it may only stay there."""
        spots, room = self.of(self.kinds(jobs), gpus), left.room(*jobs)
        for spot in spots:
            share = spot.on_nodes(len(room))
            if spot.share is not None and (share <= room).all():
                return share
        sets = tuple(_sorted(spot.nodes) for spot in spots if spot.share is None)
        return fit_in_sets(room, gpus, Demand(sets=sets, least=1, most=None, even=False))

    def may_use(self, share: Ints) -> NDArray[np.bool_]:
        """Return which kinds of jobs may have exactly this share."""
        given = tuple((node, int(share[node])) for node in np.flatnonzero(share).tolist())
        here = Spot(frozenset(node for node, _ in given), given)
        return np.array([any(here.meets(spot) for spot in spots) for spots in self.spots], dtype=np.bool_)


def group_spots(round_: Round) -> GroupSpots | None:
    """Return where the jobs of a round may share GPUs; ``None`` where all may be anywhere."""
    return None if node_sets(round_) is None else _group_spots(round_)


@recalled
def _group_spots(round_: Round) -> GroupSpots:
    sets = node_sets(round_)
    known: dict[Spots, int] = {}
    kind = []
    for job in range(len(round_.jobs)):
        spots = [] if sets is None else [Spot(frozenset(nodes.tolist())) for nodes in sets.of(job).sets]
        held = held_gpus(round_, job)
        if held is not None and held.sum() == round_.amounts.g[job]:
            share = tuple((node, int(held[node])) for node in np.flatnonzero(held).tolist())
            home = Spot(frozenset(node for node, _ in share), share)
            spots += [] if any(home.nodes <= spot.nodes for spot in spots) else [home]
        kind.append(known.setdefault(tuple(spots), len(known)))
    return GroupSpots(kind=np.array(kind, dtype=np.int64), spots=tuple(known), whole=round_.amounts.G)


def _met(one: Spots, other: Spots) -> Spots:
    found = (here.meets(there) for here in one for there in other)
    return tuple(spot for spot in found if spot is not None)


def _sorted(nodes: frozenset[int]) -> Ints:
    return np.array(sorted(nodes), dtype=np.int64)
