"""Policy ``synergy``: plan and GPUs as asked for, CPUs and memory as far as they speed a job up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.used_fields import PLAN_NODES
from muri_opt.systems.plans.allocation import PlanAllocation, arrivals
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.plans.policy import ThroughputPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class SynergyPolicy(ThroughputPolicy):
    """Jobs in the order of submission, past those that do not fit, each with the CPUs and memory that serve it best.

    Running jobs keep their nodes. A job that starts takes its fastest option that fits, but none slower than what its
    proportional share of a node (as large a part of the CPUs and memory as of the GPUs) would give: such a job waits.

    >>> sorted(policy_from("synergy").decide(shipped_round("toy/five-plans"), 0).running)
    ['a', 'b', 'd', 'e']
    """

    own_name: ClassVar[str] = "synergy"
    honours: ClassVar[frozenset[str]] = ThroughputPolicy.honours - {PLAN_NODES}
    needs_beside: ClassVar[tuple[str, ...]] = ("plan",)
    changes: ClassVar[str] = "neither"

    def choose(self, round_: Round, options: PlanOptions, seed: int) -> Mapping[int, Ints]:
        """Return the nodes of each option that runs."""
        seating, queue = PlanAllocation(round_, options), arrivals(round_)
        seating.stay(queue)
        slowest, speed = _proportional(round_, options, seating.free.demands), options.throughput.tolist()
        for job in queue:
            seating.start(job, (o for o in seating.best_first[job] if speed[o] >= slowest[job]))
        return seating.chosen


def _proportional(round_: Round, options: PlanOptions, demands: Sequence[tuple[int, ...]]) -> list[float]:
    """Return the throughput each job has with its proportional share of enough nodes, 0 if it cannot run by that."""
    amounts = round_.amounts
    known: dict[tuple[int, ...], bool] = {}
    fastest = [0.0] * len(round_.jobs)
    for o, (demand, job) in enumerate(zip(demands, options.job.tolist(), strict=True)):
        if demand not in known:
            within = options.nodes(o) & (options.g[o] <= amounts.G)
            within &= options.c[o] * amounts.G <= options.g[o] * amounts.C
            within &= options.m[o] * amounts.G <= options.g[o] * amounts.M
            known[demand] = int(np.count_nonzero(within)) >= options.q[o]
        if known[demand]:
            fastest[job] = max(fastest[job], float(options.throughput[o]))
    return fastest
