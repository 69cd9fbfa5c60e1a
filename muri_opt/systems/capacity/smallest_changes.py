"""The smallest changes that would start a waiting gang: a larger quota, jobs to stop, a node to add."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np
from msgspec.structs import replace

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.decision import Change
from muri_opt.rounds.eligibility import Bools
from muri_opt.systems.capacity.binding_in_sets import Binding
from muri_opt.systems.capacity.changes_in_sets import ChangesInSets, needed_groups
from muri_opt.systems.capacity.free_capacity import Leftover
from muri_opt.systems.capacity.gang_fit import empty_room, fewest_nodes
from muri_opt.systems.capacity.holders import Holders
from muri_opt.systems.capacity.kind_rooms import KindRooms
from muri_opt.systems.capacity.node_fit import nodes_needed
from muri_opt.systems.capacity.node_sets import Demand
from muri_opt.systems.capacity.released import demand_of
from muri_opt.systems.capacity.staying import pinned_jobs

MOST_SEARCHES: Final = 100
"""Different demands for which jobs to stop are looked for; those that come later are told what to add."""
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
        self._in_sets = ChangesInSets(round_, left, holders, self._may_stop, consolidate=consolidate)
        self._rooms = KindRooms(round_, left)
        self._gains: dict[tuple[int, int], Ints] = {}
        """GPUs that each group alone would make room for, by what a gang needs with one."""
        self._demands: list[Demand] = []
        self._moved: dict[int, list[int]] = {}

    def of(self, job: int, binding: Binding) -> tuple[Change, ...]:
        """Return one change of each kind that there is, those without a further node first."""
        one, amounts = self._round.jobs[job], self._round.amounts
        later = (one.not_before or 0.0) > self._round.now
        if one.held is not None or (later and "node.available_until" in self._round.used_fields):
            return ()  # only somebody can release it; and later it may not start where it may start now
        quota = binding.quota or None
        if quota and amounts.borrowing is not None:
            return ()  # with a larger quota there is less to borrow: who would have to give way is not looked for
        if binding.room:
            ways = [Change(raise_quota=quota) if quota else Change(wait_seconds=0.0)]
        elif self._left.sets is None:
            ways = self._anywhere(job, quota)
        else:
            ways = self._where_it_may(job, quota)
        if later:
            ways = [replace(way, wait_seconds=(one.not_before or 0.0) - self._round.now) for way in ways]
        return tuple(ways)

    def _anywhere(self, job: int, quota: int | None) -> list[Change]:
        ways = []
        victims = self._to_stop(job)
        if victims:
            ways.append(self._stopping(job, victims))
        gpus = self._to_add(job)
        return [*ways, Change(add_gpus=gpus, raise_quota=quota, gpus=gpus)]

    def _where_it_may(self, job: int, quota: int | None) -> list[Change]:
        """Return changes for a job that may not start just anywhere; none where quotas by GPU type bind, too."""
        demand, ways = demand_of(self._round, job), list[Change]()
        if self._left.types is not None or not demand.sets:
            return ways
        victims = self._searched_in_sets(job, demand)
        if victims:
            ways.append(self._stopping(job, victims))
        added = self._in_sets.to_add(job, demand)
        if added is not None:
            gpus, place = added
            nodes = self._round.cluster.nodes
            anywhere = len(demand.sets) == 1 and len(demand.sets[0]) == len(nodes)
            like = None if anywhere else nodes[place].id
            ways.append(Change(add_gpus=gpus, like=like, raise_quota=quota, gpus=gpus))
        return ways

    def _stopping(self, job: int, victims: tuple[int, ...]) -> Change:
        """Return the change that stops these groups; what they free of the tenants' quotas need not be raised."""
        holders, amounts = self._holders, self._round.amounts
        gpus = int(holders.size[list(victims)].sum())
        names = tuple(name for victim in victims for name in holders.names[victim])
        over = 0
        for tenant in self._left.line(job):
            freed = sum(int(holders.size[one]) for one in victims if tenant in amounts.line(int(holders.tenant[one])))
            over = max(over, int(self._left.asks[job]) - int(self._left.quota[tenant]) - freed)
        return Change(preempt=names, raise_quota=over or None, gpus=gpus)

    def _to_add(self, job: int) -> int:
        """Return the GPUs of the smallest further node that lets the job start; it has CPUs and memory without limit.

        With a further node a gang might need fewer nodes, and then must sit on fewer. So sizes are tried one by one,
        and the whole gang fits on a node of its size; where gangs that run would have to move there too, it is large
        enough for all of them.
        """
        asks, kind = int(self._left.asks[job]), self._rooms.of(job)
        if not self._consolidate:
            return asks - kind.free
        room, empty = kind.now, kind.empty
        for gpus in range(1, min(asks, MOST_NODES)):
            limit = min(nodes_needed(np.append(empty, gpus), asks), len(room) + 1)
            if nodes_needed(np.append(room, gpus), asks) <= limit and not self._moved_by(gpus):
                return gpus
        return asks + sum(self._moved_by(asks))

    def _moved_by(self, gpus: int) -> list[int]:
        """Return the sizes of gangs on several nodes if a further node would make one of them move, else nothing."""
        if gpus not in self._moved:
            self._moved[gpus] = self._found_moved_by(gpus)
        return self._moved[gpus]

    def _found_moved_by(self, gpus: int) -> list[int]:
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
        demand = int(self._left.asks[job]), int(amounts.c[job]), int(amounts.m[job]), -1
        if demand not in self._searched:
            search = len(self._searched) < MOST_SEARCHES
            self._searched[demand] = self._smallest_set(job) if search else None
        return self._searched[demand]

    def _searched_in_sets(self, job: int, demand: Demand) -> tuple[int, ...] | None:
        """Return the same for a job that may not start just anywhere."""
        amounts = self._round.amounts
        key = int(self._left.asks[job]), int(amounts.c[job]), int(amounts.m[job]), id(demand)
        if key not in self._searched:
            self._demands.append(demand)  # it must not go, or its id would be another's
            search = len(self._searched) < MOST_SEARCHES
            self._searched[key] = self._in_sets.to_stop(job, demand) if search else None
        return self._searched[key]

    def _smallest_set(self, job: int) -> tuple[int, ...] | None:
        asks, kind = int(self._left.asks[job]), self._rooms.of(job)
        if kind.nodes_needed_empty(asks) > len(kind.empty):
            return None
        found = [self._on(job, nodes) for nodes in self._targets(job, kind.empty)]
        sets = [victims for victims in found if victims is not None]
        if len(sets) < 2:
            return sets[0] if sets else None
        return min(sets, key=lambda victims: (int(self._holders.size[list(victims)].sum()), victims), default=None)

    def _targets(self, job: int, empty: Ints) -> list[Ints]:
        """Return the nodes on which room is made: all, or for a gang on few nodes the likely ones, one set each."""
        if not self._consolidate:
            return [np.arange(len(empty))]
        limit, asks, room = fewest_nodes(self._round, job), int(self._left.asks[job]), self._rooms.of(job).now
        if limit == 1:
            whole = np.flatnonzero(empty >= asks)
            return [np.array([s]) for s in whole[np.argsort(-room[whole], kind="stable")][:MOST_NODES].tolist()]
        return [np.lexsort((-room, -empty))[:limit]]

    def _on(self, job: int, nodes: Ints) -> tuple[int, ...] | None:
        """Return groups to stop so that the job fits on the nodes: one if that is enough, else the most useful ones."""
        holders, here, kind = self._holders, self._stoppable(nodes), self._rooms.of(job)
        lacks = int(self._left.asks[job]) - (int(kind.now[nodes].sum()) if self._consolidate else kind.free)
        gain = self._gain(job, here)
        enough = np.flatnonzero(gain >= lacks)
        if len(enough):
            return (int(enough[np.argmin(holders.size[enough])]),)
        order = np.lexsort((holders.size, -gain))
        there = np.zeros(len(holders.names), dtype=np.bool_)
        there[holders.group[here]] = True
        return needed_groups(order[there[order]], holders, partial(self._fits_without, job, nodes))

    def _stoppable(self, nodes: Ints) -> Bools:
        """Return which entries are of groups on these nodes that may be stopped."""
        if not self._consolidate:  # then nodes are all nodes
            return self._may_stop
        return self._holders.on(nodes) & self._may_stop

    def _gain(self, job: int, here: Bools) -> Ints:
        """Return how many GPUs of a job more would fit on the nodes of these entries without each of the groups."""
        amounts, holders = self._round.amounts, self._holders
        kind = int(amounts.c[job]), int(amounts.m[job])
        if kind in self._gains:
            return self._gains[kind]
        gain, entry = np.zeros(len(holders.names), dtype=np.int64), holders.node[here]
        more = self._room(job, entry, holders.gpus[here], holders.cpus[here], holders.memory[here])
        np.add.at(gain, holders.group[here], more - self._rooms.of(job).now[entry])
        if not self._consolidate:  # then nodes are all nodes, for every job
            self._gains[kind] = gain
        return gain

    def _fits_without(self, job: int, nodes: Ints, groups: Sequence[int]) -> bool:
        """Return whether the job fits on the nodes once the groups are gone."""
        freed = self._holders.freed(groups, len(self._left.gpus))
        return int(self._room(job, nodes, *(amount[nodes] for amount in freed)).sum()) >= int(self._left.asks[job])

    def _room(self, job: int, nodes: Ints, gpus: Ints, cpus: Ints, memory: Ints) -> Ints:
        """Return the GPUs that the job could use on the nodes with so much more of each free."""
        left = self._left
        return self._round.amounts.most_gpus(
            [job], left.gpus[nodes] + gpus, left.cpus[nodes] + cpus, left.memory[nodes] + memory
        )
