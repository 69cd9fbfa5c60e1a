"""Bounds on the value of any shares of elastic jobs: from prices, and by counting GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muri_opt.rounds import LinearDuals, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.afs.counted_core import core_best
from muri_opt.verify.amounts import need_of
from muri_opt.verify.counting import counted_best, quota_pools
from muri_opt.verify.dual_bound import PriceTable, pooled_supply

MOST_STEPS = 2_000_000_000
"""Sums beyond which the dynamic program is not run."""
MANY_STEPS = 20_000_000
"""Sums beyond which only the jobs that prices leave open are counted, if those are few enough."""


@recalled
def priced_bound(round_: Round, values: Sequence[Mapping[int, int]], duals: LinearDuals) -> int:
    """Return the largest whole value that prices of GPUs, CPUs, memory and quotas allow any shares.

    ``values`` has for each job what it is worth by GPUs. A job pays for each of its GPUs, and has its best share.
    """
    prices = PriceTable.read(duals, pooled_supply(round_))
    ((gpu,), (milli,), (mebibyte,)) = (prices.of[label] for label in ("gpus", "cpus", "memory"))
    quota = prices.of_tenants(round_)
    profits = []
    for job, table in zip(round_.jobs, values, strict=True):
        need = need_of(job)
        pays = gpu + need.milli * milli + need.mebibytes * mebibyte + quota.get(job.tenant or "", 0)
        profits.append(max([0, *(value * prices.denominator - k * pays for k, value in table.items())]))
    return prices.bound(profits)


@recalled
def counted_bound(round_: Round, values: Sequence[Mapping[int, int]]) -> int | None:
    """Return the best value within GPUs and quotas alone, by dynamic programming; ``None`` where that is too long."""
    total, pools = round_.cluster.total_gpus, quota_pools(round_, zip(round_.jobs, values, strict=True))
    if len(pools) == 1 and pools[0].most == total and total * sum(map(len, values)) > MANY_STEPS:
        found = core_best(total, pools[0].tables, steps=MANY_STEPS)
        if found is not None:
            return found
    return counted_best(total, pools, steps=MOST_STEPS)
