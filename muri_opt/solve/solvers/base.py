"""What every backend is: a name, declared capabilities, a way to take a model in, and one way to solve it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from muri_opt.errors import RefusalError
from muri_opt.modelling import INFINITY, Ints, Model, Rows, Values, evaluate
from muri_opt.rounds import Limit, Limits, Reason
from muri_opt.solve.solvers import costs
from muri_opt.solve.solvers.outcome import Outcome, checked, keeping, nothing, something
from muri_opt.solve.solvers.trust import KnownFault, known_fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a backend can take; a model outside is refused before the solve, with the remedy.

    ``largest_coefficient`` is that of rows and their right sides, ``largest_weight`` that of the objective;
    ``largest_objective`` limits what the objective can reach over the column bounds, ``largest_sum`` what a row or a
    column can.
    """

    continuous: bool
    unbounded_columns: bool
    largest_coefficient: int
    largest_weight: int
    largest_objective: int
    largest_sum: int
    most_columns: int | None = None


class Backend(ABC):
    """A solver behind one method. Subclasses import their solver inside functions only."""

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities]
    known_faults: ClassVar[tuple[KnownFault, ...]] = ()
    """Versions that have been seen to lie with the settings used here; they are refused, not used."""

    @abstractmethod
    def version(self) -> str:
        """Return the version of the solver that would run; raises ``ImportError`` where it is missing."""

    def program(self) -> Path | None:
        """Return the executable that would run, ``None`` where the solver is a library."""
        return None

    @abstractmethod
    def load(self, model: Model) -> Any:
        """Return the model in the form the solver reads, without solving it."""

    @abstractmethod
    def run(self, loaded: Any, model: Model, limits: Limits, start: Values | None) -> Outcome:
        """Return the solver's claims about a model it has loaded; ``limits`` has the time left, ``start`` is feasible.

        With a limit of work and none of time no clock may decide anything, and the outcome says what work it took.
        Values come back rounded (:func:`~muri_opt.solve.solvers.outcome.rounded`); nothing else need be checked here.
        """

    def solve(self, model: Model, limits: Limits, start: Values | None = None) -> Outcome:
        """Refuse what is outside the capabilities, run the rest, and check the answer exactly.

        The outcome is never worse than a feasible ``start``; an infeasible one is ignored.
        """
        check_capabilities(self, model)
        known = None if start is None else _feasible(model, start)
        outcome = checked(model, at_once(model) or self._timed(model, limits, known))
        return outcome if known is None else keeping(model, outcome, known)

    def unbounded_or_infeasible(self, model: Model, limits: Limits, said: str) -> Outcome:
        """Return which of the two a model is whose relaxation is unbounded: infeasible if it is so with no objective.

        With whole-number data, a feasible integer program is unbounded as soon as its relaxation is.
        """
        if not model.objective.any():
            return nothing(Reason.INFEASIBLE if "infeasible" in said.lower() else Reason.FAILED, said)
        silent = replace(model, objective=np.zeros_like(model.objective))
        outcome = self.run(self.load(silent), silent, limits, None)
        if outcome.values is not None:
            return nothing(Reason.FAILED, f"unbounded; solver said: {said}")
        known = outcome.termination
        detail = f"{said}; with no objective: {known.detail}"
        return nothing(known.reason, detail, known.limit)

    def _timed(self, model: Model, limits: Limits, start: Values | None) -> Outcome:
        if limits.nothing_left:
            return nothing(Reason.NO_SOLUTION, *_not_begun(limits))
        if limits.work is not None and limits.work < costs.reading(model):
            said = f"{limits.work:.3g} units of work are too few to begin on {costs.entries(model):,} coefficients"
            return replace(nothing(Reason.NO_SOLUTION, said, Limit.WORK), work=limits.work)
        began = perf_counter()
        check_version(self)
        loaded = self.load(model)
        built = perf_counter()
        left = remaining(limits, began)
        if left.seconds == 0:
            outcome = nothing(Reason.NO_SOLUTION, "the time was over before the model was loaded", Limit.TIME)
        else:
            outcome = self.run(loaded, model, left, start)
        return replace(outcome, build_seconds=built - began, solve_seconds=perf_counter() - built)


def _not_begun(limits: Limits) -> tuple[str, Limit]:
    return ("no time was given", Limit.TIME) if limits.seconds == 0 else ("no work was given", Limit.WORK)


def remaining(limits: Limits, began: float) -> Limits:
    """Return the limits with the time left of a call that began at ``began``, by ``perf_counter``."""
    return limits if limits.seconds is None else limits.with_seconds(max(0.0, limits.seconds - perf_counter() + began))


def at_once(model: Model) -> Outcome | None:
    """Return the answer that needs no solver: a constraint without columns that cannot hold, or no column at all.

    Solvers disagree about such models (some call them empty, some do not read them), so none is asked.
    """
    for label, index in _impossible(model):
        detail = f"{label}{list(index)} has no columns and cannot hold"
        return nothing(Reason.INFEASIBLE, detail)
    if model.column_count == 0:
        return something(np.zeros(0, dtype=np.int64), "no columns to decide", None, 0)
    return None


def _feasible(model: Model, start: Values) -> Values | None:
    """Return a start in the type answers have, ``None`` if it breaks anything."""
    if not evaluate(model, start).feasible:
        return None
    return start.astype(np.int64) if model.integer.all() else start.astype(np.float64)


def _impossible(model: Model) -> Iterator[tuple[str, tuple[int, ...]]]:
    for family in model.rows:
        bad = {"<=": family.rhs < 0, ">=": family.rhs > 0, "=": family.rhs != 0}[family.sense]
        bad &= np.diff(family.starts) == 0
        for at in np.flatnonzero(bad).tolist():
            yield family.label, tuple(family.index[at].tolist())


def check_version(backend: Backend) -> None:
    """Refuse a solver whose version has been seen to lie, naming what was seen and the remedy."""
    if not backend.known_faults:
        return
    version = backend.version()
    fault = known_fault(version, backend.known_faults)
    if fault is not None:
        raise RefusalError(f"{backend.name}: version", f"{version}, {fault.seen}", fault.remedy)


def check_capabilities(backend: Backend, model: Model) -> None:
    """Refuse a model the backend cannot solve exactly, naming what is wrong and the remedy."""
    can = backend.capabilities
    what = f"{backend.name}: model {model.name!r}"
    if not can.continuous and not model.integer.all():
        raise RefusalError(what, "continuous columns", "integer columns only; use highs, cbc or scip")
    if not can.unbounded_columns and (np.any(model.lower <= -INFINITY) or np.any(model.upper >= INFINITY)):
        raise RefusalError(what, "a column without a finite bound", "finite bounds, or use highs, cbc or scip")
    if can.most_columns is not None and model.column_count > can.most_columns:
        raise RefusalError(what, f"{model.column_count} columns", f"at most {can.most_columns}; use another backend")
    numbers = [*(rows.coefficients for rows in model.rows), *(rows.rhs for rows in model.rows)]
    for kind, parts, most in (
        ("a coefficient", numbers, can.largest_coefficient),
        ("an objective coefficient", [model.objective], can.largest_weight),
    ):
        largest = max((int(np.abs(part).max(initial=0)) for part in parts), default=0)
        if largest > most:
            raise RefusalError(what, f"{kind} of {largest:,}", f"at most {most:,}; rescale, or use cp-sat")
    reach = np.maximum(_finite(model.lower), _finite(model.upper))
    total = float(np.dot(np.abs(model.objective), reach))
    if total > can.largest_objective:
        raise RefusalError(
            what, f"objective values up to {total:,.0f}", f"at most {can.largest_objective:,}; rescale, or use cp-sat"
        )
    total = max(float(np.max(part, initial=0.0)) for part in (reach, *(_totals(rows, reach) for rows in model.rows)))
    if total > can.largest_sum:
        raise RefusalError(what, f"sums up to {total:,.0f}", f"at most {can.largest_sum:,}; rescale, or use cp-sat")


def _finite(bounds: Ints) -> NDArray[np.float64]:
    """Return the size of each bound; no bound counts as 1, for nothing is known about it."""
    return np.where(np.abs(bounds) >= INFINITY, 1.0, np.abs(bounds).astype(np.float64))


def _totals(rows: Rows, reach: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each row what its terms and its right side can add up to."""
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    terms = np.bincount(owner, weights=np.abs(rows.coefficients) * reach[rows.columns], minlength=len(rows))
    return (terms + np.abs(rows.rhs)).astype(np.float64)
