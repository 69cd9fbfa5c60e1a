"""What is free on the floor of the cluster while gangs are put down and taken away."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.systems.capacity.jobs_on_nodes import JobsOnNodes
from muri_opt.systems.capacity.node_sets import Demand
from muri_opt.systems.capacity.shaped_fit import only_where, shaped_fit
from muri_opt.systems.philly.job_status import Held, JobStatus
from muri_opt.systems.philly.locality import TOGETHER
from muri_opt.systems.philly.quota_tree import QuotaTree


class ClusterState(JobsOnNodes[Held]):
    """The jobs on the nodes of a cluster where some may have theirs to themselves.

    At first all running jobs are where they were before the round. ``alone[s]`` counts the jobs on node s that share it
    with nobody.
    """

    def __init__(self, round_: Round, standing: JobStatus) -> None:
        super().__init__(round_.amounts)
        self.standing, self.tree = standing, QuotaTree.of(round_)
        self._table: Ints | None = None
        self.gpus -= self.amounts.G - standing.gpus  # a node that is down has none
        self.alone: Ints = np.zeros(len(self.gpus), dtype=np.int64)
        for job in np.flatnonzero(standing.running).tolist():
            self.put(job, standing.held[job])

    def put(self, job: int, held: Held) -> None:
        """Put a job on nodes."""
        super().put(job, held)
        self._table = None
        if self.is_alone(job):
            self.alone[list(held)] += 1

    def take(self, job: int) -> Held:
        """Take a job from its nodes; return where it was."""
        held = super().take(job)
        self._table = None
        if self.is_alone(job):
            self.alone[list(held)] -= 1
        return held

    def room(self, job: int) -> Ints:
        """Return how many GPUs of the job fit on each node, at most all; none beside a job that is alone there."""
        room: Ints = np.minimum(self.most_gpus(job), self.amounts.g[job])
        if self.standing.rules.dedicated is not None:
            empty = self.gpus == self.amounts.G
            shared = empty if self.is_alone(job) else self.alone == 0
            room = np.where(shared, room, 0)
        return room

    def start_room(self, job: int) -> Ints:
        """Return the same of the nodes on which the job may start, and nothing for the others."""
        sets = self.standing.sets
        return self.room(job) if sets is None else only_where(self.room(job), sets.of(job))

    def is_alone(self, job: int) -> bool:
        """Return whether the job has its nodes to itself."""
        return self.standing.rules.shares_with_nobody(int(self.amounts.g[job]))

    def has_quota_left(self, job: int) -> bool:
        """Return whether all that counts for the job's quotas would be within them with it."""
        return self.has_quota(int(self.amounts.tenant[job]), int(self.amounts.g[job]))

    def within_quota(self, job: int) -> bool:
        """Return whether the job would be within its quotas, which jobs of larger priorities fill first."""
        if self.standing.classes == 1:
            return self.has_quota_left(job)
        line, rank = self.tree.line(int(self.amounts.tenant[job])), int(self.standing.rank[job])
        held = self._held_by_rank()
        return all(held[one, rank] + self.amounts.g[job] <= self.amounts.U[one] for one in line)

    def _held_by_rank(self) -> Ints:
        """Return the table of GPUs that count for each quota; worked out anew after a change."""
        if self._table is None:
            self._table = self.tree.held(self.tree.used(self.at))
        return self._table

    def used(self, tenant: int) -> int:
        """Return how many GPUs a tenant uses."""
        return int(self.amounts.U[tenant] - self.quota[tenant])

    def over_quota(self, tenant: int) -> int:
        """Return how many GPUs a tenant uses above its quota."""
        return 0 if tenant < 0 or self.amounts.U[tenant] >= UNLIMITED else -int(self.quota[tenant])


def seat(floor: ClusterState, job: int, level: int) -> Held | None:
    """Return where a gang sits best on the free GPUs, spread no further than ``level``; ``None`` where it cannot.

    As close together as it can: on few nodes of one rack, else on more of one rack, else anywhere. A gang for one node
    goes to the tightest one, against fragmentation; a larger one to the racks with the least in use, there to the nodes
    with the most free GPUs, and its last GPUs to the tightest node.
    """
    locality, gpus, room = floor.standing.locality, int(floor.amounts.g[job]), floor.room(job)
    if level < TOGETHER or room.sum() < gpus:
        return None
    if floor.standing.sets is not None:
        return _seat_in_sets(floor, job, level, room, floor.standing.sets.of(job))
    most = int(locality.fewest[job])
    if most == 1:
        whole = np.flatnonzero(room >= gpus)
        if len(whole):
            busy = _busy(floor)[locality.rack[whole]]
            return {int(whole[np.lexsort((whole, busy, floor.gpus[whole]))[0]]): gpus}
    if locality.in_rack[job]:
        free = np.bincount(locality.rack, weights=room, minlength=len(locality.racks)).astype(np.int64)
        racks = np.flatnonzero(free >= gpus)
        nearest = [np.flatnonzero(locality.rack == r) for r in racks[np.argsort(_busy(floor)[racks], kind="stable")]]
        found = [held for nodes in nearest if (held := _fill(room, nodes, gpus))]
        close = [held for held in found if len(held) <= most]
        if close:
            return close[0]
        if found and level > TOGETHER:
            return min(found, key=len)
        return _fill(room, np.arange(len(room)), gpus) if level > 1 else None
    held = _fill(room, np.arange(len(room)), gpus)
    return held if held and (len(held) <= most or level > 1) else None


def _seat_in_sets(floor: ClusterState, job: int, level: int, room: Ints, demand: Demand) -> Held | None:
    """Return where a gang sits best on the nodes where it may start, as close together as it can.

    Of places equally close it takes the one on the fewest nodes, then the tightest, then that in the rack with the
    least in use.
    """
    locality, gpus, busy = floor.standing.locality, int(floor.amounts.g[job]), _busy(floor)
    near, most = bool(locality.in_rack[job]), int(room.max(initial=0))
    tried = demand.sets if level > 1 or not near else ()
    if near:
        tried = (*locality.near[floor.standing.kind(job)].sets, *tried)
    best: tuple[tuple[int, ...], Held] | None = None
    for nodes in tried:
        if len(nodes) * most < gpus or room[nodes].sum() < gpus:
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


def _busy(floor: ClusterState) -> Ints:
    """Return the GPUs in use in each rack."""
    rack = floor.standing.locality.rack
    busy = np.bincount(rack, weights=floor.standing.gpus - floor.gpus, minlength=len(floor.standing.locality.racks))
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
