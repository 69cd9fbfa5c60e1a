"""Bounds on the value of any shares of elastic jobs, in exact integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import LinearDuals, Round
from muri_opt.rounds.memoise import recalled
from muri_opt.verify.amounts import need_of
from muri_opt.verify.certificates.gpu_dp import with_one_more

Ints = NDArray[np.int64]
MOST_STEPS = 2_000_000_000
"""Sums beyond which the dynamic program is not run."""


@recalled
def priced_bound(round_: Round, values: Sequence[Mapping[int, int]], duals: LinearDuals) -> int:
    """Return the largest whole value that prices of GPUs, CPUs, memory and quotas allow any shares.

    A job with k GPUs is worth at most what k of its GPUs cost plus the most any of its shares exceeds that by; all
    payments together are at most the price of everything there is. This holds for any prices of at least 0.
    """
    amounts = {
        "gpus": (round_.cluster.total_gpus,),
        "cpus": (_whole([None if n.cpus is None else round(n.cpus * 1000) for n in round_.cluster.nodes]),),
        "memory": (
            _whole([None if n.memory_gib is None else round(n.memory_gib * 1024) for n in round_.cluster.nodes]),
        ),
        "quota": tuple(tenant.quota_gpus for tenant in round_.cluster.tenants),
    }
    prices = {}
    total = 0
    for label, has in amounts.items():
        price = duals.multipliers.get(label, (0,) * len(has))
        if len(price) != len(has) or min(price, default=0) < 0 or duals.denominator < 1:
            found = f"{len(price)} numbers"
            raise InputError(f"multipliers.{label}", found, f"{len(has)} whole numbers of at least 0")
        for paid, amount in zip(price, has, strict=True):
            if paid and amount is None:
                raise InputError(f"multipliers.{label}", str(paid), "0 where there is no limit")
            total += paid * (amount or 0)
        prices[label] = price
    tenants = {tenant.id: price for tenant, price in zip(round_.cluster.tenants, prices["quota"], strict=True)}
    for job, table in zip(round_.jobs, values, strict=True):
        need = need_of(job)
        gpu = prices["gpus"][0] + need.milli * prices["cpus"][0] + need.mebibytes * prices["memory"][0]
        gpu += tenants.get(job.tenant or "", 0)
        total += max([0, *(value * duals.denominator - k * gpu for k, value in table.items())])
    return total // duals.denominator


@recalled
def counted_bound(round_: Round, values: Sequence[Mapping[int, int]]) -> int | None:
    """Return the best value within GPUs and quotas alone, by dynamic programming; ``None`` where that is too long."""
    total = round_.cluster.total_gpus
    quotas = {tenant.id: tenant.quota_gpus for tenant in round_.cluster.tenants}
    owners: dict[str | None, list[Mapping[int, int]]] = {}
    for job, table in zip(round_.jobs, values, strict=True):
        limited = job.tenant if job.tenant is not None and quotas.get(job.tenant) is not None else None
        owners.setdefault(limited, []).append(table)
    steps = total * sum(len(table) for table in values) + total * total * len(owners)
    if steps > MOST_STEPS or sum(max([0, *table.values()]) for table in values) >= 1 << 62:
        return None
    best = np.zeros(total + 1, dtype=np.int64)
    for owner, tables in owners.items():
        most = min(total, quotas[owner] or 0) if owner is not None else total
        inside = np.zeros(most + 1, dtype=np.int64) if owner is not None else best
        for table in tables:
            inside = with_one_more(inside, table)
        best = with_one_more(best, dict(enumerate(inside.tolist()))) if owner is not None else inside
    return int(best[-1])


def _whole(amounts: list[int | None]) -> int | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None
