"""Where groups may run in rounds whose jobs ask for certain nodes: what all members may use, or hold together now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.memoise import recalled
from muri_opt.systems.capacity import Leftover, held_gpus
from muri_opt.systems.capacity.node_sets import Demand, node_sets
from muri_opt.systems.capacity.shaped_fit import fit_in_sets

Share = tuple[tuple[int, int], ...]
"""GPUs of nodes, in their order."""


class Location(NamedTuple):
    """Nodes on which all GPUs of a group may be, spread in any way.

    ``share`` are GPUs per node of jobs that may only go on exactly there: what runs may stay where it is, whatever is
    asked of a start.
    """

    nodes: frozenset[int]
    share: Share | None = None

    def holds(self, gpus: int, whole: Sequence[int]) -> bool:
        """Return whether a group of so many GPUs can be here, where nodes have ``whole``."""
        if self.share is not None:
            return sum(given for _, given in self.share) == gpus
        return sum(map(whole.__getitem__, self.nodes)) >= gpus

    def is_of(self, other: Location) -> bool:
        """Return whether the share of this location is one of the other, too."""
        return self.nodes <= other.nodes if other.share is None else self.share == other.share

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


Locations = tuple[Location, ...]
"""Disjoint sets of nodes, and shares that are inside none of them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupLocations:
    """Where jobs may be: job j is of kind ``kind[j]``, and kind k may be at ``locations[k]``.

    A group may be where all its members may. ``whole`` are the GPUs of every node.
    """

    kind: Ints
    locations: tuple[Locations, ...]
    whole: tuple[int, ...]
    known: dict[tuple[frozenset[int], int], Locations] = field(default_factory=dict)
    asked: dict[tuple[frozenset[int], int], tuple[list[Ints], Demand]] = field(default_factory=dict)

    def among(self, jobs: Sequence[int]) -> GroupLocations:
        """Return the same of some of the jobs, by their places in the list."""
        return replace(self, kind=self.kind[list(jobs)])

    def kinds(self, jobs: Iterable[int]) -> frozenset[int]:
        """Return the kinds of jobs of a group."""
        return frozenset(int(self.kind[job]) for job in jobs)

    def of(self, kinds: frozenset[int], gpus: int) -> Locations:
        """Return where a group of members of these kinds may be with so many GPUs, if nothing else ran."""
        key = kinds, gpus
        if key not in self.known:
            found = reduce(_met, (self.locations[kind] for kind in sorted(kinds)))
            able = (location for location in found if location.holds(gpus, self.whole))
            self.known[key] = tuple(sorted(able, key=lambda location: min(location.nodes)))
        return self.known[key]

    def pairs(self, groups: Sequence[frozenset[int]], gpus: int) -> NDArray[np.bool_]:
        """Return which two groups of members of these kinds may be somewhere together with so many GPUs.

        Those that may use a node which has as many surely may, and those with fewer GPUs in common may not.
        """
        free = np.zeros((len(groups), len(self.whole)), dtype=np.bool_)
        reach = np.zeros_like(free)
        for place, kinds in enumerate(groups):
            for location in self.of(kinds, gpus):
                reach[place, list(location.nodes)] = True
                free[place, list(location.nodes)] |= location.share is None
        whole = np.array(self.whole, dtype=np.int64)
        large = (free & (whole >= gpus)).astype(np.int64)
        may: NDArray[np.bool_] = large @ large.T > 0
        unsure = ~may & ((reach * whole) @ reach.T.astype(np.int64) >= gpus)
        for one, other in np.argwhere(np.triu(unsure)).tolist():
            may[one, other] = may[other, one] = bool(self.of(groups[one] | groups[other], gpus))
        return may

    @property
    def parts(self) -> Ints:
        """The part of the cluster of each kind: kinds of different parts have no node in common, however often."""
        reach = [frozenset(node for location in locations for node in location.nodes) for locations in self.locations]
        found = connected(reach)
        inside = ((part for part, nodes in enumerate(found) if mine <= nodes) for mine in reach)
        return np.array([next(parts, 0) for parts in inside], dtype=np.int64)

    def fit(self, left: Leftover, gpus: int, *jobs: int) -> Ints | None:
        """Return GPUs per node for a group or ``None``: where it runs if it may only stay there."""
        key, room = (self.kinds(jobs), gpus), left.room(*jobs)
        if key not in self.asked:
            locations = self.of(*key)
            stays = [location.on_nodes(len(room)) for location in locations if location.share is not None]
            sets = tuple(_sorted(location.nodes) for location in locations if location.share is None)
            self.asked[key] = stays, Demand(sets=sets, least=1, most=None, even=False)
        stays, demand = self.asked[key]
        share = next((share for share in stays if (share <= room).all()), None)
        return fit_in_sets(room, gpus, demand) if share is None else share

    def may_use(self, share: Ints) -> NDArray[np.bool_]:
        """Return which kinds of jobs may have exactly this share."""
        nodes = np.flatnonzero(share)
        inside, owner, staying = self._sets
        may = np.zeros(len(self.locations), dtype=np.bool_)
        may[owner[inside[:, nodes].all(axis=1)]] = True
        may[staying.get(tuple(zip(nodes.tolist(), share[nodes].tolist(), strict=True)), [])] = True
        return may

    @cached_property
    def _sets(self) -> tuple[NDArray[np.bool_], Ints, Mapping[Share, list[int]]]:
        """The nodes of each set, in rows, with the kind that it is of; and the kinds that may stay on each share."""
        sets, staying = list[tuple[int, Location]](), dict[Share, list[int]]()
        for kind, locations in enumerate(self.locations):
            for location in locations:
                if location.share is None:
                    sets.append((kind, location))
                else:
                    staying.setdefault(location.share, []).append(kind)
        inside = np.zeros((len(sets), len(self.whole)), dtype=np.bool_)
        for row, (_, location) in zip(inside, sets, strict=True):
            row[list(location.nodes)] = True
        return inside, np.array([kind for kind, _ in sets], dtype=np.int64), staying


def group_locations(round_: Round) -> GroupLocations | None:
    """Return where the jobs of a round may share GPUs; ``None`` where all may be anywhere."""
    return None if node_sets(round_) is None else _group_locations(round_)


@recalled
def _group_locations(round_: Round) -> GroupLocations:
    sets = node_sets(round_)
    known: dict[Locations, int] = {}
    kind = []
    for job in range(len(round_.jobs)):
        locations = [] if sets is None else [Location(frozenset(nodes.tolist())) for nodes in sets.of(job).sets]
        held = held_gpus(round_, job)
        if held is not None:  # more than it asks for where it shares with a larger job
            share = tuple((node, int(held[node])) for node in np.flatnonzero(held).tolist())
            stays = Location(frozenset(node for node, _ in share), share)
            locations += [] if any(stays.nodes <= location.nodes for location in locations) else [stays]
        kind.append(known.setdefault(tuple(locations), len(known)))
    whole = tuple(round_.amounts.G.tolist())
    return GroupLocations(kind=np.array(kind, dtype=np.int64), locations=tuple(known), whole=whole)


def connected(sets: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """Return the unions of sets that have elements in common, in one step or in several."""
    found: list[frozenset[int]] = []
    for some in sets:
        touched = [other for other in found if not other.isdisjoint(some)]
        found = [other for other in found if other.isdisjoint(some)]
        found += [some.union(*touched)] if some else []
    return found


def _met(one: Locations, other: Locations) -> Locations:
    """Return where jobs of two kinds can share GPUs: nodes that both may use, and where either is and both may be."""
    owner = {node: place for place, location in enumerate(one) if location.share is None for node in location.nodes}
    common: dict[tuple[int, int], list[int]] = {}
    for place, location in enumerate(other):
        for node in location.nodes if location.share is None else ():
            if node in owner:
                common.setdefault((owner[node], place), []).append(node)
    stay = [location for location in one if location.share is not None and any(map(location.is_of, other))]
    more = [location for location in other if location.share is not None and any(map(location.is_of, one))]
    return (*(Location(frozenset(nodes)) for nodes in common.values()), *dict.fromkeys(stay + more))


def _sorted(nodes: frozenset[int]) -> Ints:
    return np.array(sorted(nodes), dtype=np.int64)
