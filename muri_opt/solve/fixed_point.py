"""A look at an answer as if it were carried out: what the next call would make of it, this call does at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from muri_opt.rounds import Decision, Limits, Round, after
from muri_opt.solve.explaining import explain
from muri_opt.solve.search import Search
from muri_opt.verify import completed

LOOKS: Final = 8
"""How often an answer is looked at again at most; two or three times are usual."""
MOST_JOBS: Final = 500
"""Jobs up to which it is: a look takes as long as the call, and in large rounds an answer in time is worth more."""


def reach_fixed_point(search: Search, searched: Callable[[Round, Limits], Search]) -> None:
    """Let a search go on from its own answer, as the next call would, while that is worth more and limits last.

    ``searched`` searches another round in the same way. An answer that is as good as was asked for stays. Seconds must
    suffice for as long as the time before took.
    """
    began = search.began
    for _ in range(LOOKS if len(search.round_.jobs) <= MOST_JOBS else 0):
        before, left, now = search.decision, search.left(), time.monotonic()
        if before is None or search.close_enough or left.nothing_left:
            return
        if left.seconds is not None and now - began > left.seconds:
            return
        began = now
        then = after(search.round_, before)
        if then == search.round_:
            return
        again = searched(then, left)
        search.spent += again.spent
        if again.decision is None or not _take(search, again.decision):
            return


def _take(search: Search, found: Decision) -> bool:
    """Take an answer found in the round after, if in the round itself it keeps the rules and is worth more."""
    decision = completed(search.round_, search.rules, Decision(assignments=found.assignments))
    if search.audit.breaches(decision):
        return False
    value = search.audit.value(decision)
    if search.value is not None and value <= search.value:
        return False
    search.replace_answer(decision, value)
    explain(search)
    return True
