"""Where groups may start: sets of nodes, as bits, in rounds whose jobs ask for certain nodes, types or units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import chain
from operator import or_

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.node_bits import EVERY_NODE, Bits, bits_of_each, rows_of_bits, words_of
from muri_opt.systems.capacity.node_sets import node_sets

Region = Bits
"""Nodes as bits; all GPUs of a group are on nodes of one region, spread in any way."""
_MOST_IN_LINE = 2048
"""Kinds of jobs up to which it is looked for which stand well beside each other."""
_SEVERAL = ""
"""Instead of a level, for regions inside units of several levels."""
_ROWS = 512
"""Kinds that are compared with all others at once."""
_LESS = 0.001
"""How much less two jobs suit each other that may share somewhere, but each start somewhere else, too."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Regions:
    """Regions of jobs: job j is of kind ``kind[j]``, and kind k may start in ``of_kind[k]``, which do not overlap.

    ``inside[k]`` says which nodes are in one of them, ``reach[k]`` how many GPUs these have. ``levels[k]`` is the level
    inside one unit of which those of kind k have to be, if any. ``types`` has the nodes of each GPU type. Groups that
    go on as they are may do so wherever they are.
    """

    kind: Ints
    of_kind: tuple[tuple[Region, ...], ...]
    inside: NDArray[np.bool_]
    reach: list[int]
    levels: tuple[str | None, ...]
    types: dict[str | None, Region]
    known: dict[frozenset[int], tuple[Region, ...]] = field(default_factory=dict)
    """What groups of several kinds have in common, as far as it was asked."""
    of_node: dict[int, dict[int, int]] = field(default_factory=dict)
    """By kinds that were asked for, which of its regions each node is in."""

    @classmethod
    def of(cls, round_: Round) -> Regions:
        """Return the regions of the jobs of a round; where no job asks for anything there is one, everywhere."""
        return _regions(round_)

    @cached_property
    def kinds(self) -> list[int]:
        """The kind of each job, to be read one at a time."""
        kinds: list[int] = self.kind.tolist()
        return kinds

    @cached_property
    def unions(self) -> list[Region]:
        """The nodes of all regions of each kind of jobs."""
        return [reduce(or_, regions, 0) for regions in self.of_kind]

    @cached_property
    def are_asked(self) -> bool:
        """Whether some jobs may not start just anywhere."""
        return self.of_kind != ((EVERY_NODE,),)

    def of_group(self, group: Sequence[int]) -> tuple[Region, ...]:
        """Return where all jobs of a group may start."""
        if len(group) == 1 or not self.are_asked:
            return self.of_kind[self.kinds[group[0]]]
        kinds = frozenset([self.kinds[job] for job in group])
        if len(kinds) == 1:
            return self.of_kind[self.kinds[group[0]]]
        if kinds not in self.known:
            first, *others = sorted(kinds)
            found, level = self.of_kind[first], self.levels[first]
            for other in others:
                if self.levels[other] in (None, level):  # none of the regions reaches into two of the other's
                    where = self.unions[other]
                    found = tuple([one & where for one in found if one & where])
                else:
                    found = self._common(found, other)
                    level = self.levels[other] if level is None else _SEVERAL
            self.known[kinds] = found
        return self.known[kinds]

    def _common(self, some: tuple[Region, ...], kind: int) -> tuple[Region, ...]:
        """Return what regions, which do not overlap, have in common with those of a kind."""
        own = self.of_kind[kind]
        if len(own) == 1:
            return tuple([one & own[0] for one in some if one & own[0]])
        found, place_of = list[Region](), self._of_nodes(kind)
        for one in some:
            rest, overlaps = one & self.unions[kind], list[int]()
            while rest:  # to compare each with each takes far longer
                place = place_of[(rest & -rest).bit_length() - 1]
                overlaps.append(place)
                rest &= ~own[place]
            found += [one & own[place] for place in sorted(overlaps)]
        return tuple(found)

    def _of_nodes(self, kind: int) -> dict[int, int]:
        """Return which region of a kind each node is in, by its place among them."""
        if kind not in self.of_node:
            found = self.of_node[kind] = {}
            for place, rest in enumerate(self.of_kind[kind]):
                while rest:
                    low = rest & -rest
                    found[low.bit_length() - 1] = place
                    rest ^= low
        return self.of_node[kind]

    def of_plan(self, job: int, types: tuple[str, ...] | None) -> tuple[Region, ...]:
        """Return where a job may start by a plan for these GPU types, ``None`` for any."""
        return self.of_types(self.kinds[job], types)

    def of_types(self, kind: int, types: tuple[str, ...] | None) -> tuple[Region, ...]:
        """Return the same of jobs of a kind."""
        own = self.of_kind[kind]
        if types is None:
            return own
        mine = reduce(or_, (self.types.get(one, 0) for one in types), 0)
        return tuple(region & mine for region in own if region & mine)

    def nodes_of_each(self, regions: Sequence[Region]) -> NDArray[np.bool_]:
        """Return ``[r, s]``, whether node s is in the r-th of some regions."""
        return rows_of_bits(regions, self.inside.shape[1])

    @cached_property
    def together(self) -> NDArray[np.bool_]:
        """Which kinds of jobs have a region in common: those that have a node in common."""
        return _share_bits(words_of(self.inside), words_of(self.inside))

    @cached_property
    def nested(self) -> NDArray[np.bool_]:
        """Of which two kinds of jobs one may start wherever the other may, and the other somewhere."""
        words = words_of(self.inside)
        beyond = _share_bits(words, ~words)  # [j, k]: j may start where k may not
        return np.asarray(~(beyond & beyond.T) & self.together)

    @cached_property
    def line(self) -> Ints:
        """The kinds of jobs in a line: the one with fewest nodes, and after each one that it can best share with.

        That is one of which one may start wherever the other may, of these one with about as many nodes. Of very many
        kinds each stands where its first job does.
        """
        kinds = len(self.inside)
        if kinds == 1 or kinds > _MOST_IN_LINE:
            return np.arange(kinds)
        size = self.inside.sum(axis=1).astype(np.float32)
        alike = np.minimum(size, size[:, None]) / np.maximum(1.0, np.maximum(size, size[:, None]))
        suits = alike * (self.nested + np.float32(_LESS) * self.together)
        found, left = np.zeros(kinds, dtype=np.int64), np.zeros(kinds, dtype=np.float32)
        for at in range(kinds):
            found[at] = (suits[found[at - 1]] + left).argmax() if at else size.argmin()
            left[found[at]] = -np.inf
        return found


def _share_bits(some: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return ``[j, k]``, whether the j-th of some words and the k-th of others have a bit in common, of any word."""
    found = np.zeros((some.shape[1], others.shape[1]), dtype=np.bool_)
    for word, other in zip(some, others, strict=True):
        for start in range(0, len(word), _ROWS):
            rows = slice(start, start + _ROWS)
            found[rows] |= (word[rows, None] & other) != 0
    return found


@recalled
def _regions(round_: Round) -> Regions:
    types: dict[str | None, Region] = {}
    for place, node in enumerate(round_.cluster.nodes):
        types[node.gpu_type] = types.get(node.gpu_type, 0) | 1 << place
    sets = node_sets(round_)
    if sets is None:
        everywhere = np.ones((1, len(round_.cluster.nodes)), dtype=np.bool_)
        kind = np.zeros(len(round_.jobs), dtype=np.int64)
        reach = [round_.cluster.total_gpus]
        return Regions(kind=kind, of_kind=((EVERY_NODE,),), inside=everywhere, reach=reach, levels=(None,), types=types)
    every = [*chain.from_iterable([demand.sets for demand in sets.demands])]
    each = dict(zip(map(id, every), every, strict=True))
    inside = np.zeros((len(each), len(round_.cluster.nodes)), dtype=np.bool_)
    if every:
        inside[np.repeat(np.arange(len(each)), [*map(len, each.values())]), np.concatenate([*each.values()])] = True
    known = dict(zip(each, bits_of_each(inside), strict=True))
    of_kind = tuple([tuple([known[id(nodes)] for nodes in demand.sets]) for demand in sets.demands])
    reach = (sets.inside @ round_.amounts.G).tolist()
    return Regions(kind=sets.kind, of_kind=of_kind, inside=sets.inside, reach=reach, levels=sets.levels, types=types)
