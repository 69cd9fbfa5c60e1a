"""Of the answers of one value, exact solves give the one with the cheapest changes, and of those the fewest nodes."""

from __future__ import annotations

import pytest
from asked_rounds import GROUPS, asked_round
from loan_rounds import LOANS, loan_round
from plain_changes import cheapest, places_of, plain_cost, with_restarts
from test_asked_rounds import setting
from wish_rounds import WISHES, wish_round

from muri_opt import Round, policy_from, solve_round, verify

SEEDS = 8
MAKERS = {
    **{group: lambda seed, group=group: asked_round(seed, group) for group in GROUPS},
    **{f"loans-{group}": lambda seed, group=group: loan_round(seed, group) for group in LOANS},
    **{f"wishes-{group}": lambda seed, group=group: wish_round(seed, group) for group in WISHES},
}


def drawn(group: str, seed: int) -> Round:
    return with_restarts(MAKERS[group](seed), seed)


def compared(group: str, seed: int) -> int:
    """Compare an exact solve with all decisions; return what its changes cost."""
    round_, (spec, chosen) = drawn(group, seed), setting(seed)
    best = cheapest(round_, policy_from(spec).name, **chosen)
    result = solve_round(round_, spec, "exact")
    places = places_of(result.answer)
    nodes = sum(map(len, places.values()))
    found = result.value, plain_cost(round_, places), nodes
    running = any(job.state == "running" for job in round_.jobs)
    assert found[:2] == best[:2], (group, seed, spec)
    if running:
        assert found == best, (group, seed, spec)
    assert result.stats.changes_cost == best[1]
    assert result.stats.changes_bound == (best[1] if running else None)
    assert verify(round_, result).violations == ()
    return best[1]


@pytest.mark.parametrize("group", MAKERS)
def test_the_changes_are_the_cheapest_of_all_decisions_of_the_value(group: str) -> None:
    for seed in range(SEEDS):
        compared(group, seed)


@pytest.mark.slow
@pytest.mark.parametrize("group", MAKERS)
def test_the_changes_are_the_cheapest_of_many_more_rounds(group: str) -> None:
    for seed in range(SEEDS, 60):
        compared(group, seed)
