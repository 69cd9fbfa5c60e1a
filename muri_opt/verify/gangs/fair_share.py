"""The verifier's own reading of fair shares: one job after another, from the cluster down to the tenant with the least.

Every tenant, and the cluster, has a queue of its children, the least claim first. A claim is the child's part of all
decayed use and the largest part of the cluster's GPUs, CPUs or memory that its jobs served so far ask for, together
over its weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from heapq import heapify, heappop, heapreplace
from math import lcm

from muri_opt.rounds import Job, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.amounts import Need, micro, need_of, room_of

Arrival = tuple[int, int]
"""When a job was submitted, and its place in the round."""
Parts = tuple[int, int, int]
"""Parts of the cluster's GPUs, CPUs and memory, in whole numbers over one denominator."""


class _Party:
    """A tenant, the cluster, or jobs of one: its children in a queue, or its jobs from the last to the first."""

    def __init__(self, weight: float = 1.0) -> None:
        self.weight = (1, 1) if weight == 1.0 else Fraction(repr(weight)).as_integer_ratio()
        self.used = 0
        self.served: Parts = (0, 0, 0)
        self.jobs: list[tuple[Arrival, Job]] = []
        self.children: list[_Party] = []
        self.queue: list[tuple[int, Arrival, int]] = []

    @property
    def next(self) -> Arrival | None:
        """The arrival of the job that is served next, if there is one."""
        if self.children:
            return self.queue[0][1] if self.queue else None
        return self.jobs[-1][0] if self.jobs else None


class _Filling:
    """The cluster with all its parties, and what claims are counted in: all use, and what divides parts and weights."""

    def __init__(self, round_: Round) -> None:
        rooms = [room_of(node) for node in round_.cluster.nodes if node.gpus]
        self._totals = [
            sum(room.gpus for room in rooms),
            _total([room.milli for room in rooms]),
            _total([room.mebibytes for room in rooms]),
        ]
        self._whole = lcm(*(total for total in self._totals if total))
        self._asked: dict[Need, Parts] = {}
        self.top = _tree(round_)
        self._all_use = self.top.used or 1
        parties = _downwards(self.top)
        self._weights = lcm(*(party.weight[0] for party in parties))
        for party in reversed(parties):
            party.queue = [
                (self.claim(child), child.next, place)
                for place, child in enumerate(party.children)
                if child.next is not None
            ]
            heapify(party.queue)

    def claim(self, party: _Party) -> int:
        """Return what a party has for its weight, over a denominator that all parties have in common."""
        above = party.used * self._whole + max(party.served) * self._all_use
        up, down = party.weight
        return above * down * (self._weights // up)

    def asked(self, job: Job) -> Parts:
        """Return the parts of the cluster that a job asks for; none of what nodes do not limit."""
        need = need_of(job)
        known = self._asked.get(need)
        if known is None:
            amounts = need.gpus, need.gpus * need.milli, need.gpus * need.mebibytes
            gpus, cpus, memory = (
                amount * (self._whole // total) if total else 0
                for amount, total in zip(amounts, self._totals, strict=True)
            )
            known = self._asked[need] = gpus, cpus, memory
        return known


@recalled
def fair_shares(round_: Round) -> list[Job]:
    """Return the jobs as fair shares serve them, priorities aside."""
    filling = _Filling(round_)
    line: list[Job] = []
    while filling.top.next is not None:
        way = [filling.top]
        while way[-1].children:
            way.append(way[-1].children[way[-1].queue[0][2]])
        job = way[-1].jobs.pop()[1]
        line.append(job)
        gpus, cpus, memory = filling.asked(job)
        for party in reversed(way):
            if party.children:
                place = party.queue[0][2]
                child = party.children[place]
                coming = child.next
                if coming is None:
                    heappop(party.queue)
                else:
                    heapreplace(party.queue, (filling.claim(child), coming, place))
            before = party.served
            party.served = before[0] + gpus, before[1] + cpus, before[2] + memory
    return line


def _total(amounts: Sequence[int | None]) -> int:
    """Return what nodes have together; 0 where one of them does not limit it."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else 0


def _tree(round_: Round) -> _Party:
    """Return the cluster, with tenants below it and a child for the own jobs of each that has others below."""
    tenants = round_.cluster.tenants
    parties = {tenant.id: _Party(tenant.weight) for tenant in tenants}
    top = _Party()
    for tenant in tenants:
        (top if tenant.parent is None else parties[tenant.parent]).children.append(parties[tenant.id])
    said = {id(parties[tenant.id]): round((tenant.used_gpu_seconds or 0.0) * 1000) for tenant in tenants}
    for party in reversed(_downwards(top)):
        party.used = max(said.get(id(party), 0), sum(child.used for child in party.children))
    own = {name: _Party() for name, party in parties.items() if party.children}
    for name, mine in own.items():
        mine.used = parties[name].used - sum(child.used for child in parties[name].children)
        parties[name].children.append(mine)
    alone: dict[object, _Party] = {}
    arrivals = [((micro(job.submitted or 0.0), place), job) for place, job in enumerate(round_.jobs)]
    for arrival, job in sorted(arrivals, key=lambda one: one[0], reverse=True):
        if job.tenant is not None and job.tenant in parties:
            party = own.get(job.tenant, parties[job.tenant])
        else:
            party = alone.setdefault((job.id,) if job.tenant is None else job.tenant, _Party())
        party.jobs.append((arrival, job))
    top.children += alone.values()
    return top


def _downwards(top: _Party) -> list[_Party]:
    """Return a party and all below it, each before those below it."""
    found = [top]
    for party in found:
        found += party.children
    return found
