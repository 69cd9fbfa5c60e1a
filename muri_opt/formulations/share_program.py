"""The best shares by dynamic programming: GPUs and quotas only, in exact integers, without a solver."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muri_opt.formulations.share_table import ShareTable
from muri_opt.instance.amounts import Amounts, Ints

MOST_STEPS = 2_000_000_000
"""Sums beyond which the dynamic program is left to a solver."""

LARGEST_TOTAL = float(1 << 62)
"""Values of all shares together beyond which sums might leave a machine word."""

Options = tuple[Ints, Ints]
"""GPU counts, ascending, and their values; nothing for nothing is not listed."""


def best_shares(amounts: Amounts, table: ShareTable) -> Ints | None:
    """Return 1 for each chosen row of the table, so that the value is the most GPUs and quotas allow; or ``None``.

    Jobs of one tenant are decided for every number of GPUs up to its quota; then each tenant is one more choice among
    numbers of GPUs. ``None`` where that takes too many steps or too large numbers.
    """
    total = int(amounts.G.sum())
    owner = amounts.tenant[table.jobs] if len(table.jobs) else np.zeros(0, dtype=np.int64)
    rows = [np.flatnonzero(owner == tenant) for tenant in (-1, *range(len(amounts.U)))]
    most = [total, *np.minimum(amounts.U, total).tolist()]
    if table.value.astype(np.float64).clip(0).sum() >= LARGEST_TOTAL:
        return None
    if sum(len(part) * (gpus + 1) for part, gpus in zip(rows, most, strict=True)) + total * sum(most) > MOST_STEPS:
        return None
    chosen = np.zeros(len(table.jobs), dtype=np.int64)
    tenants = []
    for part, gpus in zip(rows, most, strict=True):
        jobs = np.split(part, np.flatnonzero(np.diff(table.jobs[part])) + 1) if len(part) else []
        tenants.append((jobs, _Knapsack([(table.gpus[job], table.value[job]) for job in jobs], gpus)))
    choice = _Knapsack([(np.arange(1, len(inside.best)), inside.best[1:]) for _, inside in tenants], total)
    for (jobs, inside), gpus in zip(tenants, choice.choices(total), strict=True):
        for job, taken in zip(jobs, inside.choices(gpus), strict=True):
            if taken:
                chosen[job[np.searchsorted(table.gpus[job], taken)]] = 1
    return chosen


def best_shares_of_jobs(value: Ints, cap: Ints, gpus: int) -> Ints:
    """Return the share of each job, ``value[j, k]`` being what k GPUs are worth to job j, so that the sum is most."""
    options = [(np.arange(1, most + 1), value[job, 1 : most + 1]) for job, most in enumerate(cap.tolist())]
    return np.array(_Knapsack(options, gpus).choices(gpus), dtype=np.int64)


class _Knapsack:
    """The best value of choices of at most one option each, for every number of GPUs up to a capacity."""

    def __init__(self, choices: Sequence[Options], capacity: int) -> None:
        self.best: Ints = np.zeros(capacity + 1, dtype=np.int64)
        self._taken: list[Ints] = []
        for gpus, values in choices:
            taken = np.zeros(capacity + 1, dtype=np.int64)
            best = self.best.copy()
            record = 0
            for k, value in zip(gpus.tolist(), values.tolist(), strict=True):
                if k > capacity:
                    break
                if value <= record:  # fewer GPUs are worth as much
                    continue
                record = value
                reached = self.best[: capacity + 1 - k] + value
                better = reached > best[k:]
                best[k:][better] = reached[better]
                taken[k:][better] = k
            self.best = best
            self._taken.append(taken)

    def choices(self, gpus: int) -> list[int]:
        """Return the GPUs of each choice in a best answer within so many GPUs."""
        left = gpus
        found = []
        for taken in reversed(self._taken):
            found.append(int(taken[left]))
            left -= found[-1]
        return found[::-1]
