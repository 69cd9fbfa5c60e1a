"""From options on nodes to a decision: who runs by which plan, and why the others wait."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.decision import Assignment, Decision, Waiting, WaitingReason
from muri_opt.rounds.quantities import MILLI_PER_CPU
from muri_opt.systems.capacity.node_sets import node_sets
from muri_opt.systems.plans.free_nodes import FreeNodes
from muri_opt.systems.plans.options import PlanOptions


def plan_decision(round_: Round, options: PlanOptions, chosen: Mapping[int, Ints]) -> Decision:
    """Return the decision in which option o runs in one part on each node of ``chosen[o]``; other jobs wait.

    Larger parts, where an option has some, are on the first of its nodes.

    >>> round_ = shipped_round("toy/five-plans")
    >>> options = PlanOptions.of(round_, PlanRules())
    >>> sorted(plan_decision(round_, options, {0: np.array([0])}).running)
    ['a']
    """
    free = FreeNodes(round_, options)
    for o, nodes in chosen.items():
        free.take(o, nodes)
    running = {int(options.job[o]) for o in chosen}
    reasons = _Reasons(round_, options, free)
    return Decision(
        assignments=tuple(_assignment(round_, options, o, nodes) for o, nodes in sorted(chosen.items())),
        waiting=tuple(reasons.waiting(job) for job in range(len(round_.jobs)) if job not in running),
    )


def _assignment(round_: Round, options: PlanOptions, o: int, nodes: Ints) -> Assignment:
    job, names = round_.jobs[options.job[o]], [round_.cluster.nodes[s].id for s in sorted(nodes.tolist())]
    cpus = int(options.c[o]) / MILLI_PER_CPU
    gpus_on, cpus_on = dict.fromkeys(names, int(options.g[o])), dict.fromkeys(names, cpus) if cpus else {}
    if o in options.larger:
        count, part = options.larger[o]
        wide = [round_.cluster.nodes[s].id for s in nodes[:count].tolist()]
        gpus_on |= dict.fromkeys(wide, part.gpus)
        cpus_on |= dict.fromkeys(wide, part.milli / MILLI_PER_CPU) if part.milli else {}
    return Assignment(jobs=(job.id,), plan=(job.plans or ())[options.plan[o]].name, gpus=gpus_on, cpus=cpus_on)


class _Reasons:
    """Why jobs wait beside what runs; ``free`` is what that leaves."""

    def __init__(self, round_: Round, options: PlanOptions, free: FreeNodes) -> None:
        self._round, self._options, self._free = round_, options, free
        self._gpus: list[int] = options.totals[0].tolist()
        self._total = round_.cluster.total_gpus
        self._apart = node_sets(round_) is not None
        self._now = int(free.gpus.sum())

    def waiting(self, job: int) -> Waiting:
        """Return the first rule that keeps the job from starting, or that it is stopped, and what binds."""
        reason, detail, remedy = self._binding_rule(job)
        if self._round.jobs[job].state == "running":
            reason = WaitingReason.STOPPED
        return Waiting(job=self._round.jobs[job].id, reason=reason, detail=detail, remedy=remedy)

    def _binding_rule(self, job: int) -> tuple[WaitingReason, str, str]:
        mine, amounts, free = self._options.of_job(job), self._round.amounts, self._free
        if not mine:
            given = self._round.jobs[job]
            fastest = max((plan.throughput for plan in given.plans or ()), default=0.0)
            if given.guarantee is not None and given.guarantee.throughput > fastest:
                return (
                    WaitingReason.CAPACITY,
                    f"guaranteed a throughput of {given.guarantee.throughput:g}; its fastest plan has {fastest:g}",
                    f"guarantee at most {fastest:g}, or offer a faster plan",
                )
            return (
                WaitingReason.CAPACITY,
                "no plan it may run by fits the empty cluster" + ", where the job may start" * self._apart,
                "offer a plan with less on each node, or enlarge the nodes" + "; or ask for less of them" * self._apart,
            )
        if not free.within_quota(job):
            asks = int(amounts.g[job])
            short = next(one for one in amounts.line(int(amounts.tenant[job])) if asks > free.quota[one])
            tenant, spare = self._round.cluster.tenants[short], int(free.quota[short])
            quota = tenant.quota_gpus or 0
            if asks > quota:
                return (
                    WaitingReason.QUOTA,
                    f"guaranteed for {_gpus(asks)}; the quota of tenant {tenant.id!r} is {quota}",
                    f"raise the quota to {asks}, or let the job ask for less",
                )
            return (
                WaitingReason.QUOTA,
                f"guaranteed for {_gpus(asks)}; tenant {tenant.id!r} has {spare} left of its quota of {quota}",
                f"free {_gpus(asks - spare)} of the tenant's guaranteed jobs, or raise its quota by as many",
            )
        fewest, now = min(self._gpus[mine.start : mine.stop]), self._within_reach(mine)
        if fewest > now:
            usable = f"{now} that it could use are free" if self._apart else f"{now} of {self._total} are free"
            return (
                WaitingReason.CAPACITY,
                f"its smallest plan takes {_gpus(fewest)}; {usable}",
                f"free {_gpus(fewest - now, more=True)}" + " where it may be" * self._apart,
            )
        if not any(free.fits(o) for o in mine):
            return (
                WaitingReason.FRAGMENTATION,
                f"free: {_gpus(now)}; but no plan finds its GPUs, CPUs and memory together on each of its nodes",
                "free more on one node, or move a running job",
            )
        return (
            WaitingReason.PRIORITY,
            "a plan fits what is free; the decision keeps it free",
            "use method 'auto' or 'exact', which leave no such job waiting where it adds value",
        )

    def _within_reach(self, mine: range) -> int:
        """Return the GPUs that are free on all nodes; where jobs may not be just anywhere, on those of some option."""
        if not self._apart:
            return self._now
        reach = np.logical_or.reduce([self._options.nodes(o) for o in mine])
        return int(self._free.gpus[reach].sum())


def _gpus(count: int, *, more: bool = False) -> str:
    return f"{count}{' more' * more} GPU{'s' * (count != 1)}"
