"""Groups that run freely: right answers, and wrong ones by the rule they break."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from alterations import changed_first, decided, replace, rules_broken_by
from handmade import gang, round_of
from msgspec import UNSET

from muri_opt import InputError, Result, Round, Together, solve_round, verify

JOBS = [
    gang(0, 1, stage_seconds=(1.0, 2.0, 1.0, 0.0), iteration_seconds=4.0, model="short"),
    gang(1, 1, stage_seconds=(0.0, 20.0, 20.0, 0.0), iteration_seconds=40.0, model="long"),
    gang(2, 1, stage_seconds=(1.0, 16.0, 1.0, 0.0), iteration_seconds=18.0, model="mid"),
]
ROUND = round_of([1], JOBS)


def answer(policy: str = "muri-s:run=free,group=2", round_: Round = ROUND) -> Result:
    return solve_round(round_, policy, "heuristic")


WRONG: dict[str, tuple[str, Callable[[Result], Result]]] = {
    "a rate too high": ("rates", lambda result: changed_first(result, rates=(1.0, *_rates(result)[1:]))),
    "one rate only": ("rates", lambda result: changed_first(result, rates=_rates(result)[:1])),
    "no rates": ("rates", lambda result: changed_first(result, rates=UNSET)),
    "rates of each other": ("rates", lambda result: changed_first(result, rates=(0.5, 0.75))),
    "a period": ("period", lambda result: changed_first(result, period_seconds=41.0)),
    "slots": ("order", lambda result: changed_first(result, order=(1, 0))),
    "one unit more": ("value", lambda result: replace(result, value=(result.value or 0) + 1)),
}


def _rates(result: Result) -> tuple[float, ...]:
    rates = decided(result).assignments[0].rates
    assert rates is not UNSET
    return tuple(rates)


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_told_by_its_rule(wrong: str) -> None:
    rule, broken = WRONG[wrong]
    assert rules_broken_by(ROUND, answer()) == set()
    assert rule in rules_broken_by(ROUND, broken(answer()))


def test_rates_in_lock_step_and_of_a_job_alone_are_refused() -> None:
    step, alone = answer("muri-s:group=2"), answer("muri-s:run=free,group=1")
    assert rules_broken_by(ROUND, changed_first(step, rates=(0.5, 0.5))) == {"rates"}
    assert rules_broken_by(ROUND, changed_first(alone, rates=(1.0,))) == {"rates"}
    gangs = solve_round(ROUND, "fifo", "heuristic")
    assert rules_broken_by(ROUND, changed_first(gangs, rates=(1.0,))) == {"rates"}


def test_a_group_that_would_do_more_in_lock_step_is_not_free_where_the_better_way_counts() -> None:
    jobs = [gang(j, 1, stage_seconds=(3.0, 0.0, 3.0, 0.0)) for j in range(2)]
    round_ = round_of([1], jobs)
    best, free = answer("muri-s:run=best", round_), answer("muri-s:run=free", round_)
    assert rules_broken_by(round_, best) == rules_broken_by(round_, free) == set()
    assert "rates" in rules_broken_by(round_, replace(best, decision=free.decision))
    assert "rates" in rules_broken_by(round_, replace(free, decision=best.decision))


def test_other_cores_make_other_rates() -> None:
    free = answer()
    rules = {**free.rules, "own": "none"}
    assert {"rates", "value"} <= rules_broken_by(ROUND, replace(free, rules=rules))
    with pytest.raises(InputError, match=r"rules\.own"):
        verify(ROUND, replace(free, rules={**free.rules, "own": "gpu"}))


def test_measured_rates_are_checked_and_need_a_way_to_run_freely() -> None:
    measured = replace(
        ROUND, format="muri-opt/round/2", together=(Together(models=("mid", "short"), rates=(0.75, 0.5)),)
    )
    free = answer(round_=measured)
    assert dict(zip(decided(free).assignments[0].jobs, _rates(free), strict=True)) == {"j0": 0.5, "j2": 0.75}
    assert rules_broken_by(measured, free) == set()
    with pytest.raises(InputError, match="together"):
        verify(measured, replace(free, rules=answer("muri-s:group=2").rules))
