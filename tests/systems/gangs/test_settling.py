"""Of the answers of one value, exact solves give the one with the cheapest changes, and of those the fewest nodes."""

from __future__ import annotations

import pytest
from asked_rounds import GROUPS, asked_round
from loan_rounds import LOANS, loan_round
from msgspec.structs import replace
from plain_changes import cheapest, places_of, plain_cost, with_restarts
from seeds import some_then_all
from test_asked_rounds import setting
from wish_rounds import WISHES, wish_round

from muri_opt import Limits, Round, policy_from, solve_round, verify
from muri_opt.rounds.generate.families import generate
from muri_opt.studies.library import shipped_round

SEEDS = 3
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
@some_then_all(SEEDS, 60)
def test_the_changes_are_the_cheapest_of_all_decisions_of_the_value(seeds: range, group: str) -> None:
    for seed in seeds:
        compared(group, seed)


def running_somewhere() -> Round:
    """Return a round of which an exact solve has to change something."""
    return next(round_ for seed in range(100) if (round_ := drawn("priority", seed)) and _changes(round_))


def _changes(round_: Round) -> bool:
    return bool(solve_round(round_, "srtf", "exact").stats.changes_cost)


@pytest.mark.parametrize(
    ("field", "more"), [("changes_cost", 1), ("changes_cost", -1), ("changes_bound", 1)], ids=["more", "less", "bound"]
)
def test_a_wrong_cost_is_told_by_the_rule_of_changes(field: str, more: int) -> None:
    round_ = running_somewhere()
    result = solve_round(round_, "srtf", "exact")
    assert verify(round_, result).feasible
    stats = replace(result.stats, **{field: getattr(result.stats, field) + more})
    found = verify(round_, replace(result, stats=stats)).violations
    assert [(one.rule, one.where) for one in found] == [("changes", f"stats.{field}")]


def test_restarts_ignored_leave_the_answer_of_the_first_program() -> None:
    """The demo round: one gang moves and another is on three nodes, unless restarts are paid."""
    round_ = shipped_round("toy/eight-gangs")
    paid, ignored = (solve_round(round_, f"srtf:restarts={how}", "exact") for how in ("pay", "ignore"))
    assert paid.value == ignored.value == 114
    assert (paid.stats.changes_cost, paid.stats.changes_bound) == (0, 0)
    assert ignored.stats.changes_cost > 0
    assert ignored.stats.changes_bound is None
    assert sum(len(one.gpus) for one in paid.answer.assignments) == 8
    assert ignored.rules["restarts"] == "ignore"


@pytest.mark.parametrize("policy", ["fifo", "srtf", "srsf", "las", "max-min", "fair-share", "tiresias"])
@pytest.mark.parametrize("method", ["heuristic", "auto"])
def test_a_round_of_which_nothing_runs_is_decided_as_if_restarts_were_ignored(policy: str, method: str) -> None:
    for seed in range(2):
        round_ = generate("tenants", jobs=10, nodes=3, seed=seed)
        waiting = tuple(replace(job, state="waiting", placement=None) for job in round_.jobs)
        round_ = replace(round_, jobs=waiting)
        paid, ignored = (solve_round(round_, f"{policy}:restarts={how}", method) for how in ("pay", "ignore"))
        assert (paid.value, paid.bound, paid.decision) == (ignored.value, ignored.bound, ignored.decision)


@pytest.mark.parametrize("spec", ["srtf", "max-min:nodes=fewest,objective=lexicographic"])
def test_an_exact_solve_never_costs_more_than_the_heuristic_of_the_same_value(spec: str) -> None:
    for seed in range(4):
        round_ = with_restarts(generate("gangs", jobs=16, nodes=2, seed=seed), seed)
        found, better = solve_round(round_, spec, "heuristic"), solve_round(round_, spec, "auto", Limits(work=0.3))
        assert better.value >= found.value
        if better.value == found.value:
            assert better.stats.changes_cost <= found.stats.changes_cost
        assert better.stats.changes_bound is None or better.stats.changes_bound <= better.stats.changes_cost
