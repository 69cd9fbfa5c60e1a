"""Which jobs may be grouped: as many slots as fit the cluster, and for each the next few jobs of its size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Amounts, Ints
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.muri.group_locations import group_locations
from muri_opt.systems.muri.node_places import NodePlaces, Places, kinds_of, places_of, smallest_first
from muri_opt.systems.muri.queue_ranks import who_is_in

_NEAR, _WINDOW = 6, 64
"""Places of a queue that are looked at one by one, and then together."""


def candidates(round_: Round, queue: Sequence[int], largest_group: int) -> list[int]:
    """Return the jobs that may be grouped, in queue order.

    Each job of the queue that still fits alone, where first fit puts it, opens a slot. The next jobs of its GPU count
    become candidates with it, up to ``largest_group`` in all, and take their CPUs, memory and quota there; one that
    does not fit beside those before it is passed over and may open a slot of its own. Where nothing but GPUs is
    limited, this is the rule of the authors' simulator.

    Where jobs ask for certain nodes a slot is opened on those of its first job, and who may not be there does not join.
    Elsewhere first fit begins at the smallest node or at the first one, whichever lets the earlier jobs be candidates.
    """
    found = _by_slots(round_, queue, largest_group, NodePlaces(round_))
    if group_locations(round_) is not None or smallest_first(round_.amounts) is None:
        return found
    as_listed = _by_slots(round_, queue, largest_group, NodePlaces(round_, as_listed=True))
    return max(found, as_listed, key=lambda chosen: who_is_in(queue, chosen))


def _by_slots(round_: Round, queue: Sequence[int], largest_group: int, left: NodePlaces) -> list[int]:
    """Return the same where slots are opened on what is ``left`` of the nodes, which changes."""
    locations = group_locations(round_)
    buckets: dict[int, list[int]] = {}
    places = [0] * len(queue)
    for turn, job in enumerate(queue):
        bucket = buckets.setdefault(round_.jobs[job].gpus, [])
        places[turn] = len(bucket)
        bucket.append(job)
    queues = {gpus: _Bucket(round_.amounts, jobs) for gpus, jobs in buckets.items()}
    free, asks = round_.cluster.total_gpus, round_.amounts.g.tolist()
    kinds: Sequence[object] = kinds_of(round_.amounts)
    if locations is not None:
        kinds = [*zip(kinds, locations.kind.tolist(), strict=True)]
    chosen, full = bytearray(len(asks)), set[object]()
    """Of each job whether it is a candidate, and the kinds for which there is no room any more, as it only shrinks."""
    for place, job in zip(places, queue, strict=True):
        gpus = asks[job]
        if chosen[job] or kinds[job] in full or gpus > free or not left.within_quota(job):
            continue
        share = None if locations is None else locations.fit(left, gpus, job)
        found = places_of(share) if share is not None else left.first(gpus, (job,)) if locations is None else None
        if found is not None:
            look_at_clock()
            may = None if locations is None or share is None else locations.may_use(share)[locations.kind]
            slot = [job, *queues[gpus].partners(left, place, found, largest_group - 1, may)]
            left.give(found, slot)
            for one in slot:
                chosen[one] = 1
            free -= gpus
        else:
            full.add(kinds[job])
    return [job for job in queue if chosen[job]]


class _Bucket:
    """The jobs of one GPU count in queue order, those still free to join a slot, and what decides whether they can."""

    def __init__(self, amounts: Amounts, jobs: list[int]) -> None:
        self._jobs, self._lines = jobs, amounts.lines
        self._gpus, places = int(amounts.g[jobs[0]]), np.array(jobs, dtype=np.int64)
        self._cpus, self._memory, self._tenant = amounts.c[places], amounts.m[places], amounts.tenant[places]
        self._needs = list(zip(self._cpus.tolist(), self._memory.tolist(), strict=True))
        self._least = int(self._cpus.min()), int(self._memory.min())
        self._each = bytearray(b"\1") * len(jobs)
        self._open = np.frombuffer(self._each, dtype=np.bool_)
        """Whether the job of each place is free to join, to be read and changed one at a time, and all at once."""
        self._passed: dict[tuple[int, int], tuple[int, int]] = {}
        """By the CPUs and memory that are left, from where to where no open place has a job that fits."""

    def partners(
        self, left: NodePlaces, place: int, found: Places, most: int, may: NDArray[np.bool_] | None
    ) -> list[int]:
        """Return up to ``most`` jobs that fit beside the one at ``place`` on its GPUs, and close them for others.

        ``may`` says which jobs of the round may be on the nodes of these; ``None``: all.
        """
        cpus, memory = left.with_each_gpu(found)
        if left.no_quota and may is None:
            return self._joining(place, cpus, memory, most)
        quota = None if left.no_quota else np.append(left.quota, UNLIMITED)  # the last: without a tenant, which is -1
        able = self._open if may is None else self._open & may[self._jobs]
        joined: list[int] = []
        at: int | None = place
        while at is not None:
            cpus -= self._needs[at][0]
            memory -= self._needs[at][1]
            if quota is not None:
                self._charge(quota, int(self._tenant[at]))
            self._open[at] = able[at] = False
            joined.append(self._jobs[at])
            spare = None if quota is None else self._spare(quota)
            at = self._first(at + 1, able, cpus, memory, spare) if len(joined) <= most else None
        return joined[1:]

    def _joining(self, place: int, cpus: int, memory: int, most: int) -> list[int]:
        """Return the same where nothing but CPUs and memory is in the way, so much of them being left."""
        joined, needs = list[int](), self._needs
        at = place
        while True:
            cpus -= needs[at][0]
            memory -= needs[at][1]
            self._each[at] = 0
            if len(joined) == most:
                return joined
            following = self._first(at + 1, self._open, cpus, memory, None)
            if following is None:
                return joined
            at = following
            joined.append(self._jobs[at])

    def _charge(self, quota: Ints, tenant: int) -> None:
        """Count the GPUs of a job against the quota of its tenant and those above it."""
        if self._lines is None or tenant < 0:
            quota[tenant] -= self._gpus
        else:
            quota[list(self._lines[tenant])] -= self._gpus

    def _spare(self, quota: Ints) -> Ints:
        """Return what each tenant may still have: the least of what it and those above it have left."""
        if self._lines is None:
            return quota
        return np.array([*(quota[list(line)].min() for line in self._lines), UNLIMITED])

    def _first(self, start: int, able: NDArray[np.bool_], cpus: int, memory: int, quota: Ints | None) -> int | None:
        """Return the first open place from ``start`` whose job needs no more per GPU, and has the quota.

        It is mostly near: a few places are looked at one by one, and then ever more at a time. Open places only become
        fewer, so that those which were passed over for as much need no second look.
        """
        if cpus < self._least[0] or memory < self._least[1]:
            return None
        if quota is not None or able is not self._open:
            return self._look(start, able, cpus, memory, quota)
        begun, end = self._passed.get((cpus, memory), (len(self._jobs), 0))
        found = self._look(max(start, end) if begun <= start else start, able, cpus, memory, quota)
        self._passed[cpus, memory] = start, len(self._jobs) if found is None else found
        return found

    def _look(self, start: int, able: NDArray[np.bool_], cpus: int, memory: int, quota: Ints | None) -> int | None:
        near = min(start + _NEAR, len(self._jobs)) if able is self._open and quota is None else start
        for at in range(start, near):
            if self._each[at] and self._needs[at][0] <= cpus and self._needs[at][1] <= memory:
                return at
        start, width = near, _WINDOW
        while start < len(self._jobs):
            part = slice(start, start + width)
            fits = able[part] & (self._cpus[part] <= cpus) & (self._memory[part] <= memory)
            if quota is not None:
                fits &= quota[self._tenant[part]] >= self._gpus
            at = int(fits.argmax())
            if fits[at]:
                return start + at
            start, width = start + width, 2 * width
        return None
