"""The search of the chapter *planning*: patterns of whole nodes, combined."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from muri_opt.modelling import Relax, SolveStages
from muri_opt.rounds import Budget, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.plans.decision import plan_decision
from muri_opt.systems.plans.node_patterns import pack
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.plans.stillness import undone
from muri_opt.systems.program import Searched

LARGE = 100_000
"""Pairs of an option and a node from which on the node-level program is not expected to add anything."""
SHARE = 0.6
"""Part of the budget the search takes where the node-level program is to have its turn, too."""
NEARLY_ALL = 0.85
"""Part it takes else: its steps cannot be interrupted, and an answer that comes too late is lost."""


def search_patterns(
    round_: Round, options: PlanOptions, start: Mapping[int, Ints], budget: Budget, relax: Relax, solve: SolveStages
) -> Searched | None:
    """Return the best combination of node patterns found in the time, and the prices that bound the round."""
    if not len(options):
        return None
    pairs = int(np.count_nonzero(options.hosts[options.kind]))
    share = NEARLY_ALL if pairs > LARGE else SHARE
    found = pack(round_, options, start, budget.until(share), relax, solve)
    return Searched(
        decision=plan_decision(round_, options, undone(round_, options, found.chosen)),
        duals=found.duals,
        detail=found.how,
    )
