"""Policy ``sia``: one configuration per job by a program over the whole cluster, then nodes for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from time import monotonic
from typing import ClassVar

import numpy as np

from muri_opt.algorithms.knapsack import Options, quick_answer
from muri_opt.rounds import Limits, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.allocation import PlanAllocation, arrivals
from muri_opt.systems.plans.node_patterns import ClusterKnapsack
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.plans.plan_rules import BY_WORTH, CHANGES, POWERS, PlanRules
from muri_opt.systems.plans.policy import PlanPolicy
from muri_opt.systems.policy import Allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class SiaPolicy(PlanPolicy):
    """Sia's job by configuration program, answered by multipliers and local search, then placed node by node.

    ``power`` is the fairness power of the program: the lower, the more the slower jobs count. By ``objective``
    ``completion`` it counts instead what throughput is worth for completion times, jobs ranked by the service they have
    left, and by ``completion-attained`` by what they have had. ``change`` says what a
    configuration may differ in: Sia chooses ``resources`` and keeps the strategy of a plan. The program knows GPUs,
    CPUs and memory of each GPU type and the quotas, not single nodes: a job whose configuration finds no nodes takes
    its next best that does, and whoever waits at last may take what is left. Where jobs have priorities, there is a
    program for those of each, the largest first, with what is left.

    >>> policy_from("sia:power=-1").power
    '-1'
    """

    change: str = "resources"
    power: str = "-0.5"
    objective: str = "fair"

    own_name: ClassVar[str] = "sia"
    needs_beside: ClassVar[tuple[str, ...]] = ("plan",)
    choices: ClassVar[Mapping[str, Allowed]] = {
        **PlanPolicy.choices,
        "change": CHANGES,
        "power": POWERS,
        "objective": ("fair", *BY_WORTH),
    }

    @property
    def plan_rules(self) -> PlanRules:
        """Which plans a job may run by, worth what Sia's program gives them."""
        if self.objective in BY_WORTH:
            return PlanRules(change=self.change, objective=self.objective)
        return PlanRules(change=self.change, power=self.power)

    @property
    def looks_at_clock(self) -> bool:
        """It is done soon after its time is over."""
        return True

    def choose(self, round_: Round, options: PlanOptions, seed: int, until: float = inf) -> Mapping[int, Ints]:
        """Return the nodes of each option that runs."""
        return _placed(round_, options, self.allocation(round_, options), seed, until)

    def keep(self, round_: Round, options: PlanOptions, seed: int) -> Mapping[int, Ints]:
        """Return the same with those that run where they are, and the program for the others with what is left."""
        allocation = PlanAllocation(round_, options)
        allocation.stay(arrivals(round_))
        return _placed(round_, options, allocation, seed)


def _placed(
    round_: Round, options: PlanOptions, allocation: PlanAllocation, seed: int, until: float = inf
) -> Mapping[int, Ints]:
    """Return the nodes of each option that runs, with the program for jobs that have no placement yet.

    Its local search has a third of the time that there is ``until`` that moment: nodes take the rest.
    """
    knapsack = ClusterKnapsack.of(round_, options).options
    now = monotonic()
    ends = inf if until == inf else now + max(0.0, until - now) / 3
    wanted = _by_level(knapsack, options, list(allocation.chosen), seed, ends)
    # Who can stay does, promises come before the rest, and large parts before small ones, which fit anywhere.
    order = {
        o: (
            options.level[options.job[o]],
            options.home[o] < 0,
            not options.guaranteed[options.job[o]],
            -int(options.g[o]),
            -int(options.q[o]),
        )
        for o in wanted
    }
    rank = {job: place for place, job in enumerate(arrivals(round_))}
    for o in sorted(wanted, key=lambda o: (order[o], rank[int(options.job[o])])):
        job = int(options.job[o])
        allocation.start(job, [o, *allocation.best_first[job]])
    for job in rank:
        allocation.start(job, allocation.best_first[job])
    return allocation.chosen


def _by_level(knapsack: Options, options: PlanOptions, kept: list[int], seed: int, ends: float) -> list[int]:
    """Return the answer of the program for each level of priorities, with what those before it and the kept leave.

    Levels that are not looked at before it ``ends`` have no answer: their jobs are placed one after another.
    """
    found = kept
    open_ = ~np.isin(options.job, options.job[kept])
    for level in range(len(options.weights)):
        some = np.flatnonzero((options.level[options.job] == level) & open_)
        left = knapsack.capacity - knapsack.use[found].sum(axis=0)
        if not (knapsack.use[some] <= left).all(axis=1).any():
            continue  # as a rule so, beside all that runs
        seconds = None if ends == inf else ends - monotonic()
        if seconds is not None and seconds < 0:
            break
        limits = Limits(seconds=seconds, seed=seed)
        choice = quick_answer(replace(knapsack.only(some), capacity=left), limits).choice
        found += some[choice[choice >= 0]].tolist()
    return found
