"""Multipliers of the chapter *gangs*: evidence for a bound, per node and tenant, in whole numbers.

The bound they prove is weak duality for the rows ``gpus``, ``cpus``, ``memory``, ``quota`` and those of tenants: see *A
bound anybody can check* in the chapter. Greedy filling is optimal for the continuous knapsack of GPUs (Dantzig 1957),
and its duals are read off the first job that is cut.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Model
from muri_opt.rounds import LinearDuals, Round
from muri_opt.rounds.amounts import Amounts, Ints
from muri_opt.rounds.eligibility import gpu_type_codes

DENOMINATOR = 1 << 32
_PLACES = ("gpus", "cpus", "memory")


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
        spans[family.label] = (family.index, row_duals[offset : offset + len(family)])
        offset += len(family)
    places, tenants = int(of_node.max(initial=-1)) + 1, len(round_.amounts.U)
    sizes = {"gpus": places, "cpus": places, "memory": places, "quota": tenants}
    sizes |= {label: tenants + (label == "pool") for label in ("borrow", "pass", "pool") if label in spans}
    prices = {}
    for label, size in sizes.items():
        index, duals = spans[label]
        price = np.zeros(size)
        price[index[:, 0]] = duals
        prices[label] = (price[of_node] if label in _PLACES else price).tolist()
    if "type" in spans:
        prices["type"] = _of_types(round_, *spans["type"])
    return _whole(**prices)


def _of_types(round_: Round, index: Ints, duals: NDArray[np.float64]) -> list[float]:
    """Return the duals of the tenants' quotas by type, one after another; 0 for a type that no node has."""
    nodes, tenants = round_.cluster.nodes, round_.cluster.tenants
    name_of = dict(zip(gpu_type_codes(round_.cluster).tolist(), (node.gpu_type for node in nodes), strict=True))
    known = {(v, name_of[code]): dual for (v, code), dual in zip(index.tolist(), duals.tolist(), strict=True)}
    return [known.get((v, kind), 0.0) for v, tenant in enumerate(tenants) for kind in tenant.quota_by_type or ()]


def _whole(**prices: Sequence[float]) -> LinearDuals:
    multipliers = {label: tuple(max(0, round(p * DENOMINATOR)) for p in part) for label, part in prices.items()}
    return LinearDuals(denominator=DENOMINATOR, multipliers=multipliers)
