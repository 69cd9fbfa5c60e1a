"""SCIP, the one inside OR-Tools, reached through the protocol buffers of MathOpt.

The buffers are filled with whole arrays and handed straight to the MathOpt solver. The Python class ``mathopt.Model``
would take the same buffer and write it out again, and OR-Tools 9.14 has no way to make one from a buffer.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from time import perf_counter
from typing import Any

import numpy as np

from muri_opt.modelling import Model, Values
from muri_opt.rounds import Limit, Limits, Reason
from muri_opt.solve.solvers import costs
from muri_opt.solve.solvers.base import Backend, remaining
from muri_opt.solve.solvers.float_solvers import claimed, floating, with_infinities
from muri_opt.solve.solvers.outcome import Outcome, exact_bound, nothing


class Scip(Backend):
    """Branch and cut by SCIP; takes continuous and unbounded columns."""

    name = "scip"
    # SCIP compares to nine digits: at 2**37 one of 600 stopped 18 short of the optimum, at 2**35 none of 80.
    capabilities = floating(largest_coefficient=10**7, largest_objective=2**35)

    def version(self) -> str:
        """Return the version of OR-Tools, which carries SCIP without a version of its own."""
        import_module("ortools.math_opt.core.python.solver")
        return f"SCIP in OR-Tools {version('ortools')}"

    def load(self, model: Model) -> Any:
        """Return the model as a MathOpt ``ModelProto``; ids are positions."""
        from ortools.math_opt import model_pb2

        proto = model_pb2.ModelProto()
        variables, rows, entries = proto.variables, proto.linear_constraints, proto.linear_constraint_matrix
        variables.ids.extend(range(model.column_count))
        variables.lower_bounds.extend(with_infinities(model.lower).tolist())
        variables.upper_bounds.extend(with_infinities(model.upper).tolist())
        variables.integers.extend(model.integer.tolist())
        used = np.flatnonzero(model.objective)
        proto.objective.maximize = model.maximise
        proto.objective.linear_coefficients.ids.extend(used.tolist())
        proto.objective.linear_coefficients.values.extend(model.objective[used].tolist())
        matrix = model.matrix
        count = len(matrix.lower)
        rows.ids.extend(range(count))
        rows.lower_bounds.extend(with_infinities(matrix.lower).tolist())
        rows.upper_bounds.extend(with_infinities(matrix.upper).tolist())
        owner = np.repeat(np.arange(count), np.diff(matrix.starts))
        entries.row_ids.extend(owner.tolist())
        entries.column_ids.extend(matrix.columns.tolist())
        entries.coefficients.extend(matrix.coefficients.tolist())
        return proto

    def run(self, loaded: Any, model: Model, limits: Limits, start: Values | None) -> Outcome:
        """Run SCIP; its OPTIMAL includes "within the gap", which the bound tells apart."""
        from ortools.math_opt import callback_pb2, parameters_pb2
        from ortools.math_opt.core.python import solver

        began = perf_counter()
        refused: type[Exception] = import_module("pybind11_abseil.status").StatusNotOk
        try:
            result = solver.solve(
                loaded,
                parameters_pb2.SOLVER_TYPE_GSCIP,
                parameters_pb2.SolverInitializerProto(),
                _parameters(model, limits),
                _hints(start),
                None,
                callback_pb2.CallbackRegistrationProto(),
                None,
                None,
            )
        except refused as error:
            # MathOpt stumbles over the infinite objective value that SCIP reports for some unbounded models.
            if "objective_value" in str(error):
                return self.unbounded_or_infeasible(model, remaining(limits, began), str(error))
            return nothing(Reason.FAILED, str(error))
        outcome = self._read(result, model, remaining(limits, began))
        told = result.solve_stats
        work = costs.reading(model) + max(
            told.node_count * costs.node(model), told.simplex_iterations * costs.inner_iteration()
        )
        return replace(outcome, work=work + outcome.work)

    def _read(self, result: Any, model: Model, left: Limits) -> Outcome:
        from ortools.math_opt import result_pb2

        ended = result.termination
        said = _words(ended)
        if ended.reason == result_pb2.TERMINATION_REASON_INFEASIBLE:
            return nothing(Reason.INFEASIBLE, said)
        if ended.reason == result_pb2.TERMINATION_REASON_UNBOUNDED:
            return nothing(Reason.FAILED, f"unbounded; solver said: {said}")
        if ended.reason == result_pb2.TERMINATION_REASON_INFEASIBLE_OR_UNBOUNDED:
            return self.unbounded_or_infeasible(model, left, said)
        known = {result_pb2.LIMIT_TIME: Limit.TIME, result_pb2.LIMIT_NODE: Limit.WORK}
        limit = known.get(ended.limit, Limit.FAULT)
        bound = exact_bound(model, ended.objective_bounds.dual_bound)
        if ended.reason == result_pb2.TERMINATION_REASON_NO_SOLUTION_FOUND:
            return nothing(Reason.NO_SOLUTION, said, limit, bound)
        optimal = ended.reason == result_pb2.TERMINATION_REASON_OPTIMAL
        if not optimal and ended.reason != result_pb2.TERMINATION_REASON_FEASIBLE:
            return nothing(Reason.FAILED, said)
        point = result.solutions[0].primal_solution.variable_values
        dense = np.zeros(model.column_count)
        dense[np.array(point.ids, dtype=np.int64)] = np.array(point.values, dtype=np.float64)
        return claimed(model, dense, said, None if optimal else limit, bound)


def _words(ended: Any) -> str:
    """Return MathOpt's words for why it stopped, such as ``NO_SOLUTION_FOUND, LIMIT_TIME``."""
    from ortools.math_opt import result_pb2

    reason = result_pb2.TerminationReasonProto.Name(ended.reason).removeprefix("TERMINATION_REASON_")
    limit = result_pb2.LimitProto.Name(ended.limit) if ended.limit else ""
    return ", ".join(word for word in (reason, limit, ended.detail) if word)


def _parameters(model: Model, limits: Limits) -> Any:
    from ortools.math_opt import parameters_pb2

    parameters = parameters_pb2.SolveParametersProto(threads=limits.threads, relative_gap_tolerance=limits.gap)
    parameters.random_seed = limits.seed % 2**30  # SCIP adds to it for the programs inside its heuristics
    # SCIP's tolerance is relative: with 1e-6, a row with a right side of a million may be broken by 1.
    parameters.gscip.real_params["numerics/feastol"] = 1e-9
    if limits.seconds is not None:
        parameters.time_limit.FromNanoseconds(int(limits.seconds * 1e9))
    if limits.work is not None:
        parameters.node_limit = costs.count(limits.work - costs.reading(model), costs.node(model))
    return parameters


def _hints(start: Values | None) -> Any:
    from ortools.math_opt import model_parameters_pb2

    hints = model_parameters_pb2.ModelSolveParametersProto()
    if start is not None:
        given = hints.solution_hints.add().variable_values
        given.ids.extend(range(len(start)))
        given.values.extend(start.tolist())
    return hints
