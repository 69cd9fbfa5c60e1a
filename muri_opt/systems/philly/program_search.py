"""The search of the chapter *placement*: prices of jobs and quotas node by node, and gangs inserted where they gain."""

from __future__ import annotations

import numpy as np

from muri_opt.modelling import Relax
from muri_opt.rounds import Budget, Decision, Round
from muri_opt.systems.philly.decision import placement_decision
from muri_opt.systems.philly.job_status import JobStatus
from muri_opt.systems.philly.program_values import decided_places
from muri_opt.systems.philly.quota_tree import QuotaTree
from muri_opt.systems.philly.search import place_round
from muri_opt.systems.philly.tenant_rules import TenantRules
from muri_opt.systems.program import Searched

SMALL, LARGE = 300, 20_000
"""Pairs of a gang to place and a node up to which the program itself is best, and from which on it is not expected to
add anything."""
SHARE, NEARLY_ALL = 0.4, 0.8
"""Part of the budget the search takes where the program is to have its turn, and else: its steps cannot be interrupted,
and reasons are still to be found."""


def search_places(
    round_: Round, rules: TenantRules, start: Decision | None, budget: Budget, relax: Relax
) -> Searched | None:
    """Return the best places found in the time, no worse than the start, and multipliers that bound the round.

    ``None`` where the round is so small that the program is better, and where priorities differ or tenants are part of
    others: of these the search knows nothing.
    """
    if not QuotaTree.of(round_).plain:
        return None
    status = JobStatus.of(round_, rules)
    pairs = int(np.count_nonzero(status.may.start | status.may.move)) * len(round_.cluster.nodes)
    if pairs <= SMALL:
        return None
    known = None if start is None else decided_places(round_, start)
    share = NEARLY_ALL if pairs > LARGE else SHARE
    found = place_round(round_, status, known, budget.until(share), relax)
    return Searched(decision=placement_decision(round_, status, found.places), duals=found.duals, detail=found.how)
