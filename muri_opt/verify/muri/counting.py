"""A bound on the value of large groupings from counting alone: every group as full as its GPUs and slots allow."""

from __future__ import annotations

from itertools import accumulate
from typing import Final

from muri_opt.rounds import Round
from muri_opt.verify.muri.periods import slot_count
from muri_opt.verify.muri.rules import Sharing

LARGE: Final = 100
"""Jobs from which on counting is asked: of smaller rounds all groups can be looked at, which proves far more."""
_MILLION: Final = 1_000_000


def counted_bound(round_: Round, rules: Sharing) -> int | None:
    """Return what no grouping of a large round exceeds under *efficiency*; ``None`` where counting says nothing.

    No period is shorter than the stages of a job that is in it, so that a job adds at most one slot's part of a million
    to the value of its group. There are at most as many groups as the smallest jobs find GPUs for, one job each, and no
    more jobs in a group than may share. (The authors' recurrence has shorter periods.)
    """
    if len(round_.jobs) < LARGE or rules.objective != "efficiency" or rules.pattern == "muri-4slot":
        return None
    if "job.priority" in round_.used_fields:
        return None
    sizes = sorted(job.gpus for job in round_.jobs)
    groups = sum(together <= round_.cluster.total_gpus for together in accumulate(sizes))
    stages = len(round_.resources)
    jobs = min(len(sizes), groups * rules.most_jobs(stages))
    return _MILLION * jobs // max(1, slot_count(rules.pattern, stages))
