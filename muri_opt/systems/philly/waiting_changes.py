"""The smallest change of each kind that would start a waiting job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec.structs import replace

from muri_opt.rounds import Budget, Job, Round
from muri_opt.rounds.decision import Change
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND, microseconds
from muri_opt.rounds.waiting import waited_by
from muri_opt.systems.capacity.changes_in_sets import further_node
from muri_opt.systems.capacity.node_sets import Demand as NodeDemand
from muri_opt.systems.philly.cluster_state import ClusterState, Demand, find_placement
from muri_opt.systems.philly.locality import ANYWHERE
from muri_opt.systems.philly.migration import Moving
from muri_opt.systems.philly.preemption import Removals
from muri_opt.systems.philly.rack_capacity import smallest_node
from muri_opt.systems.philly.tenant_rules import TenantRules

MOST_SEARCHES: Final = 100
"""Different demands and levels for which moves and preemptions are looked for; those that come later get none."""


def demand_of(state: ClusterState, job: int) -> Demand:
    """Return what a job asks for."""
    return state.demands[job]


def soonest(rules: TenantRules, waited: int, level: int) -> int:
    """Return the shortest wait from this one on after which a gang may spread to ``level`` and is not in back-off."""
    moment = max(waited, (0, rules.rack_after, max(rules.rack_after, rules.any_after))[level])
    turn = rules.hold + rules.backoff
    if rules.backoff and moment % turn >= rules.hold:
        moment += turn - moment % turn
    return moment


class SmallestChanges:
    """What would start the jobs that wait beside what is in the cluster; jobs of equal demand are looked at once.

    The rules are those of the round after this one, in which a preempted job is one that waits. Once a ``budget`` is
    over, moves and preemptions are no longer looked for.
    """

    def __init__(self, round_: Round, state: ClusterState, budget: Budget | None = None) -> None:
        self.round, self.state, self._budget = round_, state, budget
        may = np.array([job.restart_seconds is not None for job in round_.jobs], dtype=bool)
        stops, moves = may, may
        if state.status.sets is not None:
            stops = may & np.array([job.preemptible is not False for job in round_.jobs], dtype=bool)
            moves = may & np.array([_is_movable(job) for job in round_.jobs], dtype=bool)
        self._removals, self._moving = Removals(state, stops, keeps_quota=False), Moving(state, moves, None)
        self._closest: dict[Demand, int | None] = {}
        self._resources: dict[tuple[Demand, int], tuple[Change, ...]] = {}

    def closest(self, job: int) -> int | None:
        """Return how far a job is spread at least if it starts on what is free; ``None`` if it cannot."""
        demand = demand_of(self.state, job)
        if demand not in self._closest:
            held = find_placement(self.state, job, ANYWHERE)
            spread = self.state.status.locality.spread
            self._closest[demand] = None if held is None else spread(job, np.array(list(held), dtype=np.int64))
        return self._closest[demand]

    def of(self, job: int) -> tuple[Change, ...]:
        """Return one change of each kind that there is, the soonest first.

        Of those that help equally soon a further node is last, and the others come by their GPUs, moves before
        preemptions. A job in back-off waits for its end with every change; where that is enough, it is the only one.
        A job that is held, or is to begin later, is told none; and none is told to wait for nodes that are not
        available then.
        """
        one = self.round.jobs[job]
        if one.held is not None or (one.not_before or 0.0) > self.round.now:
            return ()
        ways = self._of(job)
        if "node.available_until" in self.round.used_fields:
            ways = tuple(change for change in ways if not change.wait_seconds or self._lasts(job, change))
        return ways

    def _lasts(self, job: int, change: Change) -> bool:
        """Return whether all nodes where a job may start, or others are moved to, are available after the wait."""
        index, sets = self.round.cluster.node_index, self.state.status.sets
        nodes = [] if sets is None else [node for some in sets.of(job).sets for node in some.tolist()]
        moved = ((self.round.job_index[name], [index[node] for node in held]) for name, held in change.move.items())
        start = microseconds(self.round.now) + microseconds(change.wait_seconds or 0.0)
        return all(self._stay_open(one, some, start) for one, some in ((job, nodes), *moved))

    def _stay_open(self, job: int, nodes: Sequence[int], start: int) -> bool:
        """Return whether a job that starts on the nodes at some moment can end there."""
        limit = self.round.jobs[job].time_limit_seconds
        ends = (self.round.cluster.nodes[node].available_until for node in nodes)
        last = start + (1 if limit is None else microseconds(limit))
        return all(end is None or last <= microseconds(end) for end in ends)

    def _of(self, job: int) -> tuple[Change, ...]:
        """Return one change of each kind that there is, if waiting changes nothing but the job's level."""
        rules, waited = self.state.status.rules, waited_by(self.round, self.round.jobs[job])
        closest = self.closest(job)
        first = soonest(rules, waited, 0)
        waits = []
        if closest is not None:
            moment = soonest(rules, waited, closest)
            waits.append(Change(wait_seconds=(moment - waited) / MICROSECONDS_PER_SECOND))
            if moment == first:
                return tuple(waits)
        found = self._with_resources(job, rules.level(first))
        if first > waited:
            found = tuple(replace(change, wait_seconds=(first - waited) / MICROSECONDS_PER_SECOND) for change in found)
        return (*found, *waits)

    def _with_resources(self, job: int, level: int) -> tuple[Change, ...]:
        """Return the changes that start the job at a level, the cheapest first."""
        key = demand_of(self.state, job), level
        if key not in self._resources:
            search = len(self._resources) < MOST_SEARCHES and (self._budget is None or not self._budget.over())
            found = (self._move(job, level), self._preempt(job, level)) if search else ()
            changes = list(filter(None, found))
            sets = self.state.status.sets
            further = self._add(job, level) if sets is None else self._add_in_sets(job, level, sets.of(job))
            changes += [] if further is None else [further]
            self._resources[key] = tuple(sorted(changes, key=_price))
        return self._resources[key]

    def _move(self, job: int, level: int) -> Change | None:
        found = self._moving.smallest(job, level)
        if found is None:
            return None
        moves, _ = found
        jobs, nodes, gpus = self.round.jobs, self.round.cluster.nodes, self.round.amounts.g
        places = {
            jobs[other].id: {nodes[s].id: number for s, number in sorted(held.items())}
            for other, held in sorted(moves.items())
        }
        return Change(move=places, gpus=int(gpus[list(moves)].sum()))

    def _preempt(self, job: int, level: int) -> Change | None:
        found = self._removals.smallest(job, level)
        if found is None:
            return None
        victims, _ = found
        jobs, gpus = self.round.jobs, self.round.amounts.g
        return Change(preempt=tuple(jobs[victim].id for victim in victims), gpus=int(gpus[list(victims)].sum()))

    def _add(self, job: int, level: int) -> Change:
        gpus, rack = smallest_node(self.state, job, level)
        return Change(add_gpus=gpus, rack=rack, gpus=gpus)

    def _add_in_sets(self, job: int, level: int, demand: NodeDemand) -> Change | None:
        """Return the smallest further node for a gang that may be anywhere; else one that holds all of it."""
        gpus = int(self.state.amounts.g[job])
        if level >= ANYWHERE:
            found = further_node(self.state.room(job), gpus, demand)
        else:
            found = (gpus, int(demand.sets[0][0])) if demand.sets and demand.least == 1 else None
        if found is None:
            return None
        like = self.round.cluster.nodes[found[1]].id if len(demand.sets) > 1 else None
        return Change(add_gpus=found[0], like=like, gpus=found[0])


def _is_movable(job: Job) -> bool:
    """Return whether a job may be moved once it runs."""
    return (job.preemptible if job.movable is None else job.movable) is not False


def _price(change: Change) -> tuple[bool, int, bool]:
    return change.add_gpus is not None, change.gpus, bool(change.preempt)
