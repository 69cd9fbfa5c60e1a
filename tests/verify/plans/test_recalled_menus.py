"""What the verifier keeps of plans from round to round is what it would read anew."""

from __future__ import annotations

import pytest
from by_policy import settings_of
from plan_recall_cases import NOWHERE, pairs

from muri_opt.verify.plans.plan_choices import PlanChoices
from muri_opt.verify.plans.value import Planned


@pytest.mark.parametrize(
    ("family", "policy"),
    [
        ("configurations", "aiturbo"),
        ("configurations", "optimus-ps"),
        ("plans", "rubick"),
        ("plans", "sia"),
    ],
)
def test_recalled_menus_are_those_read_anew(family: str, policy: str) -> None:
    planned = settings_of(policy)
    assert planned is not None
    nothing = Planned(change="both", objective="time")
    for first, second, place in pairs(family):
        PlanChoices.of(NOWHERE, nothing)
        anew = PlanChoices.of(second, planned)
        PlanChoices.of(NOWHERE, nothing)
        before = PlanChoices.of(first, planned)
        recalled = PlanChoices.of(second, planned)
        assert (recalled.entries, recalled.ways, recalled.homes) == (anew.entries, anew.ways, anew.homes)
        assert recalled.bonus == anew.bonus
        for j, job in enumerate(second.jobs):
            if j != place:
                kept = planned.power is None or job.state == "waiting"
                assert (recalled.orders[j] is before.orders[j]) == kept
