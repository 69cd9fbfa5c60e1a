"""The second stage of an exact solve: of the answers of one value the one whose changes cost least."""

from __future__ import annotations

import msgspec

from muri_opt.rounds import Decision
from muri_opt.rounds.change_costs import changes_cost, cost_of_all
from muri_opt.solve.search import Search


def spare_changes(search: Search, *backends: str) -> None:
    """Let a search end with the cheapest changes, on the fewest nodes, of all answers of the value that it found.

    What goes wrong, or takes longer than is left, leaves its answer as it is; the value never falls.
    """
    before = search.decision
    if before is None or all(job.state != "running" for job in search.round_.jobs):
        return
    found = search.settled(before, *backends)
    then = before if found is None else found.decision
    if then != before and not search.audit.breaches(then):
        ranks = _rank(search, before), _rank(search, then)
        if ranks[1] > ranks[0]:
            search.replace_answer(then, ranks[1][0])
    chosen = search.decision or before
    cost = cost_of_all(search.round_, search.changes_of(search.round_, chosen))
    least = None if cost else 0
    if cost and found is not None and found.least is not None:
        least = min(found.least, cost)
    search.stats = msgspec.structs.replace(search.stats, changes_bound=least)


def _rank(search: Search, decision: Decision) -> tuple[int, int, int]:
    """Return what makes one decision better than another: its value, then its cost, then its nodes."""
    value = search.audit.value(decision)
    nodes = sum(len(one.gpus) for one in decision.assignments)
    return value, -changes_cost(search.round_, decision), -nodes
