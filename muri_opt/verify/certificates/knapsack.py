"""A bound on choosing one option per job, or none, under a few capacities, from prices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import InputError
from muri_opt.rounds import LinearDuals
from muri_opt.verify.dual_bound import Prices

_SAFE = 1 << 62


def options_bound(
    values: Sequence[Sequence[int] | NDArray[np.int64]],
    uses: Sequence[Sequence[Sequence[int]] | NDArray[np.int64]],
    capacity: Sequence[int],
    duals: LinearDuals,
) -> int:
    """Return the largest whole value that prices of the capacities (label ``capacity``) allow any choice.

    ``values[j][c]`` is what option c of job j is worth, ``uses[j][c][r]`` what it takes of resource r. The profit of a
    job is the most by which a fitting option, or waiting, exceeds its price.
    """
    prices = Prices.read(duals, {"capacity": capacity})
    if len(values) != len(uses):
        raise InputError("uses", f"those of {len(uses)} jobs", f"those of {len(values)} jobs, as many as have values")
    profits = []
    for job, (worth, takes) in enumerate(zip(values, uses, strict=True)):
        if len(worth) != len(takes):
            raise InputError(f"uses[{job}]", f"{len(takes)} options", f"{len(worth)} options, as many as have values")
        if len(worth):
            profits.append(_excess(np.asarray(worth), np.asarray(takes), list(capacity), prices))
    return prices.bound(profits)


def _excess(worth: NDArray[Any], takes: NDArray[Any], capacity: list[int], prices: Prices) -> int:
    """Return the most by which a fitting option exceeds its price, at least 0, over the denominator of the prices."""
    if takes.shape != (len(worth), len(capacity)):
        raise InputError("uses", f"an array of shape {takes.shape}", f"{len(capacity)} amounts for each option")
    fitting = np.ones(len(worth), dtype=np.bool_)
    reach = prices.denominator * max(abs(int(worth.max())), abs(int(worth.min())))
    for resource, price in enumerate(prices.of["capacity"]):
        reach += price * int(takes[:, resource].max())
        fitting &= takes[:, resource] <= capacity[resource]
    kind: Any = np.int64 if reach < _SAFE else object
    net = worth.astype(kind) * prices.denominator
    for resource, price in enumerate(prices.of["capacity"]):
        net = net - takes[:, resource].astype(kind) * price
    over_price: list[int] = net[fitting].tolist()
    return max([0, *over_price])
