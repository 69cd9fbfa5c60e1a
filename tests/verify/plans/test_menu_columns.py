"""The verifier reads the plans of all jobs at once as it reads them job by job, and bounds by them the same."""

from __future__ import annotations

import pytest
from by_policy import settings_of
from plan_reading_cases import drawn_rounds

from muri_opt import InputError
from muri_opt.systems import policy_from, program_of
from muri_opt.verify.plans import dual_bound
from muri_opt.verify.plans.places import Places
from muri_opt.verify.plans.plan_choices import PlanChoices

POLICIES = [
    ("configurations", "aiturbo"),
    ("configurations", "aiturbo:step=off,objective=time"),
    ("configurations", "optimus-ps:switch=on"),
    ("configurations", "sia:power=-1"),
    ("plans", "rubick"),
    ("plans", "rubick:restarts=ignore,reference=requested,horizon=77"),
    ("plans", "sia"),
    ("plans", "synergy"),
    ("plans", "srs"),
    ("plans", "rubick:objective=completion"),
    ("plans", "sia:objective=completion"),
]


@pytest.mark.parametrize(("family", "policy"), POLICIES)
def test_a_menu_in_columns_is_that_read_one_by_one(family: str, policy: str) -> None:
    planned, compared = settings_of(policy), 0
    assert planned is not None
    for round_ in drawn_rounds(family):
        try:
            plain = PlanChoices.read_one_by_one(round_, planned, Places.of(round_))
        except InputError:
            with pytest.raises(InputError):
                PlanChoices.read(round_, planned)
            continue
        found = PlanChoices.read(round_, planned)
        assert found.columns is not None
        assert (*found.entries, *found.ways) == (*plain.entries, *plain.ways)
        assert found.homes == plain.homes
        assert (found.bonus, found.weights, found.extremes) == (plain.bonus, plain.weights, plain.extremes)
        compared += 1
    assert compared > 20


@pytest.mark.parametrize(("family", "policy"), POLICIES)
def test_bounds_from_columns_are_those_of_all_parts(family: str, policy: str, monkeypatch) -> None:
    rules, planned = policy_from(policy).rules, settings_of(policy)
    for round_, _ in zip(drawn_rounds(family), range(4), strict=False):
        menu, prices = PlanChoices.read(round_, planned), program_of(rules).quick_duals(round_)
        at_once = dual_bound.planned_bound(round_, menu, prices)
        with monkeypatch.context() as patched:
            patched.setattr(dual_bound, "_column_items", lambda *_: None)
            again = PlanChoices.read(round_, planned)
            assert dual_bound.planned_bound(round_, again, prices) == at_once
