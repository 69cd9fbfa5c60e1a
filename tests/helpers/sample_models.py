"""Models the backend suites share: small ones with known optima, and small ones that are hard."""

import numpy as np

from muri_opt.modelling import INFINITY, ModelBuilder
from muri_opt.solve.solvers import BACKENDS

NAMES = tuple(BACKENDS)
FLOATING = tuple(name for name, backend in BACKENDS.items() if backend.capabilities.continuous)


def one_row(coefficients, sense, rhs, *, objective, maximise=True, lower=0, upper=1, integer=True):
    """Return a model of one row over as many columns as there are coefficients."""
    builder = ModelBuilder("one-row")
    x = builder.add_columns("x", np.arange(len(coefficients)), lower=lower, upper=upper, integer=integer)
    builder.add_rows("r", [0], entries=([0] * len(x), x, coefficients), sense=sense, rhs=rhs)
    return builder.finish(maximise=maximise, columns=x, coefficients=objective)


def gangs():
    """Return five jobs on three nodes: job j runs (a) on exactly its GPUs, spread anyhow (x). The optimum is 34."""
    need, worth, room = np.array([4, 3, 4, 2, 3]), np.array([13, 9, 12, 7, 8]), np.array([4, 3, 4])
    jobs, nodes = len(need), len(room)
    builder = ModelBuilder("gangs")
    a = builder.add_columns("a", np.arange(jobs))
    x = builder.add_columns("x", [[j, s] for j in range(jobs) for s in range(nodes)], upper=4)
    job, node = np.repeat(np.arange(jobs), nodes), np.tile(np.arange(nodes), jobs)
    whole = (np.append(job, np.arange(jobs)), np.append(x, a), np.append(np.ones(len(x), dtype=int), -need))
    builder.add_rows("gang", np.arange(jobs), entries=whole, sense="=", rhs=0)
    builder.add_rows("room", np.arange(nodes), entries=(node, x, 1), sense="<=", rhs=room)
    return builder.finish(maximise=True, columns=a, coefficients=worth)


def market_split(*, planted=False):
    """Return forty binaries that must halve five long sums exactly: no solver answers within a second.

    With ``planted``, the sums are those of a known assignment, which is returned as well.
    """
    draw = np.random.default_rng(5)
    weights = draw.integers(0, 100, size=(5, 40))
    point = draw.integers(0, 2, size=40)
    rhs = weights @ point if planted else weights.sum(axis=1) // 2
    builder = ModelBuilder("market-split")
    x = builder.add_columns("x", np.arange(40))
    row, column = np.indices(weights.shape).reshape(2, -1)
    builder.add_rows("half", np.arange(5), entries=(row, x[column], weights.ravel()), sense="=", rhs=rhs)
    model = builder.finish(maximise=True, columns=[], coefficients=[])
    return (model, point) if planted else model


def knapsack():
    """Return sixty binaries under ten knapsacks, worth what they weigh: soon answered, not soon proved the best."""
    weights = np.random.default_rng(0).integers(0, 100, size=(10, 60))
    builder = ModelBuilder("knapsack")
    x = builder.add_columns("x", np.arange(60))
    row, column = np.indices(weights.shape).reshape(2, -1)
    entries = (row, x[column], weights.ravel())
    builder.add_rows("room", np.arange(10), entries=entries, sense="<=", rhs=weights.sum(axis=1) // 2)
    return builder.finish(maximise=True, columns=x, coefficients=weights.sum(axis=0) + 100)


def unbounded(*, integer=True, feasible=True):
    """Return x - y <= 2 with x + y to be maximised, and with x - y >= 3 as well unless ``feasible``."""
    builder = ModelBuilder("unbounded")
    x = builder.add_columns("x", [0, 1], upper=INFINITY, integer=integer)
    builder.add_rows("r", [0], entries=([0, 0], x, [1, -1]), sense="<=", rhs=2)
    if not feasible:
        builder.add_rows("s", [0], entries=([0, 0], x, [1, -1]), sense=">=", rhs=3)
    return builder.finish(maximise=True, columns=x, coefficients=[1, 1])


def continuous(*, mixed):
    """Return max x + y with 3 x + y <= 4 and x + 3 y <= 4, at (1, 1); with y whole and x + 3 y <= 5 at (2/3, 1)."""
    builder = ModelBuilder("continuous")
    x = builder.add_columns("x", [0], upper=9, integer=False)
    y = builder.add_columns("y", [0], upper=9, integer=mixed)
    entries = ([0, 0, 1, 1], [*x, *y, *x, *y], [3, 1, 1, 3])
    builder.add_rows("r", [0, 1], entries=entries, sense="<=", rhs=[3, 5] if mixed else [4, 4])
    return builder.finish(maximise=True, columns=[*x, *y], coefficients=[1, 1])
