"""Bounds on the value of any shares of elastic jobs: from prices, and by counting GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from muri_opt.rounds import LinearDuals, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.afs.counted_core import core_best
from muri_opt.verify.afs.share_tables import ShareTables
from muri_opt.verify.amounts import need_of, word_for
from muri_opt.verify.counting import counted_best, quota_pools
from muri_opt.verify.dual_bound import PriceTable, pooled_supply

MOST_STEPS = 2_000_000_000
"""Sums beyond which the dynamic program is not run."""
MANY_STEPS = 20_000_000
"""Sums beyond which the jobs that prices leave open are not counted either."""
SOME_STEPS = 500_000
"""Sums beyond which only the jobs that prices leave open are counted, if those are few enough."""


@recalled
def priced_bound(round_: Round, values: Sequence[Mapping[int, int]], duals: LinearDuals) -> int:
    """Return the largest whole value that prices of GPUs, CPUs, memory and quotas allow any shares.

    ``values`` has for each job what it is worth by GPUs. A job pays for each of its GPUs, and has its best share.
    """
    prices, tables = PriceTable.read(duals, pooled_supply(round_)), ShareTables.of(values)
    ((gpu,), (milli,), (mebibyte,)) = (prices.of[label] for label in ("gpus", "cpus", "memory"))
    quota = prices.of_tenants(round_)
    pays = []
    for job in round_.jobs:
        need = need_of(job)
        pays.append(gpu + need.milli * milli + need.mebibytes * mebibyte + quota.get(job.tenant or "", 0))
    most = prices.denominator * tables.largest + max(pays, default=0) * int(tables.gpus.max(initial=0))
    word = word_for(2 * most)
    paid = np.array(pays, dtype=word)[tables.job] * tables.gpus
    return prices.bound(tables.most(tables.value.astype(word) * prices.denominator - paid))


@recalled
def counted_bound(round_: Round, values: Sequence[Mapping[int, int]]) -> int | None:
    """Return the best value within GPUs and quotas alone, by dynamic programming; ``None`` where that is too long."""
    total, tables = round_.cluster.total_gpus, ShareTables.of(values)
    limited = {tenant.id for tenant in round_.cluster.tenants if tenant.quota_gpus is not None}
    free = not limited or all(job.tenant not in limited for job in round_.jobs)
    if free and total * len(tables.job) > SOME_STEPS:
        found = core_best(total, tables, steps=MANY_STEPS)
        if found is not None:
            return found
    return counted_best(total, quota_pools(round_, zip(round_.jobs, tables, strict=True)), steps=MOST_STEPS)
