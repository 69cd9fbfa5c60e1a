"""Fair shares over a tree of tenants: progressive filling by weight, decayed use and dominant share, exactly.

At every level the next job comes from the child with the least claim: its part of all decayed use, and the largest
part of the cluster's GPUs, CPUs or memory that its jobs ranked so far ask for, together over its weight.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from heapq import merge
from itertools import accumulate
from math import lcm
from typing import NamedTuple

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.quantities import gpu_milliseconds, microseconds
from muri_opt.rounds.tenant_tree import lines_above


class _Child(NamedTuple):
    """A tenant, or jobs beside tenants: its jobs in order, its decayed use, and its weight as a fraction."""

    jobs: Sequence[int]
    use: int
    weight: tuple[int, int] = (1, 1)


@recalled
def fair_share_order(round_: Round) -> list[int]:
    """Return job positions from the first to be served to the last, priorities aside.

    What a tenant has used counts all below it, and is at least what those have. The jobs of a tenant with others below
    it are beside those as one more child, of weight 1 and with what the tenant's use has beside theirs. A job without a
    tenant, or of one that the round does not list, is beside the tenants without a parent. Of equal claims the child
    goes first whose next job was submitted first.
    """
    return _Filling(round_).order()


class _Filling:
    """The parts of the cluster that jobs ask for, in whole numbers over one denominator."""

    def __init__(self, round_: Round) -> None:
        self._round = round_
        amounts = round_.amounts
        usable = amounts.G > 0
        resources = [(amounts.g, amounts.G), (amounts.g * amounts.c, amounts.C), (amounts.g * amounts.m, amounts.M)]
        bound = [(asked, _total(has[usable])) for asked, has in resources]
        limited = [(asked, total) for asked, total in bound if total]
        self._whole = lcm(*(total for _, total in limited))
        self._asked = [[one * (self._whole // total) for one in asked.tolist()] for asked, total in limited]
        jobs = round_.jobs
        arrival = sorted(range(len(jobs)), key=lambda job: (microseconds(jobs[job].submitted or 0.0), job))
        self._arrived = arrival
        self._place = [0] * len(jobs)
        for place, job in enumerate(arrival):
            self._place[job] = place
        self._used = self._weight = 1

    def order(self) -> list[int]:
        """Return the jobs as progressive filling serves them, from the tenants without others below them upwards."""
        tenants = self._round.cluster.tenants
        own = self._queues()
        lines = lines_above(tenants) or tuple((place,) for place in range(len(tenants)))
        use: list[int] = [0] * len(tenants)
        below: defaultdict[int, list[int]] = defaultdict(list)
        upwards = sorted(range(len(tenants)), key=lambda place: -len(lines[place]))
        for place in upwards:
            said = gpu_milliseconds(tenants[place].used_gpu_seconds or 0.0)
            use[place] = max(said, sum(use[one] for one in below[place]))
            below[lines[place][1] if len(lines[place]) > 1 else -1].append(place)
        self._used = sum(use[place] for place in below[-1]) or 1
        found: dict[int, list[int]] = {}
        weights = [Fraction(repr(tenant.weight)).as_integer_ratio() for tenant in tenants]
        self._weight = lcm(*(up for up, _ in weights))

        def children(place: int) -> list[_Child]:
            return [_Child(found[one], use[one], weights[one]) for one in below[place]]

        for place in upwards:
            rest = use[place] - sum(use[one] for one in below[place])
            mine = own.pop(tenants[place].id, [])
            found[place] = self._merged([*children(place), _Child(mine, rest)])
        return self._merged([*children(-1), *(_Child(jobs, 0) for jobs in own.values())])

    def _queues(self) -> dict[object, list[int]]:
        """Return the jobs of each tenant in the order of their arrival; each job of none is alone."""
        queues: dict[object, list[int]] = {}
        for job in self._arrived:
            tenant = self._round.jobs[job].tenant
            queues.setdefault((job,) if tenant is None else tenant, []).append(job)
        return queues

    def _merged(self, children: Sequence[_Child]) -> list[int]:
        """Return the jobs of some children in one order; that of each child stays as it is."""
        some = [child for child in children if child.jobs]
        if len(some) == 1:
            return list(some[0].jobs)
        # What a child claims depends on its own jobs alone, so to serve the least claim is to merge.
        return [job for _, _, job in merge(*map(self._claims, some))]

    def _claims(self, child: _Child) -> list[tuple[int, int, int]]:
        """Return what a child claims before each of its jobs, then the job's arrival.

        Claims are whole numbers over one denominator, that of all use, parts and weights: fractions are slow to
        compare.
        """
        up, down = child.weight
        scale = down * (self._weight // up)
        base = child.use * self._whole
        before = [accumulate([asked[job] for job in child.jobs], initial=0) for asked in self._asked]
        largest = map(max, *before) if len(before) > 1 else before[0] if before else [0] * len(child.jobs)
        return [
            ((base + part * self._used) * scale, self._place[job], job)
            for job, part in zip(child.jobs, largest, strict=False)
        ]


def _total(has: Ints) -> int:
    """Return what nodes have together; 0 where that is nothing, or one of them does not say it."""
    return 0 if (has >= UNLIMITED).any() else int(has.sum())
