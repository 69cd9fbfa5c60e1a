"""A bound on choosing one option per job, or none, under a few capacities, from multipliers and in exact integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import LinearDuals

_SAFE = 1 << 62


def options_bound(
    values: Sequence[Sequence[int] | NDArray[np.int64]],
    uses: Sequence[Sequence[Sequence[int]] | NDArray[np.int64]],
    capacity: Sequence[int],
    duals: LinearDuals,
) -> int:
    """Return the largest whole value that prices of the capacities (label ``capacity``) allow any choice.

    ``values[j][c]`` is what option c of job j is worth, ``uses[j][c][r]`` what it takes of resource r. An option is
    worth at most its price plus the most by which any fitting option of its job, or waiting, exceeds its own; all
    prices paid are at most the price of everything there is. This holds for any prices of at least 0.
    """
    prices = duals.multipliers.get("capacity", (0,) * len(capacity))
    if len(prices) != len(capacity) or min(prices, default=0) < 0 or duals.denominator < 1:
        found = f"{len(prices)} numbers, the least {min(prices, default=0)}, over {duals.denominator}"
        raise InputError("multipliers.capacity", found, f"{len(capacity)} whole numbers of at least 0 over 1 or more")
    if len(values) != len(uses):
        raise InputError("uses", f"those of {len(uses)} jobs", f"those of {len(values)} jobs, as many as have values")
    total = sum(price * has for price, has in zip(prices, capacity, strict=True))
    for job, (worth, takes) in enumerate(zip(values, uses, strict=True)):
        if len(worth) != len(takes):
            raise InputError(f"uses[{job}]", f"{len(takes)} options", f"{len(worth)} options, as many as have values")
        if len(worth):
            total += _excess(np.asarray(worth), np.asarray(takes), list(capacity), duals.denominator, prices)
    return total // duals.denominator


def _excess(worth: NDArray[Any], takes: NDArray[Any], capacity: list[int], over: int, prices: Sequence[int]) -> int:
    """Return the most by which a fitting option exceeds its price, at least 0, in units of 1 / ``over``."""
    if takes.shape != (len(worth), len(capacity)):
        raise InputError("uses", f"an array of shape {takes.shape}", f"{len(capacity)} amounts for each option")
    fitting = np.ones(len(worth), dtype=np.bool_)
    reach = over * max(abs(int(worth.max())), abs(int(worth.min())))
    for resource, price in enumerate(prices):
        reach += price * int(takes[:, resource].max())
        fitting &= takes[:, resource] <= capacity[resource]
    kind: Any = np.int64 if reach < _SAFE else object
    net = worth.astype(kind) * over
    for resource, price in enumerate(prices):
        net = net - takes[:, resource].astype(kind) * price
    over_price: list[int] = net[fitting].tolist()
    return max([0, *over_price])
