"""Would a change let a waiting job start? The arithmetic of what is proposed to a job that waits."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import isfinite

from muri_opt.rounds import Assignment, Change, Job, Round
from muri_opt.verify.amounts import Room, micro
from muri_opt.verify.demands import Asked, start_breaches
from muri_opt.verify.philly.cluster_state import ClusterState
from muri_opt.verify.philly.job_status import Held, Reading, Stand, counted_rooms
from muri_opt.verify.philly.reach import Layout, Reach
from muri_opt.verify.philly.rules import APART


class Proposals:
    """The changes proposed after a decision, each tried in the state of the cluster and undone again."""

    def __init__(self, round_: Round, reading: Reading, state: ClusterState) -> None:
        self.round, self.reading, self.state = round_, reading, state
        self.racks = {node.rack: rack for node, rack in zip(round_.cluster.nodes, reading.racks, strict=True)}
        self.rooms_by_rack = counted_rooms(reading.racks, reading.rooms)
        self.layouts: dict[tuple[int, int], Layout] = {}
        self._known: dict[tuple[object, ...], str | None] = {}

    def fault(self, stand: Stand, change: Change) -> str | None:
        """Return what is wrong with a change, or ``None`` where the job could start with it.

        The same change is tried once for all jobs that ask for the same and may sit equally far apart after it.
        """
        fault = self._malformed(change) or self._unfit_jobs(change)
        if fault is None and stand.asked is not None:
            fault = self._unasked(stand.job, stand.asked, change)
        if fault is not None:
            return fault
        level = self.reading.tenancy.level(stand.waited + micro(change.wait_seconds or 0.0))
        moved = tuple((name, *to.items()) for name, to in change.move.items())
        key = (*stand.demand, level, change.preempt, moved, change.add_gpus, change.rack, change.like)
        if key not in self._known:
            self._known[key] = self._in_vain(stand, change, level)
        return self._known[key]

    def _malformed(self, change: Change) -> str | None:
        waits, adds = change.wait_seconds, change.add_gpus
        if not change.preempt and not change.move and waits is None and adds is None:
            return "nothing is changed"
        if waits is not None and not (isfinite(waits) and waits >= 0):
            return f"waits for {waits} s"
        if adds is not None and (type(adds) is not int or adds < 1):
            return f"adds {adds!r} GPUs"
        if adds is None and change.rack is not None:
            return f"names rack {change.rack!r} and adds no node"
        named = [*change.preempt, *change.move]
        if len(set(named)) < len(named):
            return f"names a job twice among {named}"
        return None

    def _unfit_jobs(self, change: Change) -> str | None:
        """Return what is wrong with the jobs to preempt or move, or with the sum of their GPUs."""
        gpus = change.add_gpus or 0
        for name in (*change.preempt, *change.move):
            job = self.round.job_index.get(name)
            if job is None or job not in self.state.places:
                return f"job {name!r} does not run"
            if self.reading.stands[job].job.restart_seconds is None:
                return f"job {name!r} has no restart_seconds, so it stays where it is"
            gpus += self.reading.stands[job].need.gpus
        for name, target in change.move.items():
            stand = self.reading.stands[self.round.job_index[name]]
            for node, count in target.items():
                if node not in self.round.cluster.node_index or type(count) is not int or count < 1:
                    return f"job {name!r} moves to {count!r} GPUs of node {node!r}"
            if sum(target.values()) != stand.need.gpus:
                return f"job {name!r} moves to {sum(target.values())} GPUs; it has {stand.need.gpus}"
        return None if change.gpus == gpus else f"says {change.gpus} GPUs; it is {gpus}"

    def _unasked(self, job: Job, asked: Asked, change: Change) -> str | None:
        """Return what is wrong with a change where jobs ask for certain nodes, or may not be touched once they run."""
        if job.held is not None or (job.not_before or 0.0) > self.round.now:
            return "the job may not start then"
        if change.wait_seconds and not self._last(job, asked, change):
            return "nodes may not be available then"
        if change.add_gpus is not None and (change.rack is not None or len(self._like(asked, change).parts) != 1):
            return "what the further node would be is not said"
        for name in change.preempt:
            if self._of(name).preemptible is False:
                return f"job {name!r} may not be stopped"
        for name, target in change.move.items():
            other = self._of(name)
            if (other.preemptible if other.movable is None else other.movable) is False:
                return f"job {name!r} may not be moved"
            assignment = Assignment(jobs=(name,), gpus=target)
            if any(start_breaches(self.round, other, assignment, name)):
                return f"job {name!r} may not be on the nodes it moves to"
        return None

    def _like(self, asked: Asked, change: Change) -> Asked:
        """Return what a job asks, less the parts that the node to add is not ``like``."""
        if change.like is None:
            return asked
        place = self.round.cluster.node_index.get(change.like)
        return replace(asked, parts=tuple(part for part in asked.parts if place in part))

    def _last(self, job: Job, asked: Asked, change: Change) -> bool:
        """Return whether the nodes where a job may start, or others are moved to, are available after the wait."""
        index = self.round.cluster.node_index
        ends = [(job, node) for part in asked.parts for node in part]
        ends += [(self._of(name), index[node]) for name, target in change.move.items() for node in target]
        start = micro(self.round.now) + micro(change.wait_seconds or 0.0)
        for one, node in ends:
            until, limit = self.round.cluster.nodes[node].available_until, one.time_limit_seconds
            if until is not None and start + (1 if limit is None else micro(limit)) > micro(until):
                return False
        return True

    def _of(self, name: str) -> Job:
        return self.round.jobs[self.round.job_index[name]]

    def _in_vain(self, stand: Stand, change: Change, level: int) -> str | None:
        """Return why the job could not start after all; the state is left as it was."""
        extra = None
        if change.add_gpus is not None:
            rack = self.racks.get(change.rack, len(self.racks))
            extra = rack, Room(gpus=change.add_gpus, milli=None, mebibytes=None)
        if level == APART:
            return "the job is left alone then"
        index, nodes = self.round.job_index, self.round.cluster.node_index
        targets = {index[name]: {nodes[s]: gpus for s, gpus in to.items()} for name, to in change.move.items()}
        before = {job: self.state.take(job) for job in (*targets, *(index[name] for name in change.preempt))}
        for job, target in targets.items():
            self.state.put(job, target)
        try:
            crowded = [node for target in targets.values() for node in target if self.state.is_crowded(node)]
            if crowded:
                return f"there is no room on node {self.round.cluster.nodes[crowded[0]].id!r}"
            apart = [job for job in targets if self._is_apart(job, targets[job], before[job], extra)]
            if apart:
                return f"job {self.reading.stands[apart[0]].job.id!r} is further apart than it may be"
            if not self._could_place(stand, level, extra, change):
                return "the job could not start"
            return None
        finally:
            for job in targets:
                self.state.take(job)
            for job, held in before.items():
                self.state.put(job, held)

    def _could_place(self, stand: Stand, level: int, extra: tuple[int, Room] | None, change: Change) -> bool:
        if stand.asked is None or extra is None:
            return self.state.could_place(stand, level, self._reach(stand, extra), extra)
        return self.state.could_place_with(self._like(stand.asked, change), stand.need, level, extra[1])

    def _is_apart(self, job: int, target: Held, before: Held, extra: tuple[int, Room] | None) -> bool:
        """Return whether a job is moved further apart than it is, and than it could have been put."""
        stand = self.reading.stands[job]
        reach = self._reach(stand, extra)
        after, now = (
            reach.spread(len(held), len({self.reading.racks[node] for node in held})) for held in (target, before)
        )
        return after > max(now, stand.level)

    def _reach(self, stand: Stand, extra: tuple[int, Room] | None) -> Reach:
        """Return what is close for a job, in the larger cluster if a node was added."""
        if extra is None:
            return stand.reach
        rack, room = extra
        if (rack, room.gpus) not in self.layouts:
            larger = self.rooms_by_rack.get(rack, Counter()) + Counter([room])
            self.layouts[rack, room.gpus] = Layout.of({**self.rooms_by_rack, rack: larger}.values())
        return Reach.of(self.layouts[rack, room.gpus], stand.need)
