"""The second stage of an exact solve: of the answers of one value the one whose changes cost least."""

from __future__ import annotations

import msgspec

from muri_opt.rounds import Decision
from muri_opt.rounds.change_costs import changes_cost
from muri_opt.solve.search import Search
from muri_opt.verify import broken_rules, decision_value


def spare_changes(search: Search) -> None:
    """Let a search end with the cheapest changes, on the fewest nodes, of all answers of the value that it found.

    What goes wrong, or takes longer than is left, leaves its answer as it is; the value never falls.
    """
    before = search.decision
    found = None if before is None else search.settled(before)
    if before is None or found is None:
        return
    least, then = found.least, found.decision
    if then != before and not broken_rules(search.round_, search.rules, then):
        ranks = _rank(search, before), _rank(search, then)
        if ranks[1] > ranks[0]:
            search.decision, search.value = then, ranks[1][0]
    search.stats = msgspec.structs.replace(search.stats, changes_bound=least)


def _rank(search: Search, decision: Decision) -> tuple[int, int, int]:
    """Return what makes one decision better than another: its value, then its cost, then its nodes."""
    value = decision_value(search.round_, search.rules, decision)
    nodes = sum(len(one.gpus) for one in decision.assignments)
    return value, -changes_cost(search.round_, decision), -nodes
