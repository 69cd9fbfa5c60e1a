"""Changes of running jobs that pay: what a policy decides, held against leaving all that runs as it is.

A change is made only if the decision is worth more by it, with the time of restarts charged. So what a policy wants is
taken where it is worth more than what it would decide beside all that runs, and a job of which only the change can be
undone, at no loss, is left as it was. Where the decision would be another one once it is carried out, that one is made
at once: deciding again with nothing changed then changes nothing. A policy that starts from what runs (Rubick) is asked
again only where it changes somebody.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from time import monotonic
from typing import Final, Protocol

import numpy as np

from muri_opt.rounds import Round, after
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.change_costs import change_cost
from muri_opt.rounds.decision import Decision
from muri_opt.systems.plans.allocation import PlanAllocation
from muri_opt.systems.plans.decision import assignments_of, chosen_in
from muri_opt.systems.plans.options import PlanOptions
from muri_opt.systems.plans.plan_rules import PlanRules

Chosen = Mapping[int, Ints]
"""The nodes of each option that runs."""
_LOOKS: Final = 32
"""How often a decision is looked at again as if it were carried out."""
MOST_LOOKED_AT: Final = 50_000
"""Options up to which it is: one look takes as long as the decision."""


class Chooser(Protocol):
    """What a policy of plans is asked here."""

    @property
    def plan_rules(self) -> PlanRules:
        """Which plans a job may run by and what they are worth."""

    def choose(self, round_: Round, options: PlanOptions, seed: int, until: float = inf) -> Chosen:
        """Return what the algorithm chooses."""

    def kept(self, round_: Round, options: PlanOptions, seed: int) -> Chosen | None:
        """Return what it chooses beside all that runs, or ``None`` where its algorithm starts from that anyway."""


def paying(policy: Chooser, round_: Round, options: PlanOptions, seed: int, until: float = inf) -> Chosen:
    """Return what a policy chooses in a round where jobs run, without changes that do not pay.

    It is looked at again as long as that is done ``until`` that moment, of ``time.monotonic``, if it takes as long as
    the time before.
    """
    began = monotonic()
    best, kept = _better(policy, round_, options, seed, until)
    if len(options) > MOST_LOOKED_AT or (kept is None and not _changes_anybody(options, best)):
        return best
    for _ in range(_LOOKS):
        now = monotonic()
        if until < inf and now + (now - began) > until:
            break
        began = now
        done = Decision(assignments=assignments_of(round_, options, best))
        then = after(round_, done)
        if then == round_:
            break
        again = PlanOptions.of(then, policy.plan_rules)
        wanted, kept = _better(policy, then, again, seed, until)
        if len(wanted) == len(best) and not _changes_anybody(again, wanted):
            break
        found = chosen_in(round_, options, Decision(assignments=assignments_of(then, again, wanted)))
        if found is None:
            break
        best = found
    return best


def _better(
    policy: Chooser, round_: Round, options: PlanOptions, seed: int, until: float
) -> tuple[Chosen, Chosen | None]:
    """Return what a policy chooses or what it chooses beside all that runs, whichever is worth more; and the latter."""
    wanted = undone(round_, options, policy.choose(round_, options, seed, until))
    kept = None if until < inf and monotonic() >= until else policy.kept(round_, options, seed)
    if kept is None or worth_of(options, wanted) > worth_of(options, kept):
        return wanted, kept
    return kept, kept


def _changes_anybody(options: PlanOptions, chosen: Chosen) -> bool:
    """Return whether a running job that could stay where it is does not."""
    homes = np.flatnonzero(options.home >= 0)
    stays = np.isin(homes, np.fromiter(chosen, dtype=np.int64, count=len(chosen)))
    return len(np.unique(options.job[homes[stays]])) < len(np.unique(options.job[homes]))


def worth_of(options: PlanOptions, chosen: Chosen) -> int:
    """Return what a choice of options is worth in all, every level of priorities by its weight."""
    taken = np.fromiter(chosen, dtype=np.int64, count=len(chosen))
    level = options.level[options.job[taken]]
    return sum(weight * int(options.e[taken[level == at]].sum()) for at, weight in enumerate(options.weights))


def undone(round_: Round, options: PlanOptions, chosen: Chosen, *, equal: bool = False) -> Chosen:
    """Return the same choice with every running job where it was that can be there at no loss, all else as it is.

    With ``equal`` only those that are worth the same where they were: the choice is worth no more by it either.
    What costs most to change is looked at first; who goes back may leave room for another, so that all are looked at
    again until nobody goes back.
    """
    homes = _homes(options)
    away = [job for job in homes if not any(home in chosen for home in homes[job])]
    if not away:
        return chosen
    allocation = PlanAllocation(round_, options)
    allocation.take_all(chosen)
    away.sort(key=lambda job: -change_cost(round_.jobs[job]))
    while away:
        left = [job for job in away if not _back(allocation, job, homes[job], equal=equal)]
        if len(left) == len(away):
            break
        away = left
    return allocation.chosen


def _homes(options: PlanOptions) -> dict[int, list[int]]:
    """Return the options of running jobs by which nothing restarts, those worth most first."""
    found: dict[int, list[int]] = {}
    at_home = np.flatnonzero(options.home >= 0)
    for home in at_home[np.argsort(-options.e[at_home], kind="stable")].tolist():
        found.setdefault(int(options.job[home]), []).append(home)
    return found


def _back(allocation: PlanAllocation, job: int, homes: list[int], *, equal: bool) -> bool:
    """Let a job be where it ran, if there is room and it is worth no less there; return whether it is."""
    placement = allocation.placements.get(job)
    if placement is None:
        return not equal and allocation.start(job, homes)
    gains = allocation.options.e[homes] - allocation.options.e[placement.option]
    good = gains == 0 if equal else gains >= 0
    allocation.leave(job)
    if allocation.start(job, (home for home, one in zip(homes, good.tolist(), strict=True) if one)):
        return True
    allocation.take(job, *placement)
    return False
