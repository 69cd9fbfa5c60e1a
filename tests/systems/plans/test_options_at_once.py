"""Options that are read of all jobs at once are those read job by job."""

from __future__ import annotations

from dataclasses import fields
from math import floor

import numpy as np
import pytest
from hypothesis import given, strategies as st
from plan_reading_cases import drawn_rounds

from muri_opt import Cluster, InputError, Job, Node, Plan, Round, solve_round
from muri_opt.systems import policy_from
from muri_opt.systems.plans import PlanOptions, PlanRules
from muri_opt.systems.plans.exact_floors import exact_floors
from muri_opt.systems.plans.table_options import table_options


def differing(one: PlanOptions, other: PlanOptions) -> list[str]:
    """Return the fields in which two readings are not equal."""
    names = [field.name for field in fields(one) if field.name != "jobs"]
    found = []
    for name in names:
        a, b = getattr(one, name), getattr(other, name)
        alike = len(a) == len(b) and all(map(np.array_equal, a, b)) if name == "homes" else np.array_equal(a, b)
        found += [] if alike else [name]
    return found


@pytest.mark.parametrize(
    ("family", "policy"),
    [
        ("configurations", "aiturbo"),
        ("configurations", "aiturbo:step=off,objective=time"),
        ("configurations", "optimus-ps:switch=on"),
        ("configurations", "sia:power=-1"),
        ("plans", "rubick"),
        ("plans", "rubick:restarts=ignore,reference=requested,horizon=77"),
        ("plans", "rubick:change=plans,gate=0.9,restarts=gate"),
        ("plans", "sia"),
        ("plans", "synergy"),
        ("plans", "srs"),
        ("plans", "rubick:objective=completion"),
        ("plans", "sia:objective=completion"),
    ],
)
def test_options_read_at_once_are_those_read_one_by_one(family: str, policy: str) -> None:
    rules, compared = policy_from(policy).plan_rules, 0
    for round_ in drawn_rounds(family):
        try:
            plain = PlanOptions.read_one_by_one(round_, rules)
        except InputError as refused:
            with pytest.raises(InputError, match=refused.field.split("[")[0]):
                PlanOptions.read(round_, rules)
            continue
        assert table_options(round_, rules) is not None
        found = PlanOptions.read(round_, rules)
        assert differing(found, plain) == []
        assert [mine.ways for mine in found.jobs[:2]] == [mine.ways for mine in plain.jobs[:2]]
        compared += 1
    assert compared > 20


def test_plans_for_a_type_that_no_node_has_are_left_out() -> None:
    nodes = (Node(id="a", gpus=2, gpu_type="x"), Node(id="b", gpus=4, gpu_type="x"))
    plans = (
        Plan(name="one", gpus=2, throughput=3.0, gpu_type="x"),
        Plan(name="one", gpus=2, throughput=5.0, gpu_type="y"),
        Plan(name="two", gpus=4, nodes=2, throughput=4.5),
        Plan(name="six", gpus=6, throughput=4.5),
    )
    round_ = Round(cluster=Cluster(nodes=nodes), jobs=(Job(id="j", gpus=2, plans=plans),))
    assert table_options(round_, PlanRules()) is not None
    found = PlanOptions.read(round_, PlanRules())
    assert differing(found, PlanOptions.read_one_by_one(round_, PlanRules())) == []
    assert found.plan.tolist() == [0, 2]


def test_what_cannot_be_read_at_once_is_read_one_by_one() -> None:
    uneven = (Plan(name="p", gpus=3, nodes=2, throughput=1.0),)
    round_ = Round(cluster=Cluster(nodes=(Node(id="a", gpus=4),)), jobs=(Job(id="j", gpus=3, plans=uneven),))
    assert table_options(round_, PlanRules()) is None
    twice = (Plan(name="p", gpus=1, throughput=1.0), Plan(name="p", gpus=1, throughput=2.0))
    clash = Round(cluster=round_.cluster, jobs=(Job(id="j", gpus=1, plans=twice),))
    with pytest.raises(InputError, match="two plans 'p'"):
        PlanOptions.read(clash, PlanRules())


@given(st.lists(st.fractions(0, 10**9), max_size=20))
def test_whole_parts_are_exact(numbers) -> None:
    near = np.array([float(number) for number in numbers])
    assert exact_floors(near, lambda place: floor(numbers[place])).tolist() == [floor(number) for number in numbers]


@pytest.mark.parametrize("policy", ["rubick:reference=requested", "sia", "srs", "aiturbo", "optimus-ps", "synergy"])
def test_rounds_without_jobs_are_read_and_decided(policy: str) -> None:
    empty = Round(cluster=Cluster(nodes=(Node(id="a", gpus=4),)), jobs=())
    assert table_options(empty, policy_from(policy).plan_rules) is not None
    found = solve_round(empty, policy, "heuristic")
    assert (found.value, found.bound, found.decision.assignments) == (0, 0, ())
