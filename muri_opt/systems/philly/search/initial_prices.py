"""First prices without a solver: the cluster as one large node that gangs fill GPU by GPU, the most worth first.

The relaxation to GPUs alone, a continuous knapsack, which is solved by sorting (Dantzig 1957); its duals are the
prices.
"""

from __future__ import annotations

import numpy as np

from muri_opt.systems.philly.search.prices import Floats, Ground, Prices, Weights


def fluid_prices(ground: Ground, weights: Weights) -> Prices:
    """Return the prices that are best if every GPU could be used by any part of any gang.

    All pay what they are worth above the first GPU that finds no place. A tenant's GPU within its quota is worth as
    much as makes the GPUs that fill the quota the last ones to find a place.
    """
    asks, residents = ground.asks, ground.rooms.residents
    rooms = np.concatenate(
        [np.full(len(nodes), has) for nodes, has in zip(ground.rooms.nodes, ground.rooms.room[:, 0], strict=True)]
        or [np.zeros(0)]
    )
    gain = weights.worth * np.maximum(asks.near, asks.apart) + weights.kept * asks.moves.astype(np.int64)
    stays = ~np.append(asks.moves, False)[residents.kind]  # those that may move are among the kinds
    worth = np.append(gain, (weights.worth * residents.worth + weights.kept)[stays]).astype(np.float64)
    gpus = np.append(asks.count * asks.g * ~asks.restarts, residents.units[stays])
    tenant = np.append(asks.tenant, residents.tenant[stays])
    headroom = np.append(np.maximum(0, ground.quota - ground.fixed[:-1]), gpus.sum())
    within = np.zeros_like(gpus)
    last = np.full(len(headroom), -np.inf)
    order = np.argsort(-worth, kind="stable")
    for place in order.tolist():
        v = tenant[place]
        within[place] = min(int(gpus[place]), int(headroom[v]))
        headroom[v] -= within[place]
        if within[place] and not headroom[v]:
            last[v] = worth[place]
    values = np.append(worth + weights.quota, worth)
    price = _first_left_out(values, np.append(within, gpus - within), int(rooms.sum()))
    quota: Floats = np.clip(np.where(np.isfinite(last), price - last, weights.quota), 0.0, float(weights.quota))[:-1]
    # A quota that the fixed jobs fill is worth nothing more.
    quota = np.where(ground.fixed[:-1] >= ground.quota, 0.0, quota)
    once = np.maximum(0.0, gain + np.append(quota, float(weights.quota))[asks.tenant] - price)
    return Prices(once=once, quota=quota)


def _first_left_out(values: Floats, gpus: np.ndarray[tuple[int], np.dtype[np.int64]], room: int) -> float:
    """Return the value of the first GPU that finds no room, the most worth first; nothing if all do."""
    order = np.argsort(-values, kind="stable")
    beyond = np.flatnonzero(np.cumsum(gpus[order]) > room)
    return max(0.0, float(values[order[beyond[0]]])) if len(beyond) else 0.0
