"""The rules of philly job by job, node by node and rack by rack: nothing is remembered or looked at together."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from heapq import heapify, heappop, heappush, heapreplace

import numpy as np
import pytest

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED
from muri_opt.systems.philly import migration, preemption, schedule, waiting_changes
from muri_opt.systems.philly.cluster_state import ClusterState
from muri_opt.systems.philly.job_status import Held, JobStatus

FAST_PLACEMENT = schedule.find_placement
FAST_REMOVALS, FAST_MOVING = preemption.Removals, migration.Moving


def plain_placement(state: ClusterState, job: int, level: int) -> Held | None:
    """Return where a gang sits best, each rack filled in turn."""
    if state.status.sets is not None:
        return FAST_PLACEMENT(state, job, level)
    locality, gpus, room = state.status.locality, int(state.amounts.g[job]), state.room(job).tolist()
    if level < 0 or sum(room) < gpus:
        return None
    busy = [0] * len(locality.racks)
    for node, rack in enumerate(locality.rack.tolist()):
        busy[rack] += int(state.status.gpus[node] - state.gpus[node])
    most, nodes = int(locality.fewest[job]), range(len(room))
    whole = [node for node in nodes if room[node] >= gpus]
    if most == 1 and whole:
        return {min(whole, key=lambda node: (int(state.gpus[node]), busy[locality.rack[node]], node)): gpus}
    if not locality.in_rack[job]:
        held = filled(room, list(nodes), gpus)
        return held if held and (len(held) <= most or level > 1) else None
    racks = sorted(range(len(busy)), key=lambda rack: busy[rack])
    found = [held for rack in racks if (held := filled(room, [n for n in nodes if locality.rack[n] == rack], gpus))]
    close = [held for held in found if len(held) <= most]
    if close:
        return close[0]
    if found and level > 0:
        return min(found, key=len)
    return filled(room, list(nodes), gpus) if level > 1 else None


def filled(room: list[int], nodes: list[int], gpus: int) -> Held:
    """Return the GPUs on the roomiest nodes, the rest on the tightest; nothing if there are too few."""
    held, order = {}, sorted(nodes, key=lambda node: -room[node])
    for place, node in enumerate(order):
        if gpus <= room[node]:
            held[[other for other in order[place:] if room[other] >= gpus][-1]] = gpus
            return held
        held[node] = room[node]
        gpus -= room[node]
    return {}


class PlainRemovals(FAST_REMOVALS):
    """Jobs that leave: every node that may be the best is searched, and every rack is sorted."""

    def _is_no_cheaper(self, node: int, cost: object) -> bool:
        return False

    def _racks(self, job: int, limit: int, room: object, now: object) -> list[np.ndarray]:
        rack = self._state.status.locality.rack
        return [np.flatnonzero(rack == each) for each in range(int(rack.max()) + 1)]


class PlainMoving(FAST_MOVING):
    """Jobs that are moved: sets of them one by one."""

    def _sets(self, job: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        state, gpus = self._state, int(self._state.amounts.g[job])
        room, looked, heap = self._removals.room(job), set(), []
        for node in np.flatnonzero(room >= gpus).tolist():
            least = max(gpus - int(state.gpus[node]), 1)
            if least <= self._budget:
                heap.append((least, 0, node, ()))
        heapify(heap)
        while heap and len(looked) <= 2 * migration.MOST_TRIALS:
            _, is_set, node, jobs = heappop(heap)
            if is_set:
                yield node, jobs
                continue
            items = self._removals.items(node)
            rack = int(state.status.locality.rack[node])
            alike = (*state.left[:, node].tolist(), rack, *sorted(item.kind for item in items))
            if alike not in looked:
                looked.add(alike)
                for cost, chosen in self._enough_alone(job, node, items):
                    heappush(heap, (cost, 1, node, chosen))


class PlainSchedule(schedule.Schedule):
    """The schedule: every job in every queue is looked at, and tried, each time."""

    def __init__(self, round_: Round, status: JobStatus) -> None:
        super().__init__(round_, status)
        self._jobs, self._now = round_.jobs, round_.now
        self._queued = status.may.start.copy()

    def _line(self, rank: int | None) -> dict[int, list[int]]:
        """Return the queues of a priority, or of all."""

        def turn(job: int) -> tuple[int, float, int]:
            one = self._jobs[job]
            came = self._now - (one.waiting_seconds or 0.0) if one.submitted is None else one.submitted
            return -int(self._status.rank[job]), round(came * 1_000_000), job

        queues: dict[int, list[int]] = {}
        for job in sorted(np.flatnonzero(self._queued).tolist(), key=turn):
            if rank in (None, int(self._status.rank[job])):
                queues.setdefault(int(self.state.amounts.tenant[job]), []).append(job)
        return queues

    def _served(self, tenant: int) -> Fraction:
        if tenant < 0:
            return Fraction(0)
        quota, used, total = int(self.state.amounts.U[tenant]), self.state.used(tenant), max(1, self._total)
        if quota == 0:
            return Fraction(total + used)
        return Fraction(used, total if quota >= UNLIMITED else quota)

    def start(self, *, borrowing: bool) -> None:
        for rank in reversed(range(self._status.classes)):
            queues = self._line(rank)
            heap = [(self._served(tenant), tenant, 0) for tenant in queues]
            heapify(heap)
            while heap:
                _, tenant, place = heap[0]
                for at, job in enumerate(queues[tenant][place:], place + 1):
                    if job in self.state.at or not (borrowing or self.state.within_quota(job)):
                        continue
                    held = plain_placement(self.state, job, int(self._status.widest[job]))
                    if held is not None:
                        self._put(job, held)
                        heapreplace(heap, (self._served(tenant), tenant, at))
                        break
                else:
                    heappop(heap)

    def _waiting(self) -> list[int]:
        queues = self._line(None)
        tenants = sorted(queues, key=lambda tenant: (self._served(tenant), tenant))
        jobs = [job for tenant in tenants for job in queues[tenant] if job not in self.state.at]
        jobs.sort(key=lambda job: -int(self._status.rank[job]))
        return sorted(jobs, key=lambda job: not self.state.within_quota(job))

    def preempt(self) -> bool:
        status = self._status
        if status.rules.preempt_at is None or self._load() < status.rules.preempt_at * self._total:
            return False
        for job in [job for job in self._waiting() if self.state.within_quota(job)]:
            for removals in self._ways(None if self.state.tree.plain else job):
                victims = removals().smallest(job, int(status.widest[job]))
                if victims is not None and self._gives_way(job, victims):
                    if status.rules.migrate == 0:
                        self._queued |= self._preempted & status.may.move
                    return True
        return False


def plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the plain parts in the place of the fast ones."""
    for module in (schedule, preemption, migration, waiting_changes):
        monkeypatch.setattr(module, "find_placement", plain_placement)
    for module in (schedule, migration, waiting_changes):
        monkeypatch.setattr(module, "Removals", PlainRemovals)
    for module in (schedule, waiting_changes):
        monkeypatch.setattr(module, "Moving", PlainMoving)
    monkeypatch.setattr(schedule, "Schedule", PlainSchedule)
