"""The published rules of Philly as an algorithm on the state of the cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from heapq import heapify, heappop, heapreplace

import numpy as np

from muri_opt.rounds import Budget, Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.systems.philly.cluster_state import ClusterState, find_placement
from muri_opt.systems.philly.demand_fit import DemandFit
from muri_opt.systems.philly.job_status import Held, JobStatus
from muri_opt.systems.philly.locality import TOGETHER
from muri_opt.systems.philly.migration import Moving
from muri_opt.systems.philly.preemption import Removals, Victims
from muri_opt.systems.philly.queues import Queue, Queues
from muri_opt.systems.philly.tenant_rules import WHOLE

_SECONDS_EACH = 1e-7
"""What a step takes for each job, and for a tenth of a node."""
Ways = list[Callable[[], Removals]]
"""Jobs that may leave, looked for in one way after another."""


def schedule(round_: Round, status: JobStatus, budget: Budget | None = None) -> dict[int, Held]:
    """Return where every job is that runs after the round.

    Gangs start within the quotas of their tenants, then above them. Where that leaves a gang waiting whose tenant has
    quota left, tenants over their quota give way, and then jobs are moved; each time all that wait are looked at again,
    those that gave way as well. It ends: to give way adds GPUs within quotas, which no other step takes away, and every
    job is moved once at most.

    Where a ``budget`` is over, it ends with what it has: after every step all rules are kept.

    Without migration, to decide again right after changes nothing, for all that is looked at are who is where and who
    waits, with one exception: a job preempted in this round may depend on the load of a borrower started in it. Then
    another job within its quota cannot take the place of that borrower if the load is not reached without it; in the
    next round, in which the preempted job is none any more, it can.
    """
    work = Schedule(round_, status)
    cost = _SECONDS_EACH * (len(round_.jobs) + 10 * len(round_.cluster.nodes))
    while True:
        work.start(borrowing=False)
        work.return_victims()
        work.start(borrowing=True)
        if budget is not None:
            budget.spend(cost)
        if (budget is not None and budget.over()) or (not work.preempt() and not work.migrate()):
            return work.state.at


class Schedule:
    """A decision in the making."""

    def __init__(self, round_: Round, status: JobStatus) -> None:
        self.state = ClusterState(round_, status)
        self._status, self._fit = status, DemandFit(self.state)
        self._queues = Queues(round_, status, self.state, self._fit.of)
        self._total = status.total
        self._before = int(round_.amounts.g[status.running].sum())
        self._started = np.zeros_like(status.running)
        self._moved = np.zeros_like(status.running)
        self._preempted = np.zeros_like(status.running)
        jobs, nodes, gpus = self.state.pairs()
        self._node_before, self._gpus_there = np.zeros_like(round_.amounts.g), np.zeros_like(round_.amounts.g)
        self._node_before[jobs], self._gpus_there[jobs] = nodes, gpus

    def start(self, *, borrowing: bool) -> None:
        """Start all jobs that find room, those of the largest priority first; without ``borrowing`` only within quotas.

        Of one priority it is the turn of the least served tenant. A job that finds none is passed by smaller ones
        behind it.
        """
        for rank in reversed(range(self._status.classes)) if self._queues.has(self._fit.able) else ():
            waiting = self._queues.of_priority(rank)
            heap = [(self._queues.served(tenant), tenant, 0) for tenant in waiting]
            heapify(heap)
            while heap:
                _, tenant, place = heap[0]
                left = UNLIMITED if borrowing else self.state.quota_left(tenant, rank)
                after = self._start_next(waiting[tenant], place, left)
                if after < 0:
                    heappop(heap)
                else:
                    heapreplace(heap, (self._queues.served(tenant), tenant, after))

    def _start_next(self, queue: Queue, place: int, left: int) -> int:
        """Start the first job from a place on that finds room and asks for no more GPUs than are left.

        Return the place behind it, or -1 where there is none. A demand that found no room finds none until jobs leave.
        """
        small = self._fit.gpus <= left
        while (found := queue.next(place, self._fit.able & small)) >= 0:
            job = int(queue.jobs[found])
            held = find_placement(self.state, job, int(self._status.widest[job]))
            if held is not None:
                self._put(job, held)
                return found + 1
            self._fit.able[self._fit.of[job]] = False
            place = found + 1
        return -1

    def return_victims(self) -> None:
        """Leave preempted jobs where they were if nobody is there after all, or move them if that is allowed.

        Without migration those that find their place taken are in the queues, and may start again.
        """
        gone = np.flatnonzero(self._preempted & ~self.state.runs)
        if self._status.rules.migrate == 0:  # then only those come back whose nodes have GPUs again
            gone = gone[self.state.gpus[self._node_before[gone]] >= self._gpus_there[gone]]
        for job in gone.tolist():
            held = self._status.held[job]
            if not self._is_free(job, held):
                place = find_placement(self.state, job, int(self._status.widest[job])) if self._may_move(job) else None
                if place is None:
                    continue
                held = place
                self._moved[job] = True
            self.state.put(job, held)
            self._preempted[job] = False

    def _is_free(self, job: int, held: Held) -> bool:
        """Return whether a job has room on these nodes; most that have none lack GPUs, which is seen first."""
        if any(self.state.gpus[node] < gpus for node, gpus in held.items()):
            return False
        room = self.state.room(job)
        return all(room[node] >= gpus for node, gpus in held.items())

    @property
    def _budget(self) -> int | None:
        """GPUs that may still be moved; ``None`` is any."""
        most = self._status.rules.migrate
        return None if most is None else most - int(self.state.amounts.g[self._moved].sum())

    def _may_move(self, job: int) -> bool:
        if self._status.rules.migrate == 0 or not self._status.may.move[job]:
            return False
        budget = self._budget
        return budget is None or bool(self.state.amounts.g[job] <= budget)

    def preempt(self) -> bool:
        """Start one job within quota in the place of jobs of tenants over theirs; return whether there was one.

        Jobs that this very round has started give way too, and wait on at no cost; and those it has preempted, for they
        are paid for. The load is looked at before the job starts: then it is the same in the next round, and a job that
        waits now does not preempt anybody then.
        """
        state, status = self.state, self._status
        if status.rules.preempt_at is None or self._load() < status.rules.preempt_at * self._total:
            return False
        tried = np.zeros_like(self._fit.able)
        known: dict[int | None, Ways] = {}
        for rank in reversed(range(status.classes)):
            for tenant, queue in self._queues.in_turn(rank):
                if not state.tree.plain:
                    tried[:] = False
                    known.clear()
                small, place = self._fit.gpus <= state.quota_left(tenant, rank), -1
                while (place := queue.next(place + 1, small & ~tried)) >= 0:
                    job = int(queue.jobs[place])
                    if state.tree.plain or not self._preempted[job]:  # who was preempted before loses nothing more
                        tried[self._fit.of[job]] = True
                    gpus = None if state.tree.plain else int(state.amounts.g[job])
                    if gpus not in known:
                        known[gpus] = self._ways(None if state.tree.plain else job)
                    for removals in known[gpus]:
                        victims = removals().smallest(job, int(status.widest[job]))
                        if victims is not None and self._gives_way(job, victims):
                            return True
        return False

    def _ways(self, joins: int | None) -> Ways:
        """Return in which ways jobs may be looked for that give way, each made when it is first asked for."""
        state, status = self.state, self._status
        unpaid = self._started | self._preempted
        may = status.may.be_preempted | self._started
        ways = [partial(Removals, state, may, keeps_quota=True, joins=joins, unpaid=unpaid)]
        if self._started.any():  # then the next round will look for them in another way
            later, restart = status.may.be_preempted_later, status.values.restart_later
            ways.append(partial(Removals, state, later, keeps_quota=True, joins=joins, restart=restart))
        return [cache(way) for way in ways]

    def migrate(self) -> bool:
        """Move jobs to let one start, or one closer together, if it is worth it; return whether there was one."""
        status = self._status
        if status.rules.migrate == 0:
            return False
        stays = status.may.move & ~self._moved & ~self._preempted
        moving = Moving(self.state, stays, self._budget)
        demand, hopeless = self._fit.of.tolist(), set[int]()
        for job in self._waiting():
            if demand[job] in hopeless:
                continue
            found = moving.smallest(job, int(status.widest[job]))
            if found is None:
                hopeless.add(demand[job])
            elif self._gain(job, found[1]) + self._change(found[0]) > 0:
                self._move(found[0])
                self._put(job, found[1])
                return True
        return any(self._closer(job) for job in np.flatnonzero(stays & (status.widest > TOGETHER)).tolist())

    def _closer(self, job: int) -> bool:
        """Move a job that is spread further than it needs to be, if there is a closer place for it."""
        if len(self.state.at[job]) == 1 <= self._status.locality.fewest[job]:
            return False
        spread = self._spread(job, self.state.at[job])
        if spread == TOGETHER or not self._may_move(job):
            return False
        held = self.state.take(job)
        place = find_placement(self.state, job, spread - 1)
        self.state.put(job, held)
        if place is None or self._change({job: place}) <= 0:
            return False
        self._move({job: place})
        return True

    def _put(self, job: int, held: Held) -> None:
        self.state.put(job, held)
        self._started[job] = not self._status.running[job]

    def _waiting(self) -> list[int]:
        """Return the jobs that wait, those of the least served tenant first, within quotas before all others."""
        state, g = self.state, self.state.amounts.g
        within, above = list[Ints](), list[Ints]()
        for rank in reversed(range(self._status.classes)):
            for tenant, queue in self._queues.in_turn(rank):
                jobs = queue.waiting
                small = g[jobs] <= state.quota_left(tenant, rank)
                within.append(jobs[small])
                above.append(jobs[~small])
        return [job for some in (*within, *above) for job in some.tolist()]

    def _load(self) -> int:
        """Return the GPUs in use before the round and started in it, in thousandths."""
        return WHOLE * (self._before + int(self.state.amounts.g[self._started].sum()))

    @property
    def _in_use(self) -> int:
        return int((self._status.gpus - self.state.gpus).sum())

    def _gives_way(self, job: int, victims: Victims) -> bool:
        """Put a job in the place of its victims, unless those not yet started were needed for the load.

        Which of them were started in this round, the next one does not know. So of several victims any but one may have
        been: the load must be reached without them.
        """
        g, back = self.state.amounts.g, [victim for victim in victims[0] if self._started[victim]]
        paid = [victim for victim in victims[0] if not self._started[victim]]
        least = (self._status.rules.preempt_at or 0) * self._total
        if (paid or self._preempted.any()) and self._load() + WHOLE * int(g[job] - g[back].sum()) < least:
            return False
        others = sorted(g[list(victims[0])].tolist())[1:]
        if paid and WHOLE * (self._in_use + int(g[job]) - sum(others)) < least:
            return False
        if not self.state.tree.plain and not self._keeps_quotas(job, victims[0], paid):
            return False
        for victim in victims[0]:
            self.state.take(victim)
        self._started[back] = False
        self._moved[paid] = False
        self._preempted[paid] = True
        self._put(job, victims[1])
        self._fit.look_again()
        return True

    def _keeps_quotas(self, job: int, victims: tuple[int, ...], paid: list[int]) -> bool:
        """Return whether more is within quotas with the job than with its victims, larger priorities first.

        And whether every preempted job is one of a tenant that has its quota still.
        """
        tree, there = self.state.tree, self.state.at.keys()
        after = tree.used([*(there - set(victims)), job])
        if tree.within(after)[::-1].tolist() <= tree.within(tree.used(there))[::-1].tolist():
            return False
        held = tree.held(after)[:, 0]
        gone = {*paid, *np.flatnonzero(self._preempted).tolist()} - {job} - (there - set(victims))
        lines = (tree.line(int(tree.tenant[one])) for one in gone)
        return all(any(held[one] >= tree.limit[one] for one in line[:1]) for line in lines)

    def _move(self, places: dict[int, Held]) -> None:
        for job in places:
            self.state.take(job)
        for job, held in places.items():
            self.state.put(job, held)
            self._moved[job] = True
        self._fit.look_again()

    def _gain(self, job: int, held: Held) -> int:
        """Return what the value gains by starting a job there."""
        status, amounts = self._status, self.state.amounts
        gpus, line = int(amounts.g[job]), self.state.tree.line(int(amounts.tenant[job]))
        within = min([gpus, *(max(0, int(self.state.quota[one])) for one in line)])
        premium = status.values.weights.premium[int(status.rank[job])]
        return premium * within + int(status.values.placed[job, self._spread(job, held)])

    def _change(self, places: dict[int, Held]) -> int:
        """Return what the value gains by moving jobs that have not been moved; a loss is below nothing."""
        status = self._status
        return sum(
            int(status.values.placed[job, self._spread(job, held)] - status.values.kept[job])
            for job, held in places.items()
        )

    def _spread(self, job: int, held: Held) -> int:
        return self._status.locality.spread(job, np.array(list(held), dtype=np.int64))
