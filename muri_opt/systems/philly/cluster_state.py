"""What is free on the floor of the cluster while gangs are put down and taken away."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.systems.capacity.jobs_on_nodes import JobsOnNodes
from muri_opt.systems.philly.job_status import Held, JobStatus
from muri_opt.systems.philly.locality import TOGETHER


class ClusterState(JobsOnNodes[Held]):
    """The jobs on the nodes of a cluster where some may have theirs to themselves.

    At first all running jobs are where they were before the round. ``alone[s]`` counts the jobs on node s that share it
    with nobody.
    """

    def __init__(self, round_: Round, standing: JobStatus) -> None:
        super().__init__(round_.amounts)
        self.standing = standing
        self.alone: Ints = np.zeros(len(self.gpus), dtype=np.int64)
        for job in np.flatnonzero(standing.running).tolist():
            self.put(job, standing.held[job])

    def put(self, job: int, held: Held) -> None:
        """Put a job on nodes."""
        super().put(job, held)
        if self.is_alone(job):
            self.alone[list(held)] += 1

    def take(self, job: int) -> Held:
        """Take a job from its nodes; return where it was."""
        held = super().take(job)
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

    def is_alone(self, job: int) -> bool:
        """Return whether the job has its nodes to itself."""
        return self.standing.rules.shares_with_nobody(int(self.amounts.g[job]))

    def within_quota(self, job: int) -> bool:
        """Return whether the tenant of the job would be within its quota with it."""
        return self.has_quota(int(self.amounts.tenant[job]), int(self.amounts.g[job]))

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


def _busy(floor: ClusterState) -> Ints:
    """Return the GPUs in use in each rack."""
    rack = floor.standing.locality.rack
    busy = np.bincount(rack, weights=floor.amounts.G - floor.gpus, minlength=len(floor.standing.locality.racks))
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
