"""The most profit on a node if fractions of parts could be taken, and any number of each: from prices of its room."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muri_opt.verify.amounts import NO_LIMIT, Sizes
from muri_opt.verify.node_items import Ints

Floats = NDArray[np.float64]
MOST_PIVOTS = 100
"""Steps of the simplex method; prices are right, only not the best, if it needs more."""
_PROFIT_BITS = 40
"""Profits are rounded up to so many binary digits, or given so many: sums of all items must fit machine words."""
_LARGE = 1 << 32
"""Of a resource of which a node has so much, prices are rounded down: up, they would be far more than were found."""
_TINY = 1e-12
"""What is taken for a rounding where prices are looked for."""


def fractional_profit(room: Sizes, items: Ints) -> int:
    """Return at least the most profit of items in rows within a room that each of them fits.

    Weak duality: at any prices of GPUs, CPUs and memory, a choice brings at most what the room costs and what profits
    are beyond what their items pay. Prices are found in floats, and that sum is made in whole numbers.
    """
    if not len(items):
        return 0
    spare = _PROFIT_BITS - int(items[:, 4].max()).bit_length()
    finer, coarser = max(0, spare), max(0, -spare)
    limited = [axis for axis, has in enumerate(room) if has < NO_LIMIT]
    has, takes = np.array(room, dtype=np.int64)[limited], items[:, 1:4][:, limited]
    profits = -(-items[:, 4] << finer >> coarser)
    unit = np.maximum(has, 1)
    about = np.nan_to_num(_prices(profits.astype(np.float64), takes / unit))
    found = np.clip(about, 0, profits.sum()) / unit
    prices = np.where(unit < _LARGE, np.ceil(found), np.floor(found)).astype(np.int64)
    beyond = np.maximum(profits - takes @ prices, 0)
    return min(int(has @ prices) + int(beyond.sum()), int(profits.sum())) << coarser >> finer


def _prices(profits: Floats, shares: Floats) -> Floats:
    """Return the dual values of a room with 1 of each resource, of which items take shares for their profits.

    The simplex method: nothing fills the room at first; then more and more of what brings most beyond what it pays, in
    the place of what there is no room for any more.
    """
    axes = shares.shape[1]
    columns = np.concatenate((np.eye(axes), shares[shares.any(axis=1)]))  # what is left empty, and items
    gains = np.concatenate((np.zeros(axes), profits[shares.any(axis=1)]))
    basis, prices = np.arange(axes), np.zeros(axes)
    for _ in range(MOST_PIVOTS):
        try:
            inverse = np.linalg.inv(columns[basis].T)
        except np.linalg.LinAlgError:  # columns that are too much alike: the prices so far will do
            break
        prices = gains[basis] @ inverse
        beyond = gains - columns @ prices
        enters = int(np.argmax(beyond))
        step = inverse @ columns[enters]
        if beyond[enters] <= _TINY * gains[enters] or (step <= _TINY).all():
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            basis[np.argmin(np.where(step > _TINY, inverse.sum(axis=1) / step, np.inf))] = enters
    return prices
