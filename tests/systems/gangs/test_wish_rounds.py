"""Levels that gangs only prefer: worth less than all else, and no less; brute force, program and verifier agree."""

from __future__ import annotations

import pytest
from asked_brute_force import asked_decisions, asked_optimum
from seeds import some_then_all
from test_asked_rounds import checked, setting, tried_changes
from wish_rounds import WISHES, wish_round

from muri_opt import policy_from, solve_round, verify

SEEDS = 8


@pytest.mark.parametrize("group", WISHES)
@some_then_all(SEEDS, 250)
def test_brute_force_equals_program_and_verifier(seeds: range, group: str) -> None:
    for seed in seeds:
        checked(wish_round(seed, group), seed)


def test_the_heuristic_and_the_program_together_find_the_optimum() -> None:
    for seed in range(5):
        round_ = wish_round(seed, "shape")
        spec, chosen = setting(seed)
        result = solve_round(round_, spec, "auto")
        assert result.value == asked_optimum(round_, policy_from(spec).name, **chosen)
        assert verify(round_, result).violations == ()


@pytest.mark.parametrize("group", WISHES)
def test_every_change_starts_the_job_and_deciding_again_changes_nothing(group: str) -> None:
    for seed in range(25):
        tried_changes(wish_round(seed, group), seed)


def test_answers_differ_by_wishes_alone_in_many_of_the_rounds() -> None:
    matter = 0
    for seed in range(60):
        round_ = wish_round(seed, "shape")
        spec, chosen = setting(seed)
        values = {value for value, _ in asked_decisions(round_, policy_from(spec).name, **chosen)}
        best = max(values)
        matter += best - 1 in values
    assert matter >= 6
