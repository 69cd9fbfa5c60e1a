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
        inverse = _inverse(columns[basis].T.tolist())
        if inverse is None:  # columns that are too much alike: the prices so far will do
            break
        prices = _combined(gains[basis], inverse)
        beyond = gains - _combined(prices, columns.T)
        enters = int(np.argmax(beyond))
        step = _combined(columns[enters], inverse.T)
        if beyond[enters] <= _TINY * gains[enters] or (step <= _TINY).all():
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            basis[np.argmin(np.where(step > _TINY, inverse.sum(axis=1) / step, np.inf))] = enters
    return prices


def _combined(weights: Floats, rows: Floats) -> Floats:
    """Return the sum of rows, each times its weight, one after the other.

    Products of matrices are added up in an order, and rounded, as the library and the processor like; what is proved
    must be the same wherever it is checked.
    """
    total = np.zeros(rows.shape[1])
    for weight, row in zip(weights.tolist(), rows, strict=True):
        total = total + weight * row
    return total


def _inverse(rows: list[list[float]]) -> Floats | None:
    """Return the inverse of a matrix of up to three rows by its cofactors; ``None`` where it has none."""
    size = len(rows)
    if size == 1:
        cofactors = [[1.0]]
    elif size == 2:
        (a, b), (c, d) = rows
        cofactors = [[d, -c], [-b, a]]
    else:
        cofactors = [[_minor(rows, row, column) for column in range(size)] for row in range(size)]
    determinant = 0.0
    for one, cofactor in zip(rows[0], cofactors[0], strict=True):
        determinant += one * cofactor
    return None if determinant == 0 else np.array(cofactors).T / determinant


def _minor(rows: list[list[float]], row: int, column: int) -> float:
    """Return the cofactor of a place in a matrix of three rows: by cyclic places it has no sign."""
    (above, below), (left, right) = (((at + 1) % 3, (at + 2) % 3) for at in (row, column))
    return rows[above][left] * rows[below][right] - rows[above][right] * rows[below][left]
