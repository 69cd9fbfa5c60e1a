"""HiGHS: the model goes over as numpy arrays, so taking it in costs next to nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muri_opt.backends.answer import Outcome, exact_bound, nothing
from muri_opt.backends.base import Backend, at_once, remaining
from muri_opt.backends.floating import claimed, floating, with_infinities
from muri_opt.backends.trust import KnownFault
from muri_opt.modelling import Model, Values, lower
from muri_opt.solution import Limit, Limits, Reason

_ROWWISE = 2
_FEASIBLE_POINT = 2
_LARGE, _TIGHT = 10**5, 1e-8
"""With larger coefficients than this, the usual tolerance of 1e-6 is a unit of the row: of 3,000 models near 10**7
HiGHS then got 31 wrong and failed on 74, with the tight one it got all right. Near 10**8, 1e-9 made it crash."""
_PRESOLVE_WENT_WRONG = ("Solve error", "Presolve error", "Postsolve error")
"""HiGHS 1.13 "solves" 100000 v + 3 x + 4 y + 4 z = 17 in presolve, with a column outside its bounds."""


class Highs(Backend):
    """Branch and cut by HiGHS; takes continuous and unbounded columns."""

    name = "highs"
    # A thousand weights of the largest size. At 2**42 HiGHS was seen to stop 1 short of the optimum.
    capabilities = floating(largest_coefficient=10**7, largest_objective=2**40)
    known_faults = (
        KnownFault(
            first=(1, 14),
            last=(1, 14, 0),
            seen="which calls 1 the optimum of a program of two columns whose optimum is 5/3",
            remedy="highspy 1.13 (pip install 'highspy<1.14'), or use cp-sat",
        ),
    )

    def version(self) -> str:
        """Return the version of the HiGHS library."""
        return f"HiGHS {_version()}"

    def load(self, model: Model) -> Any:
        """Return a ``highspy.Highs`` that holds the model."""
        return _solver(model, model.integer.astype(np.int32))

    def run(self, loaded: Any, model: Model, limits: Limits, start: Values | None) -> Outcome:
        """Run HiGHS, a second time without presolve where its presolve went wrong and HiGHS noticed."""
        began = perf_counter()
        outcome = self._run(loaded, model, limits, start)
        if outcome.termination.detail not in _PRESOLVE_WENT_WRONG:
            return outcome
        again = self.load(model)
        again.setOptionValue("presolve", "off")
        return self._run(again, model, remaining(limits, began), start)

    def _run(self, solver: Any, model: Model, limits: Limits, start: Values | None) -> Outcome:
        from highspy import HighsModelStatus as Status

        began = perf_counter()
        _limit(solver, limits)
        solver.setOptionValue("mip_rel_gap", limits.gap)
        if max((int(np.abs(rows.coefficients).max(initial=0)) for rows in model.rows), default=0) > _LARGE:
            solver.setOptionValue("mip_feasibility_tolerance", _TIGHT)
            solver.setOptionValue("primal_feasibility_tolerance", _TIGHT)
        if start is not None and model.integer.any():
            solver.setSolution(model.column_count, np.arange(model.column_count, dtype=np.int32), start.astype(float))
        _run(solver)
        status = solver.getModelStatus()
        said = solver.modelStatusToString(status)
        if status == Status.kInfeasible:
            return nothing(Reason.INFEASIBLE, said)
        if status in (Status.kUnbounded, Status.kUnboundedOrInfeasible):
            return self.unbounded_or_infeasible(model, remaining(limits, began), said)
        return _found(solver, model, said, optimal=status == Status.kOptimal, timed=status == Status.kTimeLimit)


@cache  # asked for before every solve
def _version() -> str:
    from highspy import Highs as Solver

    said: str = Solver().version()
    return said


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Relaxed:
    """The optimum of a linear relaxation: a value per column and a multiplier per row."""

    values: NDArray[np.float64]
    duals: NDArray[np.float64]


def relaxation(model: Model, seconds: float | None) -> Relaxed | None:
    """Return the linear relaxation of ``lower(model)`` solved, or ``None`` without an optimum in time.

    Rows are in the order of ``lower(model).matrix``. The multiplier of a row is the rate at which the optimum changes
    with the row's right side. For a maximisation that of a binding ``<=`` row is therefore >= 0 and that of a binding
    ``>=`` row <= 0; for a minimisation it is the other way round. A row that does not bind has 0, an equation any sign.
    """
    from highspy import HighsModelStatus

    plain = lower(model)
    trivial = at_once(plain)
    if trivial is not None:
        if trivial.values is None:
            return None
        return Relaxed(values=trivial.values.astype(np.float64), duals=np.zeros(plain.row_count))
    solver = _solver(plain, np.zeros(plain.column_count, dtype=np.int32))
    _limit(solver, Limits(seconds=seconds))
    _run(solver)
    if solver.getModelStatus() != HighsModelStatus.kOptimal:
        return None
    found = solver.getSolution()
    return Relaxed(values=np.array(found.col_value, dtype=np.float64), duals=np.array(found.row_dual, dtype=np.float64))


def relaxation_duals(model: Model, seconds: float | None) -> NDArray[np.float64] | None:
    """Return the multipliers of :func:`relaxation`, or ``None`` without an optimum in time."""
    found = relaxation(model, seconds)
    return None if found is None else found.duals


def _solver(model: Model, integrality: NDArray[np.int32]) -> Any:
    from highspy import Highs as Solver

    solver = Solver()
    solver.setOptionValue("output_flag", False)
    matrix = model.matrix
    solver.passModel(
        model.column_count,
        len(matrix.lower),
        len(matrix.columns),
        _ROWWISE,
        -1 if model.maximise else 1,
        0.0,
        model.objective.astype(np.float64),
        with_infinities(model.lower),
        with_infinities(model.upper),
        with_infinities(matrix.lower),
        with_infinities(matrix.upper),
        matrix.starts[:-1].astype(np.int32),
        matrix.columns.astype(np.int32),
        matrix.coefficients.astype(np.float64),
        integrality,
    )
    return solver


def _limit(solver: Any, limits: Limits) -> None:
    if limits.seconds is not None:
        solver.setOptionValue("time_limit", limits.seconds)
    solver.setOptionValue("threads", limits.threads)
    solver.setOptionValue("random_seed", limits.seed)


def _run(solver: Any) -> None:
    """Run; HiGHS keeps one pool of threads per process and refuses another size, so then the pool is made anew."""
    from highspy import Highs as Solver
    from highspy import HighsModelStatus

    solver.run()
    if solver.getModelStatus() == HighsModelStatus.kNotset:
        Solver.resetGlobalScheduler(True)
        solver.run()


def _found(solver: Any, model: Model, said: str, *, optimal: bool, timed: bool) -> Outcome:
    info = solver.getInfo()
    best = info.mip_dual_bound if model.integer.any() else info.objective_function_value
    bound = exact_bound(model, best) if optimal or model.integer.any() else None
    if info.primal_solution_status == _FEASIBLE_POINT:
        limit = None if optimal else Limit.TIME if timed else Limit.FAULT
        return claimed(model, np.array(solver.getSolution().col_value, dtype=np.float64), said, limit, bound)
    return nothing(Reason.NO_SOLUTION, said, Limit.TIME, bound) if timed else nothing(Reason.FAILED, said)
