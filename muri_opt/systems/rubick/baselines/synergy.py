"""Policy ``synergy``: plan and GPUs as asked for, CPUs and memory as far as they speed a job up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Amounts, Ints
from muri_opt.systems.plans.allocation import PlanAllocation, arrivals
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.plans.plan_parts import Part
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
    needs_beside: ClassVar[tuple[str, ...]] = ("plan",)
    changes: ClassVar[str] = "neither"

    def choose(self, round_: Round, options: PlanOptions, seed: int, until: float = inf) -> Mapping[int, Ints]:
        """Return the nodes of each option that runs."""
        allocation, queue = PlanAllocation(round_, options), arrivals(round_)
        allocation.stay(queue)
        slowest, speed = _proportional(round_, options, options.demands), options.throughput.tolist()
        for job in queue:
            allocation.start(job, (o for o in allocation.best_first[job] if speed[o] >= slowest[job]))
        return allocation.chosen


def _proportional(round_: Round, options: PlanOptions, demands: Sequence[tuple[int, ...]]) -> list[float]:
    """Return the throughput each job has with its proportional share of enough nodes, 0 if it cannot run by that."""
    amounts = round_.amounts
    known: dict[tuple[int, ...], bool] = {}
    fastest = [0.0] * len(round_.jobs)
    for o, (demand, job) in enumerate(zip(demands, options.job.tolist(), strict=True)):
        if demand not in known:
            within = options.nodes(o) & _in_proportion(amounts, Part(options.g[o], options.c[o], options.m[o]))
            known[demand] = int(np.count_nonzero(within)) >= options.q[o]
            if o in options.larger:
                count, part = options.larger[o]
                wide = options.wide_nodes(o) & _in_proportion(amounts, part)
                known[demand] = _on_distinct_nodes(wide, within, count, int(options.q[o]) - count)
        if known[demand]:
            fastest[job] = max(fastest[job], float(options.throughput[o]))
    return fastest


def _in_proportion(amounts: Amounts, part: Part) -> NDArray[np.bool_]:
    """Return the nodes of which a part takes no larger share of CPUs and memory than of GPUs."""
    within: NDArray[np.bool_] = part.gpus <= amounts.G
    within &= part.milli * amounts.G <= part.gpus * amounts.C
    within &= part.mib * amounts.G <= part.gpus * amounts.M
    return within


def _on_distinct_nodes(wide: NDArray[np.bool_], small: NDArray[np.bool_], larger: int, rest: int) -> bool:
    """Return whether so many larger parts and the rest find nodes of their own; rounding may allow one size alone."""
    either = int(np.count_nonzero(wide | small))
    return bool(np.count_nonzero(wide) >= larger and np.count_nonzero(small) >= rest and either >= larger + rest)
