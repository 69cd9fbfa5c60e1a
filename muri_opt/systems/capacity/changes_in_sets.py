"""Jobs to stop, or a node to add, for a gang that may not start just anywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.holders import Holders
from muri_opt.systems.capacity.node_sets import Demand
from muri_opt.systems.capacity.shaped_fit import fit_in_sets, shaped_fit

MOST_VICTIMS: Final = 32
"""Jobs that one change stops at most."""
MOST_PARTS: Final = 16
"""Parts of the cluster in which room is looked for, and sizes of a node that are tried for a shape."""
MOST_SINGLE: Final = 64
"""Jobs of which each is tried alone, the smallest first."""


class ChangesInSets:
    """Changes beside what runs; ``may_stop`` says of each entry of the holders whether its group may be stopped."""

    def __init__(
        self, round_: Round, left: Leftover, holders: Holders, may_stop: NDArray[np.bool_], *, consolidate: bool
    ) -> None:
        self._round, self._left, self._holders = round_, left, holders
        self._may_stop, self._consolidate = may_stop, consolidate

    def to_stop(self, job: int, demand: Demand) -> tuple[int, ...] | None:
        """Return groups that together leave the job enough room, none needlessly; ``None`` if none are found.

        In each of the parts where it lacks the least, one group is enough if any is; of all that is found the fewest
        GPUs are chosen.
        """
        amounts, asks, room = self._round.amounts, int(self._left.asks[job]), self._left.room(job)
        empty = amounts.most_gpus([job], amounts.G, amounts.C, amounts.M)
        fewest = fit_in_sets(empty, asks, demand)
        if fewest is None:
            return None
        most = _least_of(demand.most, int(np.count_nonzero(fewest)) if self._consolidate else None)
        able = [nodes for nodes in demand.sets if _fits(empty[nodes], asks, demand, most)]
        able.sort(key=lambda nodes: -int(room[nodes].sum()))
        found = [self._in_part(job, nodes, demand, most) for nodes in able[:MOST_PARTS]]
        sizes = self._holders.size
        sets = [victims for victims in found if victims is not None]
        return min(sets, key=lambda victims: (int(sizes[list(victims)].sum()), victims), default=None)

    def to_add(self, job: int, demand: Demand) -> tuple[int, int] | None:
        """Return the GPUs of the smallest further node that lets the job start, and a node of the part it is in.

        ``None`` where one node is not enough, and where a gang must be on as few nodes as it could: with a further one
        it, or others, might have to be elsewhere.
        """
        if self._consolidate:
            return None
        return further_node(self._left.room(job), int(self._left.asks[job]), demand)

    def _in_part(self, job: int, nodes: Ints, demand: Demand, most: int | None) -> tuple[int, ...] | None:
        """Return groups to stop so that the job fits on the nodes: one if that is enough, else the most useful ones."""
        holders = self._holders
        here = holders.on(nodes) & self._may_stop
        groups = np.unique(holders.group[here])
        alone = groups[np.argsort(holders.size[groups], kind="stable")][:MOST_SINGLE].tolist()
        for group in alone:
            if self._fits_without(job, nodes, demand, most, [group]):
                return (group,)
        held = np.bincount(holders.group[here], weights=holders.gpus[here], minlength=len(holders.names))
        useful = groups[np.lexsort((holders.size[groups], -held[groups]))]
        return needed_groups(useful, holders, partial(self._fits_without, job, nodes, demand, most))

    def _fits_without(self, job: int, nodes: Ints, demand: Demand, most: int | None, groups: Sequence[int]) -> bool:
        """Return whether the job fits on the nodes once the groups are gone."""
        left = self._left
        gpus, cpus, memory = (amount[nodes] for amount in self._holders.freed(groups, len(left.gpus)))
        room = self._round.amounts.most_gpus(
            [job], left.gpus[nodes] + gpus, left.cpus[nodes] + cpus, left.memory[nodes] + memory
        )
        return _fits(room, int(left.asks[job]), demand, most)


def needed_groups(
    useful: Ints, holders: Holders, fits_without: Callable[[Sequence[int]], bool]
) -> tuple[int, ...] | None:
    """Return groups to stop, none needlessly: the first, most ``useful`` ones until a gang fits without them.

    Then those go on that need not be stopped, the largest first. ``None`` where the first of them are not enough.
    """
    chosen: list[int] = []
    for group in useful[:MOST_VICTIMS].tolist():
        chosen.append(group)
        if fits_without(chosen):
            break
    else:
        return None
    for group in sorted(chosen, key=lambda group: -int(holders.size[group])):
        rest = [other for other in chosen if other != group]
        if fits_without(rest):
            chosen = rest
    return tuple(sorted(chosen))


def further_node(room: Ints, asks: int, demand: Demand) -> tuple[int, int] | None:
    """Return the GPUs of the smallest further node that lets a gang start beside ``room``, and a node of its part.

    ``None`` where one node is not enough. Of a gang that asks for a shape a few sizes are tried.
    """
    found = [(gpus, int(nodes[0])) for nodes in demand.sets if (gpus := _added(room[nodes], asks, demand)) is not None]
    return min(found, default=None)


def _added(room: Ints, asks: int, demand: Demand) -> int | None:
    if not demand.shaped:
        return asks - int(room.sum())
    sizes = (*range(1, min(asks, MOST_PARTS + 1)), asks)
    return next((gpus for gpus in sizes if _fits(np.append(room, gpus), asks, demand, demand.most)), None)


def _fits(room: Ints, asks: int, demand: Demand, most: int | None) -> bool:
    return int(room.sum()) >= asks and shaped_fit(room, asks, demand.least, most, even=demand.even) is not None


def _least_of(*limits: int | None) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)
