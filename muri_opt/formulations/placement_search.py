"""The search of the chapter *placement*: prices of jobs and quotas node by node, and gangs inserted where they gain."""

from __future__ import annotations

from muri_opt.formulations.base import Searched
from muri_opt.instance import Round
from muri_opt.modelling import Relax
from muri_opt.seating import quick_prices, seat_round
from muri_opt.solution import Decision, Limits, LinearDuals, placement_decision
from muri_opt.tenants import Standing, TenantRules
from muri_opt.tenants.standing import Held

NEARLY_ALL = 0.8
"""Part of the time the search takes: its steps cannot be interrupted, and reasons are still to be found."""


def search_places(
    round_: Round, rules: TenantRules, start: Decision | None, limits: Limits, relax: Relax
) -> Searched | None:
    """Return the best places found in the time, no worse than the start, and multipliers that bound the round."""
    if not round_.jobs:
        return None
    standing = Standing.of(round_, rules)
    known = None if start is None else _places(round_, start)
    seconds = None if limits.seconds is None else NEARLY_ALL * limits.seconds
    found = seat_round(round_, standing, known, limits.with_seconds(seconds), relax)
    return Searched(decision=placement_decision(round_, standing, found.places), duals=found.duals, detail=found.how)


def quick_multipliers(round_: Round, rules: TenantRules) -> LinearDuals | None:
    """Return multipliers that need no solver, or ``None`` for a round without jobs."""
    return quick_prices(round_, Standing.of(round_, rules)) if round_.jobs else None


def _places(round_: Round, decision: Decision) -> dict[int, Held]:
    """Return the GPUs per node that a decision gives to its jobs."""
    nodes = round_.cluster.node_index
    return {
        round_.job_index[assignment.jobs[0]]: {nodes[node]: gpus for node, gpus in assignment.gpus.items()}
        for assignment in decision.assignments
    }
