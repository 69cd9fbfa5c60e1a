"""Whose quotas guaranteed jobs use: that of their tenant, and of all tenants above it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muri_opt.rounds.amounts import UNLIMITED, Amounts, Ints

Lines = tuple[tuple[int, ...], ...]
"""For each tenant the tenants whose quotas its jobs use."""


def limited_lines(amounts: Amounts) -> Lines:
    """Return for each tenant itself and those above it, as far as they have a quota."""
    limited = (amounts.U < UNLIMITED).tolist()
    return tuple(tuple(one for one in amounts.line(tenant) if limited[one]) for tenant in range(len(limited)))


def charged(tenants: Ints, lines: Lines) -> Ints:
    """Return the tenants of jobs, -1 for those that use no quota."""
    uses = np.array([bool(line) for line in (*lines, ())], dtype=np.bool_)
    return np.where(uses[tenants], tenants, -1)


def line_prices(prices: NDArray[np.float64], lines: Lines) -> NDArray[np.float64]:
    """Return what a GPU costs a job of each tenant, and nothing at last: what a tenant that is not listed, -1, pays."""
    return np.array([*(sum(prices[one] for one in line) for line in lines), 0.0], dtype=np.float64)


def pairs(tenants: Ints, lines: Lines) -> tuple[Ints, Ints]:
    """Return the places among some tenants, -1 for none, and the tenants whose quotas are used there."""
    table = np.full((len(lines) + 1, max(map(len, lines), default=0)), -1, dtype=np.int64)
    for tenant, line in enumerate(lines):
        table[tenant, : len(line)] = line
    used = table[tenants]
    places, steps = np.nonzero(used >= 0)
    return places, used[places, steps]
