"""The best ways to run by dynamic programming: GPUs and quotas only, in exact integers, without a solver."""

from __future__ import annotations

import numpy as np

from muri_opt.algorithms.knapsack import OneResource
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.deadline.choices import Choices
from muri_opt.systems.deadline.levels import Level

MOST_STEPS = 500_000_000
"""Sums beyond which the dynamic program is left to a solver."""
LARGEST_TOTAL = 1 << 62
"""What all jobs together may be worth, so that sums fit a machine word."""


def best_rows(round_: Round, choices: Choices, levels: tuple[Level, ...]) -> list[int] | None:
    """Return the rows of a best decision if GPUs and quotas were all that is short, at most one of each job.

    ``None`` where jobs may not be stopped, or start on some nodes only, where quotas are those of a tree, and where it
    takes too many steps or too large numbers. Jobs of one tenant are decided for every number of GPUs up to its quota;
    then each tenant is one more choice among numbers of GPUs.
    """
    amounts, total = round_.amounts, round_.cluster.total_gpus
    if choices.sets is not None or len(choices.must) or amounts.lines is not None:
        return None
    worth = _worth(levels, len(choices.job))
    limits = [total, *np.minimum(amounts.U, total).tolist()]
    owner = amounts.tenant[choices.job]
    rows = [np.flatnonzero(owner == tenant) for tenant in range(-1, len(amounts.U))]
    steps = sum(len(part) * (most + 1) for part, most in zip(rows, limits, strict=True)) + total * sum(limits)
    if worth is None or steps > MOST_STEPS:
        return None
    tenants: list[tuple[list[Ints], OneResource]] = []
    for part, most in zip(rows, limits, strict=True):
        jobs = np.split(part, np.flatnonzero(np.diff(choices.job[part])) + 1) if len(part) else []
        tenants.append((jobs, OneResource([(choices.gpus[job], worth[job]) for job in jobs], most)))
    choice = OneResource([(np.arange(1, len(inside.best)), inside.best[1:]) for _, inside in tenants], total)
    found: list[int] = []
    for (jobs, inside), gpus in zip(tenants, choice.chosen(total), strict=True):
        taken = zip(jobs, inside.chosen(gpus + 1), strict=True)
        found += [int(job[place]) for job, place in taken if place >= 0]
    return found


def _worth(levels: tuple[Level, ...], rows: int) -> Ints | None:
    """Return what each row is worth in one number, or ``None`` where all together may be too much for a word."""
    worth, unit = np.zeros(rows, dtype=np.int64), 1
    for level in reversed(levels):
        if unit * (level.most + 1) >= LARGEST_TOTAL:
            return None
        worth += level.worth * unit
        unit *= level.most + 1
    return worth
