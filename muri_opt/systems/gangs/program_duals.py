"""Multipliers of the chapter *gangs*: evidence for a bound, per node and tenant, in whole numbers.

The bound they prove is weak duality for the rows ``gpus``, ``cpus``, ``memory`` and ``quota``: see *A bound anybody can
check* in the chapter. Greedy filling is optimal for the continuous knapsack of GPUs (Dantzig 1957), and its duals are
read off the first job that is cut.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Model
from muri_opt.rounds import LinearDuals, Round
from muri_opt.rounds.amounts import Amounts, Ints

DENOMINATOR = 1 << 32


def greedy_duals(amounts: Amounts, order: Sequence[int], fits: NDArray[np.bool_]) -> LinearDuals:
    """Return the optimal multipliers of GPUs and quotas alone, found without a solver.

    Filling the GPUs in priority order, fractions allowed, is optimal for the relaxation that counts GPUs and quotas
    only. The price of a GPU is what the first job cut by the cluster would pay for one; the price of a tenant's quota
    is what its first job cut by the quota would pay above that.
    """
    free, quota = int(amounts.G.sum()), amounts.U.tolist()
    price, quota_price = 0, [0] * len(quota)
    for rank, job in enumerate(order):
        if not fits[job]:
            continue
        worth, tenant = len(order) - rank, int(amounts.tenant[job])
        asks = int(amounts.g[job])
        allowed = min(asks, quota[tenant]) if tenant >= 0 else asks
        given = min(allowed, free)
        if given < allowed and price == 0:
            price = worth
        if allowed < asks and quota_price[tenant] == 0:
            quota_price[tenant] = worth
        free -= given
        if tenant >= 0:
            quota[tenant] -= given
    over = [max(0, paid - price) for paid in quota_price]
    return _whole(gpus=[price] * len(amounts.G), quota=over)


def node_duals(round_: Round, model: Model, row_duals: NDArray[np.float64], of_node: Ints) -> LinearDuals:
    """Return a solver's row duals as multipliers per node and tenant."""
    spans, offset = {}, 0
    for family in model.rows:
        spans[family.label] = (family.index[:, 0], row_duals[offset : offset + len(family)])
        offset += len(family)
    places = int(of_node.max(initial=-1)) + 1
    prices = {}
    for label, size in (("gpus", places), ("cpus", places), ("memory", places), ("quota", len(round_.amounts.U))):
        index, duals = spans[label]
        price = np.zeros(size)
        price[index] = duals
        prices[label] = (price if label == "quota" else price[of_node]).tolist()
    return _whole(**prices)


def _whole(**prices: Sequence[float]) -> LinearDuals:
    multipliers = {label: tuple(max(0, round(p * DENOMINATOR)) for p in part) for label, part in prices.items()}
    return LinearDuals(denominator=DENOMINATOR, multipliers=multipliers)
