"""Limits of the whole cluster, as rows of a program and as prices: GPUs, CPUs, memory, quotas.

Chapters in which jobs may spread over any nodes count amounts for the cluster. Where CPUs or memory bind on single
nodes this is a relaxation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Ints, Model, ModelBuilder
from muri_opt.rounds import LinearDuals, Round
from muri_opt.rounds.amounts import UNLIMITED

DENOMINATOR = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Uses:
    """What jobs use if a column is 1: entry i says that ``columns[i]`` gives a job of ``tenant[i]`` these amounts."""

    columns: Ints
    cpus: Ints
    memory: Ints
    tenant: Ints
    held: Ints


def add_limits(builder: ModelBuilder, round_: Round, x: Ints, gpus: Ints, uses: Uses) -> None:
    """Add the rows ``gpus``, ``cpus``, ``memory`` (if every node has a limit) and ``quota`` to a program.

    Column i takes ``gpus[i]`` GPUs of the cluster; ``uses`` are the CPUs and memory with them, and the GPUs that count
    for a quota.
    """
    total = [round_.cluster.total_gpus]
    builder.add_rows("gpus", [0], entries=(np.zeros_like(x), x, gpus), sense="<=", rhs=total)
    add_limits_beside_gpus(builder, round_, uses)


def add_limits_beside_gpus(builder: ModelBuilder, round_: Round, uses: Uses) -> None:
    """Add the rows ``cpus``, ``memory`` and ``quota``; a quota counts what tenants below it have, too."""
    amounts = round_.amounts
    for label, use, has in (("cpus", uses.cpus, amounts.C), ("memory", uses.memory, amounts.M)):
        limited = np.arange(int(len(has) > 0 and bool((has < UNLIMITED).all())))
        some = slice(0, len(use) * len(limited))
        entries = (np.zeros_like(use[some]), uses.columns[some], use[some])
        builder.add_rows(label, limited, entries=entries, sense="<=", rhs=[int(has.sum())] * len(limited))
    limited = np.flatnonzero(amounts.U < UNLIMITED)
    use, owner = np.arange(len(uses.tenant)), uses.tenant
    if amounts.lines is not None:
        lines = [amounts.line(int(tenant)) for tenant in owner]
        use, owner = np.repeat(use, list(map(len, lines))), np.array(sum(lines, ()), dtype=np.int64)
    owned = np.isin(owner, limited)
    rows, use = np.searchsorted(limited, owner[owned]), use[owned]
    entries = (rows, uses.columns[use], uses.held[use])
    builder.add_rows("quota", limited, entries=entries, sense="<=", rhs=amounts.U[limited])


def row_prices(round_: Round, model: Model, duals: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Return the duals of every family of rows, those of ``quota`` for all tenants of the cluster."""
    lengths = [len(family) for family in model.rows]
    prices = dict(zip(model.labels, np.split(duals, np.cumsum(lengths)[:-1]), strict=True))
    quota = np.zeros(len(round_.amounts.U))
    quota[np.flatnonzero(round_.amounts.U < UNLIMITED)] = prices["quota"]
    return prices | {"quota": quota}


def whole_prices(prices: dict[str, NDArray[np.float64]], always: tuple[str, ...]) -> LinearDuals:
    """Return prices as evidence, in whole numbers; families without a price are left out unless ``always`` told."""
    whole = {label: np.rint(price * DENOMINATOR).astype(np.int64) for label, price in prices.items()}
    told = {label: tuple(price.tolist()) for label, price in whole.items() if label in always or price.any()}
    return LinearDuals(denominator=DENOMINATOR, multipliers=told)
