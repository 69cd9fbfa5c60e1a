"""The exact path of a round, from building to decoding, as calls that a solver process can run.

The process that asks for them imports this module too, so backends are looked up only where they run.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from muri_opt.errors import RefusalError
from muri_opt.rounds import Budget, Decision, Limit, Limits, LinearDuals, Prices, Reason, Round, Termination, unlimited
from muri_opt.rounds.memoise import last_recalled
from muri_opt.solve import solvers as backends

if TYPE_CHECKING:
    from muri_opt.modelling import Model
    from muri_opt.systems import Formulation
    from muri_opt.systems.program import Settled


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a backend made of a round: a decision, a claimed bound, why it stopped, and what it cost.

    A search of a chapter's own gives multipliers instead of a claim.
    """

    termination: Termination
    decision: Decision | None = None
    bound: int | None = None
    build_seconds: float = 0.0
    solve_seconds: float = 0.0
    columns: int = 0
    rows: int = 0
    duals: LinearDuals | None = None
    work: float = 0.0


@last_recalled
def build(round_: Round, formulation: Formulation) -> Model:
    """Return the model of the round; the relaxation and the program of one round are the same."""
    return formulation.build(round_)


def relax(round_: Round, formulation: Formulation, budget: Budget | None) -> Prices | None:
    """Return multipliers from the linear relaxation, or ``None`` if the budget was over or the chapter has none.

    Building counts against seconds; it is no work.
    """
    if not formulation.has_duals:
        return None
    within = unlimited() if budget is None else budget
    model = build(round_, formulation)
    if within.over():
        return None
    if backends.is_wide(model):
        found = backends.priced(model, within)
        row_duals = None if found is None else found.duals
    else:
        row_duals = backends.relaxation_duals(model, within)
    return None if row_duals is None else formulation.duals(round_, model, row_duals)


def relax_within(round_: Round, formulation: Formulation, limits: Limits) -> tuple[Prices | None, float]:
    """Return the multipliers of :func:`relax`, and the work that they took."""
    budget = Budget(limits=limits)
    return relax(round_, formulation, budget), budget.spent


def prepare(round_: Round, formulation: Formulation) -> None:
    """Read the round as its program does; what was read is there for the calls that follow."""
    formulation.prepare(round_)


def solve_directly(round_: Round, formulation: Formulation) -> Answer | None:
    """Return the exact program's answer without a solver, or ``None`` where the chapter has no such way.

    The bound is the value of the program; where a decision cannot reach it, a solver may still do better.
    """
    began = time.monotonic()
    values = formulation.direct(round_)
    if values is None:
        return None
    return Answer(
        termination=Termination(reason=Reason.OPTIMAL, detail="solved by dynamic programming"),
        decision=formulation.decode(round_, values),
        bound=int(values @ build(round_, formulation).objective),
        solve_seconds=time.monotonic() - began,
    )


def search_chapter(round_: Round, formulation: Formulation, limits: Limits, start: Decision | None) -> Answer | None:
    """Return what the chapter's own search finds, or ``None`` where it has nothing to look for."""
    began, budget = time.monotonic(), Budget(limits=limits)
    solve = partial(backends.solve_stages, backends.backend_named(backends.FIRST_BACKEND))
    found = formulation.search(round_, start, budget, backends.relaxation, solve)
    if found is None:
        return None
    return Answer(
        termination=Termination(reason=Reason.FEASIBLE, limit=Limit.HEURISTIC, detail=found.detail),
        decision=found.decision,
        solve_seconds=time.monotonic() - began,
        duals=found.duals,
        work=budget.spent,
    )


def settle(
    round_: Round, formulation: Formulation, names: Sequence[str], limits: Limits, start: Decision
) -> tuple[Settled | None, float]:
    """Return of the decisions of the same value the one whose changes cost least, and the work that took.

    The next backend is asked where one does not take the numbers.
    """
    budget = Budget(limits=limits)
    for name in names[:-1]:
        with suppress(RefusalError):
            return _settled_by(round_, formulation, name, budget, start), budget.spent
    return _settled_by(round_, formulation, names[-1], budget, start), budget.spent


def _settled_by(round_: Round, formulation: Formulation, name: str, budget: Budget, start: Decision) -> Settled | None:
    solve = partial(backends.solve_stages, backends.backend_named(name))
    return formulation.settle(round_, start, budget, solve)


def optimise(round_: Round, formulation: Formulation, backend: str, limits: Limits, start: Decision | None) -> Answer:
    """Return the exact program's answer on one backend; building counts against the time limit, it is no work."""
    began, budget = time.monotonic(), Budget(limits=limits)
    model = build(round_, formulation)
    values = None if start is None else formulation.encode(round_, start)
    spent = time.monotonic() - began
    left = budget.left()
    answer = Answer(
        termination=Termination(reason=Reason.NO_SOLUTION, limit=Limit.TIME, detail="no time left after building"),
        build_seconds=spent,
        columns=model.column_count,
        rows=model.row_count,
    )
    if left.seconds == 0:
        return answer
    stages = formulation.stages(round_, model)
    if backends.is_wide(model) and len(stages) == 1:
        outcome = backends.solve_wide(backends.backend_named(backend), model, left, values)
    else:
        outcome = backends.solve_stages(backends.backend_named(backend), model, stages, left, values)
    return replace(
        answer,
        termination=outcome.termination,
        decision=None if outcome.values is None else formulation.decode(round_, outcome.values),
        bound=None if outcome.bound is None else int(outcome.bound),
        build_seconds=spent + outcome.build_seconds,
        solve_seconds=outcome.solve_seconds,
        work=outcome.work,
    )
