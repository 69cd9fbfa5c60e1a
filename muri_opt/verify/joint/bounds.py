"""Bounds on the value of any joint round, from prices, in exact integers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb

import numpy as np

from muri_opt.rounds import LinearDuals, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.amounts import need_of, word_for
from muri_opt.verify.dual_bound import PriceTable, pooled_supply
from muri_opt.verify.joint.class_bound import bound_by_classes
from muri_opt.verify.joint.plans import PlanEntry, period_of
from muri_opt.verify.joint.reasons import nodes_of_plan, parts_open
from muri_opt.verify.joint.rules import Joint
from muri_opt.verify.joint.stage_bound import bound_by_stages
from muri_opt.verify.joint.value import MILLION, Workers, workers_of
from muri_opt.verify.muri.periods import Ints, group_periods
from muri_opt.verify.plans.plan_parts import Piece

MOST_GROUPS = 400_000
"""Groups, each with each number of GPUs, beyond which they are not all looked at."""


@recalled
def joint_bound(round_: Round, rules: Joint, duals: LinearDuals) -> int | None:
    """Return the largest value that prices allow any joint round; ``None`` where too many groups had to be looked at.

    Prices of ``stages`` need no groups, and those with jobs that are ``alike`` only groups of classes. All others
    charge each group for its jobs, GPUs, CPUs, memory, quotas, the nodes it is on, and the GPUs it keeps; what a group
    would still gain is charged to its first job.
    """
    workers = workers_of(round_, rules)
    if "alike" in duals.multipliers:
        return bound_by_classes(round_, workers, duals)
    if "stages" in duals.multipliers:
        return bound_by_stages(round_, workers, duals)
    return _by_groups(round_, workers, duals)


def _by_groups(round_: Round, workers: Workers, duals: LinearDuals) -> int | None:
    """Return the bound by prices of jobs and of what they use: every group that may be is looked at."""
    supply = {
        "once": [1] * len(workers.jobs),
        "kept": [node.gpus for node in round_.cluster.nodes],
        "nodes": [node.gpus for node in round_.cluster.nodes],
        **pooled_supply(round_),
    }
    prices = PriceTable.read(duals, supply)
    extra = [0] * len(workers.jobs)
    sharers = [place for place, job in enumerate(workers.jobs) if job.stages is not None]
    sizes = sorted({gpus for job in workers.jobs for gpus in job.by_gpus})
    looked_at = sum(comb(len(sharers), count) for count in range(2, workers.most_jobs + 1)) * len(sizes)
    if looked_at > MOST_GROUPS:
        return None
    charges = _Charges(round_, workers, prices)
    for place, job in enumerate(workers.jobs):
        if job.plans:
            extra[place] = charges.unpaid_by_plans(place)
    for gpus in sizes:
        able = [place for place, job in enumerate(workers.jobs) if gpus in job.by_gpus and not job.plans]
        together = [place for place in able if workers.jobs[place].stages is not None]
        for count in range(1, workers.most_jobs + 1):
            groups = list(combinations(able if count == 1 else together, count))
            if groups:
                for place, unpaid in charges.unpaid(np.array(groups), gpus):
                    extra[place] = max(extra[place], unpaid)
    return prices.bound(extra)


class _Charges:
    """What groups pay at given prices."""

    def __init__(self, round_: Round, workers: Workers, prices: PriceTable) -> None:
        self._round, self._workers, self._prices = round_, workers, prices
        (self._gpu,), (self._milli,), (self._mebibyte,) = (prices.of[label] for label in ("gpus", "cpus", "memory"))
        quota = prices.of_tenants(round_)
        needs = [need_of(job) for job in round_.jobs]
        self._quota = [quota.get(job.tenant or "", 0) for job in round_.jobs]
        self._each = [
            self._milli * need.milli + self._mebibyte * need.mebibytes + owed
            for need, owed in zip(needs, self._quota, strict=True)
        ]
        ids = [node.id for node in round_.cluster.nodes]
        self._node: Sequence[int] = prices.of["nodes"]
        both = [kept + node for kept, node in zip(prices.of["kept"], self._node, strict=True)]
        self._both, kept_of = both, dict(zip(ids, both, strict=True))
        self._kept = [sum(kept_of[node] * has for node, has in (job.home or {}).items()) for job in workers.jobs]
        self._parts = parts_open(round_) if any(both) else None

    def _cheapest(self, group: Sequence[int]) -> int:
        """Return the least price of a node on which all jobs of a group may start."""
        if self._parts is None or not any(self._node):
            return 0
        reach = [{node for part in self._parts(self._round.jobs[place]) for node in part} for place in group]
        common = set.intersection(*reach)
        return min((self._node[node] for node in common), default=0)

    def unpaid_by_plans(self, place: int) -> int:
        """Return by how much the best plan of a job is worth more than it pays: each part is on a node of its own."""
        job, most = self._workers.jobs[place], 0
        scale, unit = self._prices.denominator, self._workers.unit
        for one in job.plans:
            plan, period = one.plan, period_of(one.plan)
            pieces = _pieces(one)
            paid = self._prices.of["once"][place] + plan.gpus * (self._gpu + self._quota[place])
            paid += self._milli * sum(piece.milli for piece in pieces)
            paid += self._mebibyte * sum(piece.mebibytes for piece in pieces)
            offer = MILLION * job.changed // (unit * period) * job.weight * scale
            most = max(most, offer - paid - self._on_nodes(place, one, pieces))
            held = sorted((job.home or {}).values())
            if plan.name == job.by and held == sorted(piece.gpus for piece in pieces):
                offer = MILLION * job.fresh // (unit * period) * job.weight * scale
                most = max(most, offer - paid - self._kept[place])
        return most

    def _on_nodes(self, place: int, one: PlanEntry, pieces: Sequence[Piece]) -> int:
        """Return what the cheapest nodes cost on which the parts of a plan may be: its parts count as kept, too."""
        if self._parts is None:
            return 0
        parts = nodes_of_plan(self._round, self._parts(self._round.jobs[place]), one)
        found = []
        for part in parts:
            cheap = sorted(self._both[node] for node in part)[: len(pieces)]
            if len(cheap) == len(pieces):
                large = sorted((piece.gpus for piece in pieces), reverse=True)
                found.append(sum(price * gpus for price, gpus in zip(cheap, large, strict=True)))
        return min(found, default=0)

    def unpaid(self, groups: Ints, gpus: int) -> Iterator[tuple[int, int]]:
        """Yield the first job of each group that is worth more than it pays, with how much more."""
        workers, scale = self._workers, self._prices.denominator
        jobs, count = workers.jobs, groups.shape[1]
        own = {
            place: self._prices.of["once"][place] + gpus * self._each[place] for place in set(groups.ravel().tolist())
        }
        if count == 1:
            periods = [(jobs[place].by_gpus[gpus], 1) for place in groups[:, 0].tolist()]
        else:
            times = {place: jobs[place].stages_on(gpus) for place in own}
            longest = 8 * max(max(some) for some in times.values())
            stages: Ints = np.array(
                [[times[place] for place in group] for group in groups.tolist()], dtype=word_for(longest)
            )
            factor = workers.rules.slowdowns[count - 1]
            periods = [
                (int(period) * factor.numerator, factor.denominator)
                for period in group_periods("cyclic", stages, worst=False).tolist()
            ]
        for group, (over, under) in zip(groups.tolist(), periods, strict=True):
            paid = gpus * self._gpu + sum(own[place] for place in group)
            weight = [jobs[place].weight for place in group]
            most = max(
                sum(
                    each * (MILLION * amount * under // (workers.unit * over))
                    for each, amount in zip(weight, work, strict=True)
                )
                * scale
                - kept
                for work, kept in self._ways(group, gpus)
            )
            if most > paid:
                yield group[0], most - paid

    def _ways(self, group: list[int], gpus: int) -> Iterator[tuple[list[int], int]]:
        """Yield what the work of a group is worth anywhere; and where it goes on as it is, with the price of that."""
        jobs = [self._workers.jobs[place] for place in group]
        yield [job.changed for job in jobs], gpus * self._cheapest(group)
        home = jobs[0].home
        if home is not None and sum(home.values()) == gpus and self._workers.goes_on(group, home):
            yield [job.fresh for job in jobs], self._kept[group[0]]


def _pieces(one: PlanEntry) -> list[Piece]:
    """Return all parts of a plan."""
    larger = 0 if one.wide is None else one.plan.gpus % one.plan.nodes
    return [one.piece] * (one.plan.nodes - larger) + [one.wide or one.piece] * larger
