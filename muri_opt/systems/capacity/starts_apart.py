"""Jobs that start and may not be stopped or moved: what the round after decides at once, this round decides already.

Such a job is set apart once it runs, with what it was given, and all others are decided without it. That may be another
decision, mostly a better one: the rule then knows what is left.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import monotonic
from typing import Final

from muri_opt.rounds import Assignment, Decision, Round, after
from muri_opt.rounds.change_costs import changes_cost
from muri_opt.systems.capacity.set_apart import SetApart

LOOKS: Final = 4
"""How often a decision is looked at at most as if it were carried out; two or three times are usual."""
Decide = Callable[[Round], Decision]
"""Decides a whole round once."""
Value = Callable[[Decision], int | None]
"""Returns what a decision of the rest of the round is worth, ``None`` for one that is none."""


def with_starts_apart(apart: SetApart, first: Decision, decide: Decide, value: Value, until: float = inf) -> Decision:
    """Return the ``first`` decision of the rest of a round, or what is decided next if it is worth no less.

    That is ``decide`` of the round in which the decision is carried out. It is taken where it is worth more here, in
    the round itself, or as much with changes that cost no more; it has no reasons to wait then. It is looked at as long
    as that is done ``until`` that moment, of ``time.monotonic``, if it takes as long as the time before.
    """
    best, best_worth, kept = first, _worth(apart.rest, first, value), {job for one in apart.kept for job in one.jobs}
    looks = LOOKS if best_worth is not None and _is_set_apart(apart.whole, first) else 0
    took = 0.0
    for _ in range(looks):
        began = monotonic()
        if until < inf and began + took > until:
            break
        done = Decision(assignments=(*apart.kept, *best.assignments))
        next_ = [one for one in decide(after(apart.whole, done)).assignments if kept.isdisjoint(one.jobs)]
        found = Decision(assignments=tuple(next_))
        if _given(found.assignments) == _given(best.assignments):
            break
        worth = _worth(apart.rest, found, value)
        if worth is None or best_worth is None or worth < best_worth:
            break
        best, best_worth, took = found, worth, monotonic() - began
    return best


def _worth(rest: Round, decision: Decision, value: Value) -> tuple[int, int] | None:
    found = value(decision)
    return None if found is None else (found, -changes_cost(rest, decision))


def _is_set_apart(whole: Round, decision: Decision) -> bool:
    """Return whether a job of the rest runs by a decision that is set apart once it does."""
    jobs = (whole.jobs[whole.job_index[job]] for one in decision.assignments for job in one.jobs)
    return any(job.preemptible is False or job.movable is False for job in jobs)


def _given(assignments: tuple[Assignment, ...]) -> list[tuple[list[str], str | None, dict[str, int]]]:
    """Return who has what together, in an order of its own."""
    return sorted((sorted(one.jobs), one.plan, dict(one.gpus)) for one in assignments)
