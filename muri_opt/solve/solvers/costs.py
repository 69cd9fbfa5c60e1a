"""What the steps of solvers cost in units of work, that is, in seconds of one core as far as counts can tell.

Measured on the programs of this package (docs/benchmarks.md, "The same bytes"): a step takes between a quarter and four
times as long as is said here. What matters is that the numbers come from the program alone.
"""

from __future__ import annotations

from muri_opt.modelling import Model


def entries(model: Model) -> int:
    """Return how many coefficients the rows have, the size all costs are made from."""
    return len(model.matrix.columns)


def reading(model: Model) -> float:
    """Return the cost of presolve, which nothing can interrupt."""
    return 1e-4 + 1e-5 * entries(model)


def check(model: Model) -> float:
    """Return the cost of what HiGHS does between two looks at its limits: a round of cuts, a heuristic, a node."""
    return 0.003 + 4e-6 * entries(model)


def sub_programs(model: Model) -> float:
    """Return the work below which HiGHS is kept from smaller programs inside: nothing can interrupt those, either."""
    return 0.05 + 1e-4 * entries(model)


def relaxing(model: Model) -> float:
    """Return the cost of a linear program before the first iteration."""
    return 1e-4 + 1e-6 * entries(model)


def iteration(model: Model) -> float:
    """Return the cost of an iteration of the simplex method on a linear program."""
    return 2e-5 + 2e-9 * entries(model)


def central_iteration(model: Model) -> float:
    """Return the cost of an iteration of the interior point method on a linear program."""
    return 1e-4 + 2e-7 * entries(model)


def inner_iteration() -> float:
    """Return the cost of such an iteration inside branch and bound, with all that is done there besides."""
    return 4e-4


def node(model: Model) -> float:
    """Return the cost of a node of branch and bound, for solvers that count nothing else."""
    return 0.005 + 1e-5 * entries(model)


def count(work: float, each: float) -> int:
    """Return how many steps there are in that work, at least one, as solvers take it."""
    return max(1, min(2**31 - 1, int(work / each)))
