"""Who still finds room beside an answer: a solver that was stopped, or to whom a job is worth nothing, leaves GPUs."""

from __future__ import annotations

from typing import Final

from muri_opt.rounds import Decision, WaitingReason, after
from muri_opt.solve.explaining import explain
from muri_opt.solve.search import Search
from muri_opt.solve.simple_decision import simple_decisions
from muri_opt.solve.timed import CHECKING

_STEP: Final = "start beside"
STARTING: Final = 3 * CHECKING
"""Seconds for each job that it may take where it was not done yet: a round is made, and two decisions are checked."""
_MAY_FIT: Final = (WaitingReason.PRIORITY, WaitingReason.STOPPED)
"""Of jobs that are told one of these it is not said that nothing is free for them."""


def start_beside(search: Search) -> None:
    """Let those start beside the answer of a search for whom GPUs are free, where rules and value allow it.

    They start as without any search: the answer is looked at as if it were carried out. Where nobody is told that GPUs
    are kept free, or no time is left, the answer stays as it is.
    """
    before = search.decision
    if before is None or all(wait.reason not in _MAY_FIT for wait in before.waiting):
        return
    if search.is_late_for(_STEP, usual=STARTING):
        search.leave_out(_STEP)
        return
    with search.step(_STEP, "solve_seconds"):
        then = after(search.round_, before)
        for draft in simple_decisions(search.policy, then):
            found = search.kept_to_rules(Decision(assignments=draft.assignments))
            if found is not None and _is_better(search, found, before):
                search.replace_answer(found, search.audit.value(found))
                break
    explain(search)


def _is_better(search: Search, found: Decision, before: Decision) -> bool:
    """Return whether more jobs run in a decision, all of them that did before, and it is worth no less."""
    if not set(before.running) < set(found.running) or search.value is None:
        return False
    return search.audit.value(found) >= search.value
