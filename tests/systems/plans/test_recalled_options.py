"""Options that are kept from round to round are those that would be read anew."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from plan_recall_cases import NOWHERE, pairs

from muri_opt.systems import policy_from
from muri_opt.systems.plans import PlanOptions, PlanRules

ANY = PlanRules(change="both", objective="time")


def same(one: PlanOptions, other: PlanOptions) -> bool:
    """Return whether two readings are equal in every array and number."""
    names = [field.name for field in fields(one) if field.name != "jobs"]
    return all(
        len(a) == len(b) and all(map(np.array_equal, a, b)) if name == "homes" else np.array_equal(a, b)
        for name, a, b in ((name, getattr(one, name), getattr(other, name)) for name in names)
    )


@pytest.mark.parametrize(
    ("family", "policy"),
    [
        ("configurations", "aiturbo"),
        ("configurations", "aiturbo:step=off,objective=time"),
        ("configurations", "optimus-ps"),
        ("plans", "rubick"),
        ("plans", "sia"),
        ("plans", "synergy"),
    ],
)
def test_recalled_options_are_those_read_anew(family: str, policy: str) -> None:
    rules = policy_from(policy).plan_rules
    for first, second, place in pairs(family):
        PlanOptions.of(NOWHERE, ANY)
        anew = PlanOptions.of(second, rules)
        PlanOptions.of(NOWHERE, ANY)
        before = PlanOptions.of(first, rules)
        recalled = PlanOptions.of(second, rules)
        assert same(recalled, anew)
        if family == "configurations":
            assert [mine.ways for mine in recalled.jobs] == [mine.ways for mine in anew.jobs]
            assert [mine.plans.fastest for mine in recalled.jobs] == [mine.plans.fastest for mine in anew.jobs]
        for j, job in enumerate(second.jobs):
            if j != place:
                assert recalled.jobs[j].plans is before.jobs[j].plans
                assert (recalled.jobs[j] is before.jobs[j]) == (job.state == "waiting")


def test_another_cluster_is_read_anew() -> None:
    first, second, _ = next(pairs("plans"))
    fewer = type(second)(
        now=second.now,
        cluster=type(second.cluster)(nodes=second.cluster.nodes[:1], tenants=second.cluster.tenants),
        jobs=tuple(job for job in second.jobs if job.state == "waiting"),
    )
    rules = policy_from("rubick").plan_rules
    PlanOptions.of(NOWHERE, ANY)
    anew = PlanOptions.of(fewer, rules)
    many = PlanOptions.of(first, rules)
    assert same(PlanOptions.of(fewer, rules), anew)
    assert len(anew) < sum(len(many.jobs[j]) for j, job in enumerate(first.jobs) if job.state == "waiting")
