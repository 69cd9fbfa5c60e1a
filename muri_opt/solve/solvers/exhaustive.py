"""Exhaustive search: no solver at all, for small models; the reference the other backends are held against."""

from __future__ import annotations

from dataclasses import replace
from platform import python_version
from typing import Any

import numpy as np

from muri_opt.modelling import INFINITY, Model, Values
from muri_opt.rounds import Budget, Limits, Reason
from muri_opt.solve.solvers.base import Backend, Capabilities
from muri_opt.solve.solvers.branch_and_bound import Search
from muri_opt.solve.solvers.outcome import Outcome, nothing, something

_NO_LIMIT = 2**200
"""More than 64 columns can reach; Python's whole numbers have no end."""


class Exhaustive(Backend):
    """Complete search over small models of bounded integer columns.

    The seed and the threads change nothing.
    """

    name = "exhaustive"
    capabilities = Capabilities(
        continuous=False,
        unbounded_columns=False,
        largest_coefficient=INFINITY,
        largest_weight=INFINITY,
        largest_objective=_NO_LIMIT,
        largest_sum=_NO_LIMIT,
        most_columns=64,
    )

    def version(self) -> str:
        """Return the version of Python, whose whole numbers are all the search needs."""
        return f"own search on Python {python_version()}"

    def load(self, model: Model) -> Any:
        """Return the model as a :class:`~muri_opt.solve.solvers.branch_and_bound.Search`."""
        return Search(model)

    def run(self, loaded: Any, model: Model, limits: Limits, start: Values | None) -> Outcome:
        """Search until nothing is left or the budget is used up; a start is the first answer to beat."""
        search: Search = loaded
        budget = Budget(limits=limits)
        found = search.run(
            None if start is None else [int(value) for value in start.tolist()],
            gap=limits.gap,
            budget=budget,
        )
        sign = -1 if model.maximise else 1
        said = f"{found.boxes} boxes searched"
        bound = None if found.least_cost is None else sign * found.least_cost
        if found.point is not None:
            best = something(np.array(found.point, dtype=np.int64), said, found.limit, bound)
            return replace(best, work=budget.spent)
        reason = Reason.INFEASIBLE if found.limit is None else Reason.NO_SOLUTION
        return replace(nothing(reason, said, found.limit, bound), work=budget.spent)
