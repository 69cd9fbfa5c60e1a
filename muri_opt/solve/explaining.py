"""Why others wait beside an answer that was changed after the policy had told it."""

from __future__ import annotations

from msgspec.structs import replace

from muri_opt.rounds import Decision
from muri_opt.solve.search import Search
from muri_opt.verify.chapter import UNSAID


def explain(search: Search) -> None:
    """Let the policy say why others wait beside the answer of a search, where that was left out.

    The check's own reasons stay: where the policy tells another one, the job is told no more than the reason.
    """
    before = search.decision
    if before is None or all(wait.detail != UNSAID for wait in before.waiting):
        return
    told = {wait.job: wait for wait in search.policy.explained(search.round_, before).waiting}
    waiting = tuple(
        replace(wait, detail=said.detail, remedy=said.remedy)
        if (said := told[wait.job]).reason == wait.reason
        else wait
        for wait in before.waiting
    )
    after = Decision(assignments=before.assignments, waiting=waiting)
    if not search.audit.breaches(after):
        search.decision = after
