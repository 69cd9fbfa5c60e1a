"""HiGHS: the model goes over as numpy arrays, so taking it in costs next to nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Model, Values
from muri_opt.rounds import Budget, Limit, Limits, Reason, unlimited
from muri_opt.solve.solvers import costs
from muri_opt.solve.solvers.base import Backend, at_once, remaining
from muri_opt.solve.solvers.float_solvers import claimed, floating, with_infinities
from muri_opt.solve.solvers.outcome import Outcome, exact_bound, nothing
from muri_opt.solve.solvers.trust import KnownFault

_ROWWISE = 2
_FEASIBLE_POINT = 2
_LARGE, _TIGHT = 10**5, 1e-8
"""With larger coefficients than this, the usual tolerance of 1e-6 is a unit of the row: of 3,000 models near 10**7
HiGHS then got 31 wrong and failed on 74, with the tight one it got all right. Near 10**8, 1e-9 made it crash."""
_CENTRAL = {"solver": "ipm", "run_crossover": "off", "ipm_optimality_tolerance": 1e-4, "presolve": "off"}
"""An interior point method that ends there. After presolve, HiGHS 1.13 tells multipliers of maximisations with the
wrong sign, and the status "unknown"."""
_NEAR = 0.01
"""Part of the optimum that a central solution and the bound of its multipliers may be apart."""
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
        second = self._run(again, model, remaining(limits, began).less(outcome.work), start)
        return replace(second, work=outcome.work + second.work)

    def _run(self, solver: Any, model: Model, limits: Limits, start: Values | None) -> Outcome:
        from highspy import HighsModelStatus as Status

        began = perf_counter()
        _limit(solver, limits)
        solver.setOptionValue("mip_rel_gap", limits.gap)
        meter = _Meter(model, limits, whole=bool(model.integer.any()))
        meter.watch(solver)
        if max((int(np.abs(rows.coefficients).max(initial=0)) for rows in model.rows), default=0) > _LARGE:
            solver.setOptionValue("mip_feasibility_tolerance", _TIGHT)
            solver.setOptionValue("primal_feasibility_tolerance", _TIGHT)
        if start is not None and model.integer.any():
            solver.setSolution(model.column_count, np.arange(model.column_count, dtype=np.int32), start.astype(float))
        _run(solver)
        status = solver.getModelStatus()
        said = solver.modelStatusToString(status)
        work = meter.spent(solver)
        if status == Status.kInfeasible:
            outcome = nothing(Reason.INFEASIBLE, said)
        elif status in (Status.kUnbounded, Status.kUnboundedOrInfeasible):
            outcome = self.unbounded_or_infeasible(model, remaining(limits, began).less(work), said)
        else:
            known = {Status.kTimeLimit: Limit.TIME, Status.kInterrupt: Limit.WORK, Status.kIterationLimit: Limit.WORK}
            limit = None if status == Status.kOptimal else known.get(status, Limit.FAULT)
            said = "Work limit reached" if status == Status.kInterrupt else said
            outcome = _found(solver, model, said, limit)
        return replace(outcome, work=work + outcome.work)


class _Meter:
    """Counts the work of one run of HiGHS, and ends it when the work is done.

    HiGHS has no limit of work: it takes one of simplex iterations for linear programs only, and one of nodes that does
    not bind in the root, where most of its time goes. But it asks now and then whether to go on, at steps that depend
    on the program and the seed alone, and each time some work is counted.
    """

    def __init__(self, model: Model, limits: Limits, *, whole: bool) -> None:
        self._work, self._whole = limits.work, whole
        self._counted = costs.reading(model) if whole else costs.relaxing(model)
        self._check, self._iteration = costs.check(model), costs.iteration(model)
        self._central = costs.central_iteration(model)
        self._small = limits.work is not None and limits.work < costs.sub_programs(model)

    def watch(self, solver: Any) -> None:
        """Make HiGHS keep to the work, if there is a limit of work."""
        if self._work is None:
            return
        if not self._whole:
            rest = max(0.0, self._work - self._counted)
            solver.setOptionValue("simplex_iteration_limit", costs.count(rest, self._iteration))
            solver.setOptionValue("ipm_iteration_limit", costs.count(rest, self._central))
            return
        from highspy import cb

        if self._small:
            for heuristic in ("rens", "rins", "root_reduced_cost"):
                solver.setOptionValue(f"mip_heuristic_run_{heuristic}", False)
        solver.setCallback(self._asked, None)
        solver.startCallback(cb.HighsCallbackType.kCallbackMipInterrupt)

    def spent(self, solver: Any) -> float:
        """Return the work of the run, smaller programs inside included as far as their iterations tell."""
        info = solver.getInfo()
        iterations = max(0, int(info.simplex_iteration_count))
        if not self._whole:
            return self._counted + iterations * self._iteration + max(0, int(info.ipm_iteration_count)) * self._central
        return max(self._counted, iterations * costs.inner_iteration())

    def _asked(self, _kind: Any, _message: Any, _told: Any, answer: Any, _data: Any) -> None:
        self._counted += self._check
        if self._work is not None and self._counted >= self._work:
            answer.user_interrupt = True


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


def relaxation(model: Model, budget: Budget | None, *, central: bool = False) -> Relaxed | None:
    """Return the linear relaxation of a model solved, or ``None`` without an optimum within the budget.

    Where a ``central`` solution is asked for, it is one by an interior point method, to about four digits and without a
    vertex: of programs with far more columns than rows that takes a tenth of the time, and multipliers in the middle of
    all that are optimal jump less when columns are added.

    Rows are in the order of ``model.matrix``. The multiplier of a row is the rate at which the optimum changes
    with the row's right side. For a maximisation that of a binding ``<=`` row is therefore >= 0 and that of a binding
    ``>=`` row <= 0; for a minimisation it is the other way round. A row that does not bind has 0, an equation any sign.
    """
    from highspy import HighsModelStatus

    trivial = at_once(model)
    if trivial is not None:
        if trivial.values is None:
            return None
        return Relaxed(values=trivial.values.astype(np.float64), duals=np.zeros(model.row_count))
    solver = linear_solver(model)
    within = unlimited() if budget is None else budget
    if within.over():
        return None
    left = within.left()
    meter = _Meter(model, left, whole=False)
    _limit(solver, Limits(seconds=left.seconds))
    meter.watch(solver)
    if central:
        for option, value in _CENTRAL.items():
            solver.setOptionValue(option, value)
    _run(solver)
    within.spend(meter.spent(solver))
    # Without a vertex HiGHS does not call a solution optimal that is a little outside of its rows.
    enough = (HighsModelStatus.kOptimal, HighsModelStatus.kUnknown) if central else (HighsModelStatus.kOptimal,)
    if solver.getModelStatus() not in enough:
        return None
    found = solver.getSolution()
    values, duals = (np.array(part, dtype=np.float64) for part in (found.col_value, found.row_dual))
    if central and not _is_near(model, values, duals):
        return relaxation(model, within)
    return Relaxed(values=values, duals=duals)


def _is_near(model: Model, values: NDArray[np.float64], duals: NDArray[np.float64]) -> bool:
    """Return whether multipliers bound the relaxation closely by what its values are worth."""
    sign, matrix = (1.0 if model.maximise else -1.0), model.matrix
    row = np.repeat(np.arange(len(duals)), np.diff(matrix.starts))
    paid = np.bincount(matrix.columns, matrix.coefficients * duals[row], minlength=model.column_count)
    worth, bound = sign * float(model.objective @ values), 0.0
    for rate, lower, upper in (
        (sign * duals, matrix.lower, matrix.upper),
        (sign * (model.objective - paid), model.lower, model.upper),
    ):
        side = np.where(rate > 0, with_infinities(upper), with_infinities(lower))
        bound += float((rate * np.where(rate == 0, 0.0, side)).sum())
    return abs(bound - worth) <= _NEAR * max(1.0, abs(worth))


def relaxation_duals(model: Model, budget: Budget | None) -> NDArray[np.float64] | None:
    """Return the multipliers of :func:`relaxation`, or ``None`` without an optimum within the budget."""
    found = relaxation(model, budget)
    return None if found is None else found.duals


def linear_solver(model: Model) -> Any:
    """Return a ``highspy.Highs`` that holds the linear relaxation of a model."""
    return _solver(model, np.zeros(model.column_count, dtype=np.int32))


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
    from highspy import Highs as Solver, HighsModelStatus

    solver.run()
    if solver.getModelStatus() == HighsModelStatus.kNotset:
        Solver.resetGlobalScheduler(True)
        solver.run()


def _found(solver: Any, model: Model, said: str, limit: Limit | None) -> Outcome:
    info, optimal = solver.getInfo(), limit is None
    best = info.mip_dual_bound if model.integer.any() else info.objective_function_value
    bound = exact_bound(model, best) if optimal or model.integer.any() else None
    if info.primal_solution_status == _FEASIBLE_POINT:
        return claimed(model, np.array(solver.getSolution().col_value, dtype=np.float64), said, limit, bound)
    stopped = limit in (Limit.TIME, Limit.WORK)
    return nothing(Reason.NO_SOLUTION, said, limit, bound) if stopped else nothing(Reason.FAILED, said)
