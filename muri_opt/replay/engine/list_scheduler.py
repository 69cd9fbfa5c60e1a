"""List schedules on arrays: the orders of the gang policies for replays of very many jobs.

A job that waits keeps its key, so those that wait are in heaps, one for each number of GPUs. Where nothing but GPUs is
counted, only the first of each heap can start: those behind it come later and need as much.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from math import inf

import numpy as np

from muri_opt.errors import InputError, unknown_name
from muri_opt.replay.engine.bad_decisions import ReplayError
from muri_opt.replay.engine.job_state import Live, Placement, positions
from muri_opt.replay.engine.schedulers import Allocation
from muri_opt.replay.outcome import Floats, Ints
from muri_opt.replay.workload import Workload
from muri_opt.rounds import Cluster
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND, MILLISECONDS_PER_SECOND
from muri_opt.systems import Named, policy_from
from muri_opt.systems.capacity import best_fit
from muri_opt.systems.gangs import GangPolicy
from muri_opt.systems.gangs.tiresias import seconds_in_queue
from muri_opt.systems.orders import TiresiasOrder

NAMES = ("fifo", "srtf", "srsf", "las", "tiresias")
LARGEST_KEY = 1 << 62

Entry = tuple[int, int]
"""The key of a job, and its position."""


class ListScheduler:
    """The order decides who is tried first, and whoever finds enough GPUs runs, those that do not are skipped.

    It decides who runs as the policy of the same name. Jobs that go on stay where they are and others get the best fit
    around them, while the policy places all in order: on several nodes there are fewer moves here.
    """

    def __init__(self, workload: Workload, cluster: Cluster, policy: Named) -> None:
        self.policy = _plain(policy)
        _check(workload, cluster, self.policy)
        self._total = cluster.total_gpus
        self._gpus: Ints = np.array([job.gpus for job in workload.jobs], dtype=np.int64)
        seconds: Floats = np.array([job.iteration_seconds for job in workload.jobs], dtype=np.float64)
        self._micro: Ints = np.rint(seconds * MICROSECONDS_PER_SECOND).astype(np.int64)
        self._rates: list[float] = (1 / seconds).tolist()
        self._sizes: list[int] = self._gpus.tolist()
        order = self.policy.order
        self._order = order if isinstance(order, TiresiasOrder) else None
        self._limits: Ints = np.array(() if self._order is None else self._order.limits, dtype=np.int64)
        self._heaps: dict[int, list[Entry]] = {}

    def decide(self, live: Live) -> Allocation:
        """Return who starts and who has to make room."""
        if live.queued:
            self._push(live, live.queued)
        running = positions(live.placements)
        choice = _Choice(
            total=self._total,
            heaps=self._heaps,
            jobs=running,
            keys=self._keys(live, running, runs=True),
            gpus=self._gpus[running],
            preempt=self.policy.preempt == "yes",
        )
        starts, stops = choice.made()
        if not starts:
            return Allocation()
        self._push(live, stops)
        room = live.free.copy()
        for job in stops:
            for node, gpus in live.placements[job].gpus.items():
                room[node] += gpus
        placements = [self._placement(job, room) for job in starts]
        return Allocation(placements=tuple(placements), stops=tuple(stops))

    def wakes(self, live: Live) -> float:
        """Return when a running job leaves its queue, under Tiresias."""
        if self._order is None or not live.waiting:
            return inf
        running = positions(live.placements)
        return live.now + seconds_in_queue(self._order, self._gpus[running], live.attained(running))

    def _push(self, live: Live, jobs: list[int]) -> None:
        """Let jobs wait, by their keys now."""
        for job, key in zip(jobs, self._keys(live, positions(jobs), runs=False).tolist(), strict=True):
            heapq.heappush(self._heaps.setdefault(self._sizes[job], []), (key, job))

    def _keys(self, live: Live, jobs: Ints, *, runs: bool) -> Ints:
        """Return what the jobs are sorted by, before their position, in the whole numbers of the policy's order."""
        name = self.policy.name
        if name == "fifo":
            return jobs  # the workload is in the order of submission
        if name in ("srtf", "srsf"):
            left = live.whole_iterations(jobs) * self._micro[jobs]
            return left if name == "srtf" else left * self._gpus[jobs]
        service = np.rint(live.attained(jobs) * MILLISECONDS_PER_SECOND).astype(np.int64)
        if name == "las":
            return service
        queue: Ints = np.searchsorted(self._limits, service, side="right")
        return 2 * queue + (not runs)

    def _placement(self, job: int, room: Ints) -> Placement:
        share = best_fit(room, self._sizes[job])
        if share is None:
            raise ReplayError(f"{int(room.sum())} GPUs are free on all nodes, and {self._sizes[job]} were counted")
        room -= share
        used = np.flatnonzero(share)
        gpus = dict(zip(used.tolist(), share[used].tolist(), strict=True))
        return Placement(jobs=(job,), gpus=gpus, rates=(self._rates[job],))


@dataclass(slots=True, kw_only=True)
class _Choice:
    """Who runs next: the jobs that run now with their keys, and the heaps of those that wait, by their GPUs."""

    total: int
    heaps: dict[int, list[Entry]]
    jobs: Ints
    keys: Ints
    gpus: Ints
    preempt: bool
    last: int = -1
    starts: list[tuple[Entry, int]] = field(default_factory=list)

    def made(self) -> tuple[list[int], list[int]]:
        """Return the jobs that start, taken from their heaps, and those that stop.

        Whoever fits beside all that run changes nothing for them. Only where one fits because it comes before others
        that run are all gone through in order, if they may be stopped.
        """
        spare = self.total - int(self.gpus.sum())
        self.last = int(self.keys.max(initial=-1))
        while True:
            fitting = [
                (heap[0], size)
                for size, heap in self.heaps.items()
                if heap and (size <= spare or self._comes_before(heap[0], size))
            ]
            if not fitting:
                return [job for (_, job), _ in self.starts], []
            _, size = min(fitting)
            if size > spare:
                return self._in_order()
            self.starts.append((heapq.heappop(self.heaps[size]), size))
            spare -= size

    def _comes_before(self, entry: Entry, size: int) -> bool:
        """Return whether a job that waits fits beside all that come before it."""
        key, job = entry
        if key > self.last or not self.preempt:
            return False  # all that run come before it, or stay, and leave too little
        before = (self.keys < key) | ((self.keys == key) & (self.jobs < job))
        ahead = sum(gpus for other, gpus in self.starts if other < entry)
        return size <= self.total - ahead - int(self.gpus[before].sum())

    def _in_order(self) -> tuple[list[int], list[int]]:
        """Return who starts and who stops if all are gone through in order."""
        for entry, size in self.starts:
            heapq.heappush(self.heaps[size], entry)
        order = np.lexsort((self.jobs, self.keys))
        run = list(zip(self.keys[order].tolist(), self.jobs[order].tolist(), strict=True))
        free, starts, stops = self.total, list[int](), list[int]()
        first = self._first(free)
        for entry, gpus in zip(run, self.gpus[order].tolist(), strict=True):
            while first is not None and first[0] < entry:
                if first[1] <= free:
                    free -= self._start(first[1], starts)
                first = self._first(free)
            if gpus <= free:
                free -= gpus
            else:
                stops.append(entry[1])
        while (first := self._first(free)) is not None:
            free -= self._start(first[1], starts)
        return starts, stops

    def _first(self, free: int) -> tuple[Entry, int] | None:
        """Return the first that waits and finds enough GPUs free, with its GPUs."""
        return min(((heap[0], size) for size, heap in self.heaps.items() if heap and size <= free), default=None)

    def _start(self, size: int, starts: list[int]) -> int:
        """Start the first of its size, and return the GPUs it takes."""
        starts.append(heapq.heappop(self.heaps[size])[1])
        return size


def _plain(policy: Named) -> GangPolicy:
    """Return the policy if its order is one of those here, without settings that need more than GPUs counted."""
    chosen = policy_from(policy)
    if not isinstance(chosen, GangPolicy) or chosen.name not in NAMES:
        raise unknown_name("policy of a fast replay", chosen.name, NAMES)
    if chosen.nodes != "any":
        raise InputError("policy of a fast replay", chosen.spec, "nodes=any: it counts GPUs")
    order = chosen.order
    if isinstance(order, TiresiasOrder) and (order.gittins is not None or order.knob):
        raise InputError("policy of a fast replay", chosen.spec, "tiresias with rank=fifo and knob=0")
    return chosen


def _check(workload: Workload, cluster: Cluster, policy: GangPolicy) -> None:
    """Refuse what is not decided by counting GPUs, and keys too large for whole numbers of 64 bits."""
    for tenant in cluster.tenants:
        if tenant.quota_gpus is not None:
            raise InputError("cluster.tenants", f"a quota of {tenant.id!r}", "no quotas in a fast replay")
    scarce = {kind for kind in ("cpus", "memory_gib") if any(getattr(node, kind) is not None for node in cluster.nodes)}
    for position, job in enumerate(workload.jobs):
        where = f"jobs[{position}] ({job.id!r})"
        for kind in scarce:
            if getattr(job, kind):
                raise InputError(f"{where}.{kind}", f"{getattr(job, kind):g}", "nothing in a fast replay on such nodes")
        if job.gpus < 1:
            raise InputError(f"{where}.gpus", "0", f"at least 1: the policy {policy.name!r} places gangs")
        work = (job.remaining_iterations or 0) * round((job.iteration_seconds or 0.0) * MICROSECONDS_PER_SECOND)
        if work * job.gpus > LARGEST_KEY:
            found = f"{job.remaining_iterations} of {job.iteration_seconds} s"
            raise InputError(f"{where}.remaining_iterations", found, "less work in a fast replay")
