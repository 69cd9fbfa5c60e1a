"""The search of the chapter *grouping* where groups are too many to list: columns are priced on demand.

Prices (:mod:`.program_master`) bound the round; the verifier shows it by its own means. Then the relaxation is rounded
(:mod:`.program_rounding`).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from muri_opt.modelling import Relax, SolveStages
from muri_opt.rounds import Budget, Decision, LinearDuals, Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.muri.program_master import Master
from muri_opt.systems.muri.program_over import Program
from muri_opt.systems.muri.program_prices import job_prices
from muri_opt.systems.muri.program_rounding import Rounding
from muri_opt.systems.muri.program_types import GroupTypes
from muri_opt.systems.muri.sample_prices import sample_prices
from muri_opt.systems.pooled_limits import whole_prices
from muri_opt.systems.program import Searched

CHECK: Final = 2.5e-9
"""Seconds that checking prices takes at least, for each three jobs that may share."""
CHECKING: Final = 1.6
"""How often a full look at the same prices it takes besides, at most."""
SAMPLING: Final = 0.12
"""Part of the budget that is for prices of a sample."""
PRICING: Final = 0.65
"""Part of the budget that is for prices; what is left of it is for a decision, and for the check."""
COVERING: Final = 0.8
"""Part of it that is used up at most when prices have risen to cover all groups."""
SHORT: Final = 0.75
"""Part of the budget that is used where it is too short to check prices: one that ends too late has no answer."""


def seconds_to_check(types: GroupTypes) -> float:
    """Return about how long the verifier takes at least to check prices of a round."""
    sizes = types.g if types.rules.sizes == "equal" else np.zeros_like(types.g)
    most = np.bincount(np.unique(sizes, return_inverse=True)[1], np.minimum(types.count, types.largest))
    return 0.02 + CHECK * float((most**3).sum())


def search_groups(
    program: Program,
    round_: Round,
    types: GroupTypes,
    start: Decision | None,
    budget: Budget,
    relax: Relax,
    solve: SolveStages,
) -> Searched | None:
    """Return a decision over priced groups and the prices that bound the round.

    Where there is no time to check such prices, those of single jobs bound it instead. Where there is a decision to
    ``start`` from, ``None`` is returned then, and where so little work is allowed (a unit counts as a second).
    """
    left = budget.limits.seconds
    check = seconds_to_check(types)
    is_short = left is not None and left < 4 * check
    has_little_work = budget.limits.work is not None and budget.limits.work < 4 * check
    if start is not None and (is_short or has_little_work):
        return None
    within = budget.until(SHORT) if is_short else budget
    master = Master(program, round_, types, relax)
    master.take(_started(round_, types, start))
    master.rising = master.looking = within
    master.first = sample_prices(master, within.share(SAMPLING))
    duals: LinearDuals | None
    if is_short:
        master.look_quickly(within.until(PRICING))
        duals = job_prices(round_, types.rules)
    else:
        prices = master.priced(within.until(PRICING), within.until(COVERING))
        duals = whole_prices(dict(prices), always=("once", "gpus"))
        within = _without_check(budget, check + CHECKING * master.seconds_of_look())
    values = Rounding(master, solve).values(within)
    found = f"{len(master.groups):,} groups were priced of those that there are"
    return Searched(
        decision=program.decision_over(round_, master.columns, values),
        duals=duals,
        detail=found,
    )


def _without_check(budget: Budget, check: float) -> Budget:
    """Return what is left of a budget but for the seconds of the check, or half of it."""
    left = budget.left().seconds
    return budget.share(1.0 if left is None else max(0.5, 1 - check / max(left, check)))


def _started(round_: Round, types: GroupTypes, start: Decision | None) -> Ints:
    """Return every type alone that can run, and the groups of a decision."""
    able = np.flatnonzero(types.able(round_) > 0)
    rows = [[kind] for kind in able.tolist()]
    decided = () if start is None else start.assignments
    rows += [sorted(int(types.type_of[round_.job_index[job]]) for job in assignment.jobs) for assignment in decided]
    groups = np.full((len(rows), types.largest), -1, dtype=np.int64)
    for place, row in enumerate(rows):
        groups[place, : len(row)] = row
    return groups
