"""CP-SAT of OR-Tools: whole numbers all the way.

The model goes over as fields of ``CpModelProto``, filled a row at a time from lists; that is twice as fast as the
Python expressions of CP-SAT, and the same code fills the protocol buffer of OR-Tools 9.14 and the wrapper of 9.15.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from itertools import pairwise
from typing import Any

import numpy as np

from muri_opt.modelling import Model, Rows, Values
from muri_opt.rounds import Limit, Limits, Reason
from muri_opt.solve.solvers.base import Backend, Capabilities
from muri_opt.solve.solvers.outcome import Outcome, nothing, something

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


class CpSat(Backend):
    """Constraint programming with clause learning; exact in int64 and, with one thread, the same answer every time."""

    name = "cp-sat"
    # CP-SAT refuses a model whose sums could leave int64, and presolve adds rows up: 2**60 leaves it a factor of 8.
    capabilities = Capabilities(
        continuous=False,
        unbounded_columns=False,
        largest_coefficient=2**50,
        largest_weight=2**50,
        largest_objective=2**60,
        largest_sum=2**60,
    )

    def version(self) -> str:
        """Return the version of OR-Tools."""
        import_module("ortools.sat.python.cp_model")
        return f"CP-SAT in OR-Tools {version('ortools')}"

    def load(self, model: Model) -> Any:
        """Return a ``cp_model.CpModel`` that holds the model."""
        from ortools.sat.python import cp_model

        loaded = cp_model.CpModel()
        proto = loaded.Proto()
        for bounds in np.column_stack([model.lower, model.upper]).tolist():
            proto.variables.add().domain.extend(bounds)
        for rows in model.rows:
            _add_rows(proto.constraints, rows)
        used = np.flatnonzero(model.objective)
        if len(used):
            sign = -1 if model.maximise else 1
            proto.objective.vars.extend(used.tolist())
            proto.objective.coeffs.extend((sign * model.objective[used]).tolist())
            proto.objective.scaling_factor = sign
        return loaded

    def run(self, loaded: Any, model: Model, limits: Limits, start: Values | None) -> Outcome:
        """Run CP-SAT; its OPTIMAL includes "within the gap", which the exact bound tells apart."""
        from ortools.sat.python import cp_model

        solver = cp_model.CpSolver()
        solver.parameters.num_workers = limits.threads
        solver.parameters.random_seed = limits.seed
        solver.parameters.relative_gap_limit = limits.gap
        if limits.seconds is not None:
            solver.parameters.max_time_in_seconds = limits.seconds
        if limits.work is not None:
            solver.parameters.max_deterministic_time = limits.work
        if start is not None:
            hint = loaded.Proto().solution_hint
            hint.vars.extend(range(model.column_count))
            hint.values.extend(start.astype(np.int64).tolist())
        status = solver.solve(loaded)
        said = solver.status_name(status)
        response = solver.ResponseProto()
        work = float(response.deterministic_time)
        if status == cp_model.MODEL_INVALID:
            return nothing(Reason.FAILED, f"{said}: {loaded.validate()}")
        if status == cp_model.INFEASIBLE:
            return replace(nothing(Reason.INFEASIBLE, said), work=work)
        limit = _limit(limits, work)
        if status == cp_model.UNKNOWN:
            # Its bound may be 0 only because nothing was computed yet, so it is not passed on.
            return replace(nothing(Reason.NO_SOLUTION, said, limit), work=work)
        inner = response.inner_objective_lower_bound
        bound = (-inner if model.maximise else inner) if model.objective.any() else 0
        values = np.array(list(response.solution), dtype=np.int64)
        found = something(values, said, None if status == cp_model.OPTIMAL else limit, bound)
        return replace(found, work=work)


def _limit(limits: Limits, work: float) -> Limit:
    """Return what stopped CP-SAT, which does not say: the work if that is done, and else the time."""
    if limits.work is not None and (limits.seconds is None or work >= limits.work):
        return Limit.WORK
    return Limit.FAULT if limits.seconds is None else Limit.TIME


def _add_rows(constraints: Any, rows: Rows) -> None:
    columns, coefficients = rows.columns.tolist(), rows.coefficients.tolist()
    for (start, stop), side in zip(pairwise(rows.starts.tolist()), rows.rhs.tolist(), strict=True):
        linear = constraints.add().linear
        linear.vars.extend(columns[start:stop])
        linear.coeffs.extend(coefficients[start:stop])
        low = _LOWEST if rows.sense == "<=" else side
        linear.domain.extend([low, _HIGHEST if rows.sense == ">=" else side])
