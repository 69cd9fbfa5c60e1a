"""Lexicographic solves: stage after stage on one backend, within the limits of one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from muri_opt.modelling import Model, Stage, Values, combined_bound, combined_value, evaluate, stage_model
from muri_opt.rounds import Budget, Limit, Limits, Reason, Termination
from muri_opt.solve.solvers.base import Backend
from muri_opt.solve.solvers.outcome import Outcome


def solve_stages(
    backend: Backend, model: Model, stages: Sequence[Stage], limits: Limits, start: Values | None = None
) -> Outcome:
    """Return the outcome of all stages as one: combined value and bound, values of the last stage reached.

    The first stage that is not solved to the end stops the sequence; its bound and the best of all later stages make
    the combined bound; there is none where not even the first stage has one. An infeasible ``start`` is ignored.
    """
    budget = Budget(limits=limits)
    reached: list[int] = []
    values = start if start is not None and evaluate(model, start).feasible else None
    build, solve = 0.0, 0.0
    last = Outcome(termination=Termination(reason=Reason.OPTIMAL))
    for _ in stages:
        last = backend.solve(stage_model(model, stages, reached), budget.left(), values)
        budget.spend(last.work)
        build, solve = build + last.build_seconds, solve + last.solve_seconds
        values = values if last.values is None else last.values
        if last.termination.reason is not Reason.OPTIMAL:
            break
        reached.append(int(last.value or 0))
    done = len(reached) == len(stages)
    open_bound = None if done or last.bound is None else int(last.bound)
    bound = combined_bound(stages, reached, open_bound) if reached or open_bound is not None else None
    total = None if values is None else combined_value(stages, [int(np.dot(s.objective, values)) for s in stages])
    termination = last.termination if done or total is None else _stopped(last.termination, len(reached), len(stages))
    return replace(
        last,
        termination=termination,
        values=values,
        value=total,
        bound=bound,
        build_seconds=build,
        solve_seconds=solve,
        work=budget.spent,
    )


def _stopped(termination: Termination, done: int, count: int) -> Termination:
    where = f"{done} of {count} stages solved; " if count > 1 else ""
    limit = termination.limit or Limit.FAULT
    return Termination(reason=Reason.FEASIBLE, limit=limit, detail=where + termination.detail)
