"""The linear relaxation of one program, solved again and again within other bounds of its columns.

Branch and bound asks for the same program with a few bounds changed, so HiGHS keeps it and its basis from call to call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Ints, Model
from muri_opt.solve.solvers.highs import linear_solver


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoxedOptimum:
    """What the relaxation says of a box: multipliers of the rows, and values of the columns where it has any.

    Without values the box holds no point, and the multipliers are a ray: multiplied by a large number, they bound any
    objective by less than any given number.
    """

    multipliers: NDArray[np.float64]
    values: NDArray[np.float64] | None


class BoxedRelaxation:
    """A program as HiGHS holds it; :meth:`solve` takes bounds of all columns."""

    def __init__(self, model: Model, objective: Sequence[int]) -> None:
        self._solver: Any = linear_solver(model)
        self._columns = np.arange(model.column_count, dtype=np.int32)
        self._solver.changeColsCost(len(self._columns), self._columns, np.array(objective, dtype=np.float64))
        self._solver.setOptionValue("presolve", "off")  # a presolved infeasible program has no ray

    def solve(self, lower: Ints, upper: Ints) -> BoxedOptimum | None:
        """Return the optimum within the bounds or a ray that shows there is none; ``None`` where HiGHS says neither."""
        from highspy import HighsModelStatus as Status

        solver = self._solver
        solver.changeColsBounds(len(self._columns), self._columns, lower.astype(float), upper.astype(float))
        solver.run()
        if solver.getModelStatus() not in (Status.kOptimal, Status.kInfeasible):
            solver.clearSolver()  # from the basis of another box HiGHS was seen to end with "unknown"
            solver.run()
        if solver.getModelStatus() == Status.kOptimal:
            found = solver.getSolution()
            return BoxedOptimum(
                multipliers=np.array(found.row_dual, dtype=np.float64),
                values=np.array(found.col_value, dtype=np.float64),
            )
        if solver.getModelStatus() == Status.kInfeasible:
            _, has_ray, ray = solver.getDualRay()
            return BoxedOptimum(multipliers=np.array(ray, dtype=np.float64), values=None) if has_ray else None
        return None
