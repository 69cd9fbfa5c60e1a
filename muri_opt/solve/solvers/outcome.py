"""What a backend answers, and the exact checks every answer passes before anybody sees it.

A solver computes in floating point and stops within tolerances. Here its values are made whole again, its objective
value is recomputed from the model, and its claims (this is optimal, nothing is better than the bound) are held against
each other. A claim that does not stand is reported as what it is, never passed on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import INFINITY, Evaluation, Model, Number, Values, evaluate
from muri_opt.rounds import Limit, Reason, Termination

_WHOLE = 1e-5
"""How far from a whole number a solver may leave an integer column; solvers promise 1e-6 or better."""

_NOISE = Fraction(1, 10**9)
"""How far, relative to the value, an optimum in floats may be from the same solution in whole numbers."""

_CLOSE = Fraction(1, 10**6)
"""How far continuous answers may be off, relative to the numbers of the model; solvers promise 1e-6."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """What a backend found: values, their exact objective value, a claimed bound, why it stopped, and what it cost."""

    termination: Termination
    values: Values | None = None
    value: Number | None = None
    bound: Number | None = None
    build_seconds: float = 0.0
    solve_seconds: float = 0.0
    work: float = 0.0


def nothing(reason: Reason, detail: str, limit: Limit | None = None, bound: Number | None = None) -> Outcome:
    """Return an outcome without values."""
    return Outcome(termination=Termination(reason=reason, limit=limit, detail=detail), bound=bound)


def something(values: Values, detail: str, limit: Limit | None, bound: Number | None) -> Outcome:
    """Return an outcome with values, claimed to be optimal where no limit kept the solver from knowing more."""
    reason = Reason.OPTIMAL if limit is None else Reason.FEASIBLE
    return Outcome(termination=Termination(reason=reason, limit=limit, detail=detail), values=values, bound=bound)


def whole_objective(model: Model) -> bool:
    """Return whether every objective value is a whole number: only integer columns have a coefficient."""
    return bool(model.integer[np.flatnonzero(model.objective)].all())


def rounded(model: Model, values: NDArray[np.float64]) -> Values | None:
    """Return a solver's values with the integer columns whole, ``None`` where one of them is no whole number.

    Models without continuous columns get int64, the others float64.
    """
    nearest = np.rint(values)
    whole = model.integer
    if not np.isfinite(values).all() or np.any(np.abs(values - nearest)[whole] > _WHOLE):
        return None
    if whole.all():
        return nearest.astype(np.int64) if np.all(np.abs(nearest) < INFINITY) else None
    return np.where(whole, nearest, values)


def exact_bound(model: Model, claimed: float) -> Number | None:
    """Return a solver's floating bound, rounded inwards to a whole number where every objective value is whole.

    Before rounding, the bound is loosened by the noise of a floating sum: 1e-6, or 64 units in the last place (12 were
    seen). At the largest objective a floating solver is given (2**40) that is far below 1, so a bound equal to the
    value stays equal.
    """
    if not np.isfinite(claimed) or abs(claimed) >= INFINITY:
        return None
    if not whole_objective(model):
        return Fraction(claimed)
    slack = max(1e-6, abs(claimed) * 2.0**-46)
    return int(np.floor(claimed + slack)) if model.maximise else int(np.ceil(claimed - slack))


def checked(model: Model, raw: Outcome) -> Outcome:
    """Return the outcome with its value recomputed exactly and its termination no stronger than what is known.

    Values that break a row turn it into FAILED. OPTIMAL stays only where the bound, if the solver gave one, is met; an
    answer that meets its bound is OPTIMAL however the solver called it. A value beyond the bound means that the solver
    contradicts itself: the values stand, since they were checked, and the bound is dropped.
    """
    if raw.values is None:
        return raw
    found = evaluate(model, raw.values)
    if _breaks(model, found):
        first = found.broken[0]
        said = f"the values break {first.label}{list(first.index)} by {first.by}; solver said: {raw.termination.detail}"
        failed = nothing(Reason.FAILED, said)
        return replace(failed, build_seconds=raw.build_seconds, solve_seconds=raw.solve_seconds, work=raw.work)
    return _judged(model, replace(raw, value=found.value))


def keeping(model: Model, outcome: Outcome, start: Values) -> Outcome:
    """Return the outcome, or the feasible ``start`` in its place where the solver found nothing better.

    What the solver proved stays; a claim that the start disproves becomes FEASIBLE with the limit FAULT. Only an
    unbounded model keeps its failure: it has no best answer to be near to.
    """
    value = evaluate(model, start).value
    said = outcome.termination
    if said.reason is Reason.FAILED and said.detail.startswith("unbounded"):
        return outcome
    if outcome.value is not None and not _better(model, value, outcome.value):
        return outcome
    if said.limit is not None:
        kept = Termination(reason=Reason.FEASIBLE, limit=said.limit, detail=said.detail)
        return _judged(model, replace(outcome, termination=kept, values=start, value=value))
    disproved = f"the start is feasible with value {value}; solver said {said.reason}: {said.detail}"
    kept = Termination(reason=Reason.FEASIBLE, limit=Limit.FAULT, detail=disproved)
    return replace(outcome, termination=kept, values=start, value=value, bound=None)


def _breaks(model: Model, found: Evaluation) -> bool:
    """Return whether an assignment is really infeasible: at all with whole numbers, beyond rounding with fractions."""
    if model.integer.all():
        return not found.feasible
    largest = max([1, *(int(np.abs(rows.coefficients).max(initial=0)) for rows in model.rows)])
    return any(broken.by > 10 * _CLOSE * largest for broken in found.broken)


def _judged(model: Model, outcome: Outcome) -> Outcome:
    value, bound, said = outcome.value, outcome.bound, outcome.termination
    if value is None or (bound is None and said.reason is not Reason.OPTIMAL):
        return outcome
    distance = None if bound is None else abs(Fraction(bound) - Fraction(value))
    near = Fraction(0) if whole_objective(model) else _CLOSE * max(Fraction(1), abs(Fraction(value)))
    if bound is None or distance is None or distance <= near:
        proved = Termination(reason=Reason.OPTIMAL, detail=said.detail)
        # Fractions meet their bound only within rounding, so a search that was cut short is not called a proof.
        return outcome if near and said.limit is not None else replace(outcome, termination=proved, bound=value)
    if _better(model, value, bound):
        if said.reason is Reason.OPTIMAL and distance <= _NOISE * abs(Fraction(value)):
            return replace(outcome, bound=value)
        contradiction = f"the value {value} is better than the bound {bound}; solver said: {said.detail}"
        fault = Termination(reason=Reason.FEASIBLE, limit=Limit.FAULT, detail=contradiction)
        return replace(outcome, termination=fault, bound=None)
    if said.reason is Reason.OPTIMAL:
        within = Termination(reason=Reason.FEASIBLE, limit=Limit.GAP, detail=said.detail)
        return replace(outcome, termination=within)
    return outcome


def _better(model: Model, one: Number, other: Number) -> bool:
    return one > other if model.maximise else one < other
