"""Policy ``equal-share``: the same number of GPUs for every job, each with its fastest plan within them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import ClassVar

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.allocation import PlanAllocation, arrivals
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.plans.policy import ThroughputPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualSharePolicy(ThroughputPolicy):
    """The simple scheduler Rubick's authors compare with: equal shares in the order of submission.

    What does not divide goes to the last job. Where jobs outnumber GPUs, the first ones have a GPU each. A job runs by
    the plan worth most within its share that finds its nodes; what its plan leaves of the share stays free. Jobs that
    no plan fits have no share.

    >>> sorted(policy_from("equal-share").decide(shipped_round("toy/five-plans"), 0).running)
    ['b', 'd', 'e']
    """

    own_name: ClassVar[str] = "equal-share"
    changes: ClassVar[str] = "both"

    def choose(self, round_: Round, options: PlanOptions, seed: int, until: float = inf) -> Mapping[int, Ints]:
        """Return the nodes of each option that runs."""
        return _shared(round_, options, self.allocation(round_, options))

    def keep(self, round_: Round, options: PlanOptions, seed: int) -> Mapping[int, Ints]:
        """Return the same with those that run where they are, whatever their share."""
        allocation = PlanAllocation(round_, options)
        allocation.stay(arrivals(round_))
        return _shared(round_, options, allocation)


def _shared(round_: Round, options: PlanOptions, allocation: PlanAllocation) -> Mapping[int, Ints]:
    """Return the nodes of each option that runs, where each job has its share that has no placement yet."""
    queue = [job for job in arrivals(round_) if options.of_job(job)]
    total, gpus = round_.cluster.total_gpus, options.totals[0].tolist()
    share, rest = divmod(total, len(queue)) if queue else (0, 0)
    if share == 0:
        queue, share, rest = queue[:total], 1, 0
    for place, job in enumerate(queue, start=1):
        most = share + rest * (place == len(queue))
        allocation.start(job, (o for o in allocation.best_first[job] if gpus[o] <= most))
    return allocation.chosen
