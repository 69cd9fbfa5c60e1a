"""The smallest changes that would start a waiting gang: a larger quota, jobs to stop, a node to add."""

from __future__ import annotations

from typing import Final

import numpy as np
from msgspec.structs import replace

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.rounds.decision import Change
from muri_opt.systems.capacity.binding_in_sets import Binding
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.gang_fit import empty_room, fewest_nodes
from muri_opt.systems.capacity.holders import Holders
from muri_opt.systems.capacity.node_fit import nodes_needed
from muri_opt.systems.capacity.staying import pinned_jobs

MOST_SEARCHES: Final = 100
"""Different demands for which jobs to stop are looked for; those that come later are told what to add."""
MOST_VICTIMS: Final = 32
"""Jobs that one change stops at most."""
MOST_NODES: Final = 16
"""Nodes on which room is looked for, if the gang must sit on few nodes, and sizes of a node that are tried."""


class GangChanges:
    """What would start the jobs that wait beside what runs; jobs of equal demand are looked at once.

    A change is right if after the decision, with the change made and no other job waiting, the policy starts the job.
    """

    def __init__(self, round_: Round, left: Leftover, holders: Holders, *, consolidate: bool, preempt: bool) -> None:
        self._round, self._left, self._holders, self._consolidate = round_, left, holders, consolidate
        self._preempt = preempt
        self._searched: dict[tuple[int, ...], tuple[int, ...] | None] = {}
        pinned = {round_.jobs[job].id for job in pinned_jobs(round_)}
        free = [pinned.isdisjoint(names) for names in holders.names]
        self._may_stop = np.array(free, dtype=np.bool_)[holders.group]

    def of(self, job: int, binding: Binding) -> tuple[Change, ...]:
        """Return one change of each kind that there is, those without a further node first."""
        one = self._round.jobs[job]
        if one.held is not None or (one.not_before or 0.0) > self._round.now:
            return ()
        quota = binding.quota or None
        amounts = self._round.amounts
        if quota and (amounts.lines is not None or amounts.borrowing is not None):
            return ()  # whose quota is to be raised, of those above or beside one another, is not for us to say
        if binding.room:
            return (Change(raise_quota=quota) if quota else Change(wait_seconds=0.0),)
        sets = self._left.sets
        if sets is not None and (self._consolidate or self._left.types is not None or not sets.of(job).simple):
            return ()  # which nodes to free or to add is not looked for
        ways = []
        victims = self._to_stop(job)
        if victims:
            ways.append(self._stopping(job, victims))
        gpus = self._to_add(job)
        ways.append(Change(add_gpus=gpus, raise_quota=quota, gpus=gpus))
        return tuple(ways)

    def _stopping(self, job: int, victims: tuple[int, ...]) -> Change:
        """Return the change that stops these groups; what they free of the tenant's quota need not be raised."""
        holders, tenant = self._holders, int(self._round.amounts.tenant[job])
        gpus = int(holders.size[list(victims)].sum())
        names = tuple(name for victim in victims for name in holders.names[victim])
        change = Change(preempt=names, gpus=gpus)
        if tenant < 0 or self._round.amounts.U[tenant] == UNLIMITED:
            return change
        freed = sum(int(holders.size[victim]) for victim in victims if holders.tenant[victim] == tenant)
        over = int(self._left.asks[job]) - int(self._left.quota[tenant]) - freed
        return replace(change, raise_quota=over) if over > 0 else change

    def _to_add(self, job: int) -> int:
        """Return the GPUs of the smallest further node that lets the job start; it has CPUs and memory without limit.

        With a further node a gang might need fewer nodes, and then must sit on fewer. So sizes are tried one by one,
        and the whole gang fits on a node of its size; where gangs that run would have to move there too, it is large
        enough for all of them.
        """
        asks, room = int(self._left.asks[job]), self._left.start_room(job)
        if not self._consolidate:
            return asks - int(room.sum())
        empty = empty_room(self._round, job)
        for gpus in range(1, min(asks, MOST_NODES)):
            limit = min(nodes_needed(np.append(empty, gpus), asks), len(room) + 1)
            if nodes_needed(np.append(room, gpus), asks) <= limit and not self._moved_by(gpus):
                return gpus
        return asks + sum(self._moved_by(asks))

    def _moved_by(self, gpus: int) -> list[int]:
        """Return the sizes of gangs on several nodes if a further node would make one of them move, else nothing."""
        holders = self._holders
        spread = np.bincount(holders.group, minlength=len(holders.names))
        wide = np.flatnonzero(spread > 1).tolist() if self._preempt else []
        sizes = [int(holders.size[group]) for group in wide]
        for group, size in zip(wide, sizes, strict=True):
            empty = empty_room(self._round, self._round.job_index[holders.names[group][0]])
            if nodes_needed(np.append(empty, gpus), size) < spread[group]:
                return sizes
        return []

    def _to_stop(self, job: int) -> tuple[int, ...] | None:
        """Return groups that together leave the job enough room, none needlessly; ``None`` if none are found."""
        amounts = self._round.amounts
        kind = -1 if self._left.sets is None else int(self._left.sets.kind[job])
        demand = int(self._left.asks[job]), int(amounts.c[job]), int(amounts.m[job]), kind
        if demand not in self._searched:
            search = len(self._searched) < MOST_SEARCHES
            self._searched[demand] = self._smallest_set(job) if search else None
        return self._searched[demand]

    def _smallest_set(self, job: int) -> tuple[int, ...] | None:
        asks, empty = int(self._left.asks[job]), empty_room(self._round, job)
        if nodes_needed(empty, asks) > len(empty):
            return None
        found = [self._on(job, nodes) for nodes in self._targets(job, empty)]
        sets = [victims for victims in found if victims is not None]
        return min(sets, key=lambda victims: (int(self._holders.size[list(victims)].sum()), victims), default=None)

    def _targets(self, job: int, empty: Ints) -> list[Ints]:
        """Return the nodes on which room is made: all, or for a gang on few nodes the likely ones, one set each."""
        if not self._consolidate:
            return [np.arange(len(empty)) if self._left.sets is None else np.flatnonzero(empty)]
        limit, asks, room = fewest_nodes(self._round, job), int(self._left.asks[job]), self._left.room(job)
        if limit == 1:
            whole = np.flatnonzero(empty >= asks)
            return [np.array([s]) for s in whole[np.argsort(-room[whole], kind="stable")][:MOST_NODES].tolist()]
        return [np.lexsort((-room, -empty))[:limit]]

    def _on(self, job: int, nodes: Ints) -> tuple[int, ...] | None:
        """Return groups to stop so that the job fits on the nodes: one if that is enough, else the most useful ones."""
        holders, here = self._holders, np.isin(self._holders.node, nodes) & self._may_stop
        lacks = int(self._left.asks[job]) - int(self._left.room(job)[nodes].sum())
        gain = np.zeros(len(holders.names), dtype=np.int64)
        entry = holders.node[here]
        more = self._room(job, entry, holders.gpus[here], holders.cpus[here], holders.memory[here])
        np.add.at(gain, holders.group[here], more - self._left.room(job)[entry])
        enough = np.flatnonzero(gain >= lacks)
        if len(enough):
            return (int(enough[np.argmin(holders.size[enough])]),)
        order = np.lexsort((holders.size, -gain))
        useful = order[np.isin(order, holders.group[here])][:MOST_VICTIMS].tolist()
        chosen: list[int] = []
        for group in useful:
            chosen.append(group)
            if self._fits_without(job, nodes, chosen):
                break
        else:
            return None
        for group in sorted(chosen, key=lambda group: -int(holders.size[group])):
            rest = [other for other in chosen if other != group]
            if self._fits_without(job, nodes, rest):
                chosen = rest
        return tuple(sorted(chosen))

    def _fits_without(self, job: int, nodes: Ints, groups: list[int]) -> bool:
        """Return whether the job fits on the nodes once the groups are gone."""
        holders, count = self._holders, len(self._left.gpus)
        gone = np.isin(holders.group, groups)
        freed = [
            np.bincount(holders.node[gone], weights=held[gone], minlength=count).astype(np.int64)
            for held in (holders.gpus, holders.cpus, holders.memory)
        ]
        return int(self._room(job, nodes, *(amount[nodes] for amount in freed)).sum()) >= int(self._left.asks[job])

    def _room(self, job: int, nodes: Ints, gpus: Ints, cpus: Ints, memory: Ints) -> Ints:
        """Return the GPUs that the job could use on the nodes with so much more of each free."""
        left = self._left
        return self._round.amounts.most_gpus(
            [job], left.gpus[nodes] + gpus, left.cpus[nodes] + cpus, left.memory[nodes] + memory
        )
