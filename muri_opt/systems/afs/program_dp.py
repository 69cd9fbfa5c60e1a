"""The best shares by dynamic programming: GPUs and quotas only, in exact integers, without a solver."""

from __future__ import annotations

from math import gcd

import numpy as np

from muri_opt.algorithms.knapsack import OneResource
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.afs.present_shares import PresentShares
from muri_opt.systems.afs.program_columns import ShareTable

MOST_STEPS = 2_000_000_000
"""Sums beyond which the dynamic program is left to a solver."""

LARGEST_TOTAL = float(1 << 62)
"""Values of all shares together beyond which sums might leave a machine word."""


def best_shares(round_: Round, table: ShareTable) -> Ints | None:
    """Return 1 for each chosen row of the table, so that the value is the most GPUs and quotas allow; or ``None``.

    Jobs of one tenant are decided for every number of GPUs up to its quota; then each tenant is one more choice among
    numbers of GPUs. Of equal values the one is taken that costs the least in changes. ``None`` where that takes too
    many steps or too large numbers.
    """
    amounts = round_.amounts
    total = int(amounts.G.sum())
    owner = amounts.tenant[table.jobs] if len(table.jobs) else np.zeros(0, dtype=np.int64)
    rows = [np.flatnonzero(owner == tenant) for tenant in (-1, *range(len(amounts.U)))]
    most = [total, *np.minimum(amounts.U, total).tolist()]
    if table.value.astype(np.float64).clip(0).sum() >= LARGEST_TOTAL:
        return None
    if sum(len(part) * (gpus + 1) for part, gpus in zip(rows, most, strict=True)) + total * sum(most) > MOST_STEPS:
        return None
    value = _kept_first(round_, table)
    chosen = np.zeros(len(table.jobs), dtype=np.int64)
    tenants = []
    for part, gpus in zip(rows, most, strict=True):
        jobs = np.split(part, np.flatnonzero(np.diff(table.jobs[part])) + 1) if len(part) else []
        tenants.append((jobs, OneResource([(table.gpus[job], value[job]) for job in jobs], gpus)))
    choice = OneResource([(np.arange(1, len(inside.best)), inside.best[1:]) for _, inside in tenants], total)
    for (jobs, inside), place in zip(tenants, choice.chosen(total), strict=True):
        for job, taken in zip(jobs, inside.chosen(place + 1), strict=True):
            if taken >= 0:
                chosen[job[taken]] = 1
    return chosen


def _kept_first(round_: Round, table: ShareTable) -> Ints:
    """Return values that tell equal ones apart by what changes cost: restart seconds times the GPUs held now.

    A restart that takes no time counts as a microsecond. Where the numbers would leave a machine word, costs count in
    a larger unit, each at least as one.
    """
    present = PresentShares.of(round_)
    if not present.any:
        return table.value
    cost = [max(1, lost) * held for lost, held in zip(present.restart.tolist(), present.held.tolist(), strict=True)]
    room = int(LARGEST_TOTAL / (1 + int(table.value.clip(0).astype(np.float64).sum()))) - 1
    running = np.flatnonzero(present.held)
    if room <= len(running):
        return table.value
    unit = gcd(*cost) or 1
    unit = max(unit, -(-sum(cost) // (room - len(running))))
    saved = np.array([-(-each // unit) for each in cost], dtype=np.int64)
    stays = present.held[table.jobs] == table.gpus
    return table.value * (1 + int(saved.sum())) + np.where(stays, saved[table.jobs], 0)


def best_shares_of_jobs(value: Ints, cap: Ints, gpus: int) -> Ints:
    """Return the share of each job, ``value[j, k]`` being what k GPUs are worth to job j, so that the sum is most."""
    options = [(np.arange(1, most + 1), value[job, 1 : most + 1]) for job, most in enumerate(cap.tolist())]
    return 1 + np.array(OneResource(options, gpus).chosen(gpus), dtype=np.int64)
