"""Which configurations a job may run by, and what they are worth: by hand, and alike on both sides."""

from __future__ import annotations

import msgspec
import pytest
from by_policy import decision_value, settings_of, value_unit_of
from configuration_rounds import POLICIES, allowed, configuration_rounds, job, plan, round_of
from hypothesis import given, strategies as st
from more_examples import more_examples
from plan_rounds import choices, worth_of

from muri_opt import Decision, Guarantee, InputError, Job, Round
from muri_opt.systems import policy_from
from muri_opt.systems.plans import PlanOptions, PlanRules, plan_decision
from muri_opt.verify.plans.plan_choices import PlanChoices
from muri_opt.verify.plans.value import Planned

SPEEDS = {"gpu-p1-w2-s1": 4.0, "gpu-p2-w2-s1": 5.0, "gpu-p1-w1-s1": 2.0, "cpu-p1-w2": 1.0, "cpu-p1-w1": 0.5}
ROOM = [(4, 40.0)]


def options_of(round_: Round, **rules: object) -> PlanOptions:
    return PlanOptions.of(round_, PlanRules(**{"change": "neighbours", "objective": "time", **rules}))


def names(round_: Round, options: PlanOptions) -> list[list[str]]:
    return [[one.plans[options.plan[o]].name for o in options.of_job(j)] for j, one in enumerate(round_.jobs)]


@pytest.mark.parametrize(
    ("rules", "fields", "found"),
    [
        ({}, {}, ["gpu-p1-w2-s1", "gpu-p2-w2-s1", "gpu-p1-w1-s1", "cpu-p1-w2"]),
        ({"switch": False}, {}, ["gpu-p1-w2-s1", "gpu-p2-w2-s1", "gpu-p1-w1-s1"]),
        ({"change": "same"}, {}, ["gpu-p1-w2-s1"]),
        ({"change": "configurations"}, {}, list(SPEEDS)),
        ({"change": "configurations", "switch": False}, {"plan": "cpu-p1-w1"}, ["cpu-p1-w2", "cpu-p1-w1"]),
        ({}, {"plan": "cpu-p1-w1"}, ["gpu-p1-w1-s1", "cpu-p1-w2", "cpu-p1-w1"]),
        ({}, {"predictable": False}, ["gpu-p1-w2-s1"]),
        ({}, {"remaining_iterations": None}, ["gpu-p1-w2-s1"]),
        ({"change": "both"}, {}, list(SPEEDS)),
        ({"change": "both"}, {"predictable": False}, ["gpu-p1-w2-s1"]),
        ({"change": "neighbours", "objective": "throughput"}, {"predictable": False}, [*SPEEDS][:4]),
    ],
)
def test_a_job_may_go_one_step_or_any_way(
    rules: dict[str, object], fields: dict[str, object], found: list[str]
) -> None:
    round_ = round_of(ROOM, job("a", SPEEDS, **fields))
    assert names(round_, options_of(round_, **rules)) == [found]


def test_one_more_job_outweighs_any_remaining_time() -> None:
    """R is 25, 20, 50 and 100 seconds for a, 0 for b: Q = 1 + 10 000 hundredths, from the slowest way of a."""
    round_ = round_of(ROOM, job("a", SPEEDS), job("b", SPEEDS, predictable=False))
    options = options_of(round_)
    assert options.e.tolist() == [7501, 8001, 5001, 1, 10_001]
    assert (options.started, options.served) == (10_001, 0)
    by_service = options_of(round_, objective="service")
    # 35, 40, 20 and 15 service units: Q = 1 + 1500 from the way by 100 seconds * 15
    assert by_service.e.tolist() == [1501 - 875, 1501 - 800, 1501 - 1000, 1, 1501]


def test_a_restart_takes_its_time_also_from_jobs_nobody_can_predict() -> None:
    held = {"state": "running", "placement": {"n0": 2}, "restart_seconds": 1.5}
    one = job("a", {"gpu-p1-w2-s1": 3.0}, **held)
    two = msgspec.structs.replace(one, id="b", predictable=False)
    options = options_of(round_of([(4, 9.0)], one, two))
    # at home and anywhere: 33.33 and 34.83 seconds, and 0 and 1.50; Q = 1 + 3483 + 150
    assert options.e.tolist() == [3634 - 3333, 3634 - 3483, 3634, 3634 - 150]
    assert options.home.tolist() == [0, -1, 1, -1]


def test_a_guaranteed_job_is_worth_more_than_all_jobs_that_run() -> None:
    plans = {"gpu-p1-w1-s1": 1.0, "cpu-p1-w1": 0.5}
    kept = job("a", plans, guarantee=Guarantee(throughput=1.0))
    round_ = round_of(ROOM, kept, job("b", plans))
    options = options_of(round_)
    # Q = 1 + 10 000 + 20 000; the best of both is worth Q - 10 000 = 20 001
    assert (options.started, options.served) == (30_001, 40_003)
    assert options.e.tolist() == [60_004, 20_001, 10_001]


@given(configuration_rounds(), st.sampled_from(POLICIES))
@more_examples(150)
def test_both_sides_read_the_same_options(round_: Round, policy: str) -> None:
    options = PlanOptions.of(round_, policy_from(policy).plan_rules)
    theirs = [
        (int(options.job[o]), int(options.plan[o]), int(options.e[o]), int(options.home[o]) >= 0)
        for o in range(len(options))
    ]
    menu = PlanChoices.of(round_, settings_of(policy))
    mine = []
    for j, ways in enumerate(menu.ways):
        for way in ways:
            position = next(p for p, other in enumerate(round_.jobs[j].plans) if other == way.plan)
            if way.home is not None:
                mine.append((j, position, menu.bonus[j] + way.home, True))
            mine.append((j, position, menu.bonus[j] + way.away, False))
    assert mine == theirs
    rules = policy_from(policy).plan_rules
    for j, position, _, _ in theirs:
        assert allowed(round_.jobs[j], round_.jobs[j].plans[position], rules)


@given(configuration_rounds(), st.sampled_from(POLICIES), st.data())
@more_examples(100)
def test_both_sides_value_a_decision_alike(round_: Round, policy: str, data: st.DataObject) -> None:
    options = PlanOptions.of(round_, policy_from(policy).plan_rules)
    chosen = data.draw(choices(round_, options))
    decision = plan_decision(round_, options, chosen)
    assert decision_value(round_, policy, decision) == worth_of(round_, options, chosen)


@pytest.mark.parametrize(
    ("policy", "one", "field", "found"),
    [
        ("aiturbo", job("a", SPEEDS, plan=None), "plan", "nothing"),
        ("optimus-ps", job("a", SPEEDS, plan=None), "plan", "nothing"),
        ("aiturbo:step=off", job("a", SPEEDS, plan=None), "plan", "nothing"),
        ("aiturbo", job("a", (plan("cpu-p1-w1", 1.0, gpus=1),)), "plans[0].gpus", "1"),
        ("optimus-ps", Job(id="a", gpus=0), "plans", "nothing"),
    ],
)
def test_what_is_no_configuration_is_refused(policy: str, one: Job, field: str, found: str | None) -> None:
    round_ = round_of(ROOM, job("first", SPEEDS), one)
    for refuses in (policy_from(policy).check, lambda round_: decision_value(round_, policy, Decision())):
        with pytest.raises(InputError) as refused:
            refuses(round_)
        assert refused.value.field == f"jobs[1] ('a').{field}"
        assert found is None or refused.value.found == found


def test_a_job_that_takes_for_ever_is_refused() -> None:
    slow = job("a", {"cpu-p1-w1": 1e-6}, remaining_iterations=10**9)
    with pytest.raises(InputError, match=r"jobs\[0\] \('a'\).remaining_iterations"):
        options_of(round_of(ROOM, slow))
    many = [job(f"j{j}", {"cpu-p1-w1": 1.0}, remaining_iterations=10**10) for j in range(3000)]
    with pytest.raises(InputError, match="62 bits"):
        options_of(round_of(ROOM, *many))


@pytest.mark.parametrize(
    ("policy", "planned"),
    [
        ("aiturbo", Planned(change="neighbours", objective="service", switch=True)),
        ("aiturbo:objective=time,switch=off", Planned(change="neighbours", objective="time", switch=False)),
        ("aiturbo:step=off,ranks=raw,first=.2,second=1", Planned(change="same", objective="service")),
        ("aiturbo:patience=inf,within=running", Planned(change="neighbours", objective="service")),
        ("optimus-ps", Planned(change="configurations", objective="time", switch=False)),
        ("optimus-ps:switch=on", Planned(change="configurations", objective="time", switch=True)),
    ],
)
def test_settings_are_read_from_the_text_of_a_policy(policy: str, planned: Planned) -> None:
    assert settings_of(policy) == planned
    rules = policy_from(policy).plan_rules
    assert (rules.change, rules.objective, rules.switch) == (planned.change, planned.objective, planned.switch)
    assert policy_from(policy_from(policy).spec) == policy_from(policy)
    unit = value_unit_of(policy_from(policy))
    assert ("service units" in unit) == (planned.objective == "service")


@pytest.mark.parametrize(
    "policy", ["aiturbo:change=both", "aiturbo:first=2", "aiturbo:patience=x", "optimus-ps:step=on"]
)
def test_other_settings_are_refused(policy: str) -> None:
    for read in (settings_of, policy_from):
        with pytest.raises(InputError):
            read(policy)
