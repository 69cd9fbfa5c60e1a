"""What is free in the cluster while gangs are put down and taken away."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Amounts, Ints
from muri_opt.systems.capacity.jobs_on_nodes import JobsOnNodes
from muri_opt.systems.capacity.node_sets import Demand as NodeDemand
from muri_opt.systems.capacity.shaped_fit import NOWHERE, node_counts, only_where, rooms_in_sets, shaped_fit
from muri_opt.systems.philly.job_status import Held, JobStatus
from muri_opt.systems.philly.locality import TOGETHER
from muri_opt.systems.philly.quota_tree import QuotaTree
from muri_opt.systems.philly.rack_room import NEVER, RackRoom

Demand = tuple[int, int, int, int]
"""GPUs, milli-CPUs and MiB with each of them, and what is asked of nodes: equal demands are helped by equal changes."""


class ClusterState(JobsOnNodes[Held]):
    """The jobs on the nodes of a cluster where some may have theirs to themselves.

    At first all jobs of ``places`` are there: those that run, where they were before the round, unless others are
    named. ``alone[s]`` counts the jobs on node s that share it with nobody. ``runs[j]`` says whether job j is on nodes.
    """

    def __init__(self, round_: Round, status: JobStatus, places: Mapping[int, Held] | None = None) -> None:
        super().__init__(round_.amounts)
        self.status, self.tree = status, QuotaTree.of(round_)
        self._by_rank: dict[int, Ints] = {}
        """The GPUs of each priority that count for a quota, where there are several."""
        self.gpus -= self.amounts.G - status.gpus  # a node that is down has none
        self.alone: Ints = np.zeros(len(self.gpus), dtype=np.int64)
        self.runs = np.zeros(len(self.amounts.g), dtype=np.bool_)
        self._pairs, self._end = np.zeros((3, 0), dtype=np.int64), 0
        self._pairs_of: dict[int, slice] = {}
        running = np.flatnonzero(status.running).tolist()
        self._put_all({job: status.held[job] for job in running} if places is None else places)

    @cached_property
    def demands(self) -> list[Demand]:
        """What each job asks for."""
        amounts, sets = self.amounts, self.status.sets
        kinds = [0] * len(amounts.g) if sets is None else sets.kind.tolist()
        return list(zip(amounts.g.tolist(), amounts.c.tolist(), amounts.m.tolist(), kinds, strict=True))

    def _put_all(self, places: Mapping[int, Held]) -> None:
        """Put many jobs on the nodes of an empty cluster, in one go."""
        amounts = self.amounts
        self.at.update(places)
        for job, held in places.items():
            for node in held:
                self.residents[node].add(job)
            self._note(job, held)
            self._count(job, 1)
        jobs, nodes, gpus = self.pairs()
        for left, each in zip(self.left, (1, amounts.c[jobs], amounts.m[jobs]), strict=True):
            np.subtract.at(left, nodes, gpus * each)
        if self.status.rules.dedicated is not None:
            np.add.at(self.alone, nodes, amounts.g[jobs] >= self.status.rules.dedicated)
        used = np.zeros(len(amounts.U) + 1, dtype=np.int64)
        np.add.at(used, amounts.tenant[jobs], gpus)
        for tenant in np.flatnonzero(used[:-1]).tolist():
            self.charge(tenant, int(used[tenant]))

    def _note(self, job: int, held: Held) -> None:
        """Write down where a job is for those who look at all jobs at once."""
        if self._end + len(held) > self._pairs.shape[1]:
            self._make_space(len(held))
        here = slice(self._end, self._end + len(held))
        self._pairs[0, here], self._pairs[1, here], self._pairs[2, here] = job, list(held), list(held.values())
        self._pairs_of[job], self._end, self.runs[job] = here, here.stop, True

    def _make_space(self, more: int) -> None:
        """Write the pairs that count into a new table, twice as large, from its beginning."""
        used = self._pairs[:, : self._end]
        space = np.zeros((3, 2 * (used.shape[1] + more) + 1024), dtype=np.int64)
        end = 0
        for job, before in self._pairs_of.items():
            here = slice(end, end + before.stop - before.start)
            space[:, here] = used[:, before]
            self._pairs_of[job], end = here, here.stop
        self._pairs, self._end = space, end

    def put(self, job: int, held: Held) -> None:
        """Put a job on nodes."""
        super().put(job, held)
        self._count(job, 1)
        self._note(job, held)
        if self.is_alone(job):
            self.alone[list(held)] += 1

    def take(self, job: int) -> Held:
        """Take a job from its nodes; return where it was."""
        held = super().take(job)
        self._count(job, -1)
        self._pairs[2, self._pairs_of.pop(job)] = 0
        self.runs[job] = False
        if self.is_alone(job):
            self.alone[list(held)] -= 1
        return held

    def pairs(self) -> Ints:
        """Return the job, the node and the GPUs of every pair of a job and a node that it is on, a row of each."""
        used = self._pairs[:, : self._end]
        return used[:, used[2] > 0]

    def room(self, job: int) -> Ints:
        """Return how many GPUs of the job fit on each node, at most all; none beside a job that is alone there."""
        room = most_of(self.amounts, job, self.left)
        if self.status.rules.dedicated is not None:
            empty = self.gpus == self.amounts.G
            shared = empty if self.is_alone(job) else self.alone == 0
            room = np.where(shared, room, 0)
        return room

    def start_room(self, job: int) -> Ints:
        """Return the same of the nodes on which the job may start, and nothing for the others."""
        sets = self.status.sets
        return self.room(job) if sets is None else only_where(self.room(job), sets.of(job))

    def is_alone(self, job: int) -> bool:
        """Return whether the job has its nodes to itself."""
        return self.status.rules.shares_with_nobody(int(self.amounts.g[job]))

    def has_quota_left(self, job: int) -> bool:
        """Return whether all that counts for the job's quotas would be within them with it."""
        return self.has_quota(int(self.amounts.tenant[job]), int(self.amounts.g[job]))

    def within_quota(self, job: int) -> bool:
        """Return whether the job would be within its quotas, which jobs of larger priorities fill first."""
        left = self.quota_left(int(self.amounts.tenant[job]), int(self.status.rank[job]))
        return bool(self.amounts.g[job] <= left)

    def quota_left(self, tenant: int, rank: int) -> int:
        """Return the most GPUs of one more job of a tenant and a priority that would be within its quotas."""
        if self.status.classes == 1:
            return min((int(self.quota[one]) for one in self.amounts.line(tenant)), default=UNLIMITED)
        line = self.tree.line(tenant)
        return min([int(self.amounts.U[one]) - self._held(one, rank) for one in line], default=UNLIMITED)

    def _held(self, owner: int, rank: int) -> int:
        """Return the GPUs that count for a quota, of jobs of a priority and larger ones."""
        return int(self._by_rank[owner][rank:].sum()) if owner in self._by_rank else 0

    def _count(self, job: int, sign: int) -> None:
        """Count the GPUs of a job, or count them no more, for the quotas of its line."""
        if self.status.classes == 1:
            return
        for one in self.tree.line(int(self.amounts.tenant[job])):
            if one not in self._by_rank:
                self._by_rank[one] = np.zeros(self.status.classes, dtype=np.int64)
            self._by_rank[one][self.status.rank[job]] += sign * self.amounts.g[job]

    def used(self, tenant: int) -> int:
        """Return how many GPUs a tenant uses."""
        return int(self.amounts.U[tenant] - self.quota[tenant])

    def over_quota(self, tenant: int) -> int:
        """Return how many GPUs a tenant uses above its quota."""
        return 0 if tenant < 0 or self.amounts.U[tenant] >= UNLIMITED else -int(self.quota[tenant])


def most_of(amounts: Amounts, job: int, left: Ints) -> Ints:
    """Return how many GPUs of a job fit on each node, at most all, where so much is left of the three resources."""
    cpus, memory = int(amounts.c[job]), int(amounts.m[job])
    room: Ints = np.minimum(left[0], amounts.g[job])
    if cpus:
        room = np.minimum(room, left[1] // cpus)
    if memory:
        room = np.minimum(room, left[2] // memory)
    return room


def find_placement(state: ClusterState, job: int, level: int) -> Held | None:
    """Return the best placement of a gang on the free GPUs, spread no further than ``level``; ``None`` where it cannot.

    As close together as it can: on few nodes of one rack, else on more of one rack, else anywhere. A gang for one node
    goes to the tightest one, against fragmentation; a larger one to the racks with the least in use, there to the nodes
    with the most free GPUs, and its last GPUs to the tightest node.
    """
    locality, gpus, room = state.status.locality, int(state.amounts.g[job]), state.room(job)
    if level < TOGETHER or room.sum() < gpus:
        return None
    if state.status.sets is not None:
        return _find_in_sets(state, job, level, room, state.status.sets.of(job))
    most = int(locality.fewest[job])
    if most == 1:
        whole = np.flatnonzero(room >= gpus)
        if len(whole):
            return {_tightest(state, whole): gpus}
    if locality.in_rack[job]:
        needed = RackRoom(room, locality.rack, len(locality.racks)).nodes(np.array([gpus]))[:, 0]
        racks = np.flatnonzero(needed < NEVER)
        nearest = racks[np.argsort(_busy(state)[racks], kind="stable")]
        close = nearest[needed[nearest] <= most]
        if len(close):
            return _fill(room, np.flatnonzero(locality.rack == close[0]), gpus)
        if len(nearest) and level > TOGETHER:
            return _fill(room, np.flatnonzero(locality.rack == nearest[np.argmin(needed[nearest])]), gpus)
        return _fill(room, np.arange(len(room)), gpus) if level > 1 else None
    held = _fill(room, np.arange(len(room)), gpus)
    return held if held and (len(held) <= most or level > 1) else None


def _tightest(state: ClusterState, nodes: Ints) -> int:
    """Return the node with the fewest free GPUs, of equals that in the rack with the least in use, then the first."""
    free = state.gpus[nodes]
    tight = nodes[free == free.min()]
    if len(tight) == 1:
        return int(tight[0])
    return int(tight[np.argmin(_busy(state)[state.status.locality.rack[tight]])])


def _find_in_sets(state: ClusterState, job: int, level: int, room: Ints, demand: NodeDemand) -> Held | None:
    """Return the best placement of a gang on the nodes where it may start, as close together as it can.

    Of places equally close it takes the one on the fewest nodes, then the tightest, then that in the rack with the
    least in use.
    """
    locality, gpus, busy = state.status.locality, int(state.amounts.g[job]), _busy(state)
    tried: list[Ints] = []
    if locality.in_rack[job]:
        tried = _closest_sets(room, gpus, locality.near[state.status.kind(job)])
    if not tried and (level > 1 or not locality.in_rack[job]):
        tried = [*demand.sets]
    best: tuple[tuple[int, ...], Held] | None = None
    for nodes in tried:
        if room[nodes].sum() < gpus:
            continue
        share = shaped_fit(room[nodes], gpus, demand.least, demand.most, even=demand.even)
        if share is None:
            continue
        used = nodes[share > 0]
        spread = locality.spread(job, used)
        key = (spread, len(used), int(room[used].sum()), int(busy[locality.rack[used[0]]]), int(used[0]))
        if spread <= level and (best is None or key < best[0]):
            best = key, dict(zip(used.tolist(), share[share > 0].tolist(), strict=True))
    return None if best is None else best[1]


def _closest_sets(room: Ints, gpus: int, near: NodeDemand) -> list[Ints]:
    """Return the sets of nodes of one rack where a gang is on the fewest nodes; of those for one node the tightest."""
    if not near.sets:
        return []
    here = rooms_in_sets(room, near)
    count = node_counts(here, gpus, near, near.most)
    fewest = int(count.min())
    if fewest == NOWHERE:
        return []
    best = np.flatnonzero(count == fewest)
    if fewest == 1:
        tightest = np.where(here[best] >= gpus, here[best], NOWHERE).min(axis=1)
        best = best[tightest == tightest.min()]
    return [near.sets[place] for place in best.tolist()]


def _busy(state: ClusterState) -> Ints:
    """Return the GPUs in use in each rack."""
    rack = state.status.locality.rack
    busy = np.bincount(rack, weights=state.status.gpus - state.gpus, minlength=len(state.status.locality.racks))
    return busy.astype(np.int64)


def _fill(room: Ints, nodes: Ints, gpus: int) -> Held:
    """Return the GPUs on as few of the nodes as possible: the roomiest filled, the rest on the tightest; {} if none."""
    left, held = gpus, {}
    order = nodes[np.argsort(-room[nodes], kind="stable")]
    for place, node in enumerate(order.tolist()):
        if left <= room[node]:
            rest = order[place:]
            tight = rest[room[rest] >= left]
            held[int(tight[-1])] = left
            return held
        held[node] = int(room[node])
        left -= held[node]
    return {}
