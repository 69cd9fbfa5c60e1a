"""Bounds on the value of any grouping from counting alone: every group as full as its GPUs and slots allow."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds import Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.amounts import need_of, word_for
from muri_opt.verify.dual_bound import pooled_supply
from muri_opt.verify.muri.able import able_to_share
from muri_opt.verify.muri.job_bound import PARTS, JobCaps
from muri_opt.verify.muri.periods import slot_count
from muri_opt.verify.muri.rules import Sharing
from muri_opt.verify.muri.value import sharers_of

_MILLION: Final = 1_000_000


@recalled
def counted_bound(round_: Round, rules: Sharing) -> int | None:
    """Return what no grouping exceeds by what there is of GPUs, CPUs or memory; ``None`` where jobs cannot share.

    Each job adds at most what it does at its shortest period (:mod:`.job_bound`), and takes at least its part of the
    GPUs of the largest group there may be. Where there are several priorities, that is for the first of them, and of
    the others all is granted that they can be worth.
    """
    if any(job.gpus < 1 or job.stage_seconds is None for job in round_.jobs):
        return None
    largest, sharers = rules.most_jobs(len(round_.resources)), sharers_of(round_, rules)
    able = able_to_share(round_, rules)
    caps = JobCaps.of(sharers, able, largest)
    bound = caps.counted(_supplies(round_, able, largest))
    if rules.objective == "efficiency" and rules.pattern != "muri-4slot":
        bound = min(bound, _full_groups(round_, rules))
    first = sharers.classes.weights[0]
    return first * bound + first - 1


def _supplies(round_: Round, jobs: list[int], largest: int) -> Iterator[tuple[NDArray[Any], int]]:
    """Yield what jobs take at least, and how much there is, of everything that is limited for all of them."""
    needs, supply = [need_of(round_.jobs[job]) for job in jobs], pooled_supply(round_)
    gpus = np.array([need.gpus for need in needs], dtype=np.int64)
    yield gpus * (PARTS // largest), PARTS * round_.cluster.total_gpus
    for (there_is,), takes in (
        (supply["cpus"], [need.milli for need in needs]),
        (supply["memory"], [need.mebibytes for need in needs]),
    ):
        if there_is is not None:
            word = word_for(max(takes, default=0) * int(gpus.max(initial=0)) * len(takes))
            yield gpus.astype(word) * np.array(takes, dtype=word), there_is


def _full_groups(round_: Round, rules: Sharing) -> int:
    """Return what groups can be worth if each has as many jobs as may share: one for each small job that finds GPUs.

    No period is shorter than the stages of a job that is in it, so that a job adds at most one slot's part of a million
    to the efficiency of its group.
    """
    sizes = sorted(job.gpus for job in round_.jobs)
    groups = sum(together <= round_.cluster.total_gpus for together in accumulate(sizes))
    stages = len(round_.resources)
    jobs = min(len(sizes), groups * rules.most_jobs(stages))
    return _MILLION * jobs // max(1, slot_count(rules.pattern, stages))
