"""What every policy of plans respects on any round: capacities, quotas, guarantees, its options; and itself."""

from __future__ import annotations

from fractions import Fraction

import msgspec
import pytest
from hypothesis import given, strategies as st
from more_examples import more_examples
from plan_rounds_for_policies import NAMES, SPECS, faults, options_of, plan_round, planned, planned_rounds, value

from muri_opt import InputError, Round
from muri_opt.systems import policy_from
from muri_opt.systems.plans import FreeNodes, PlanOptions, PlanPolicy, PlanRules, strategy

POLICY = st.sampled_from(SPECS)


@given(planned_rounds(), POLICY)
@more_examples(150)
def test_every_decision_respects_every_rule(round_: Round, spec: str) -> None:
    policy = policy_from(spec)
    assert faults(round_, policy.plan_rules, policy.decide(round_, 0)) == []


@given(planned_rounds(), POLICY)
@more_examples(40)
def test_the_same_round_gives_the_same_decision_whatever_its_jobs_are_called(round_: Round, spec: str) -> None:
    policy = policy_from(spec)
    first = policy.decide(round_, 0)
    assert policy.decide(round_, 0) == first
    names = {job.id: f"z{len(round_.jobs) - at}" for at, job in enumerate(round_.jobs)}
    renamed = msgspec.structs.replace(
        round_, jobs=tuple(msgspec.structs.replace(job, id=names[job.id]) for job in round_.jobs)
    )
    second = policy.decide(renamed, 0)
    assert [(names[one.jobs[0]], one.plan, one.gpus, one.cpus) for one in first.assignments] == [
        (one.jobs[0], one.plan, one.gpus, one.cpus) for one in second.assignments
    ]


@more_examples(40)
@given(planned_rounds(), st.sampled_from(["rubick", "sia"]), st.sampled_from(["plans", "resources", "neither"]))
def test_a_variant_keeps_the_gpus_or_the_strategy(round_: Round, name: str, change: str) -> None:
    for one in policy_from(f"{name}:change={change}").decide(round_, 0).assignments:
        job = round_.jobs[round_.job_index[one.jobs[0]]]
        if change != "resources":
            assert sum(one.gpus.values()) == job.gpus
        if change != "plans":
            assert strategy(one.plan) == strategy(job.plan)


def present(round_: Round, rules: PlanRules) -> tuple[int, set[int]]:
    """Return the value of keeping every running job where it is, with the fewest CPUs, and which jobs that keeps."""
    options = PlanOptions.of(round_, rules)
    free, total, kept = FreeNodes(round_, options), 0, set()
    queue = sorted(
        range(len(round_.jobs)), key=lambda j: (not options.guaranteed[j], round_.jobs[j].submitted or 0.0, j)
    )
    for j in queue:
        homes = [o for o in options.of_job(j) if options.home[o] >= 0]
        for o in sorted(homes, key=lambda o: (options.c[o], options.m[o])):
            if free.fits(o) and free.within_quota(j):
                free.take(o, options.homes[options.home[o]])
                total += int(options.e[o])
                kept.add(j)
                break
    return total, kept


RUBICK = st.sampled_from([spec for spec in SPECS if spec.startswith("rubick")])


@given(planned_rounds(), RUBICK)
@more_examples(80)
def test_rubick_is_never_worse_than_the_present_and_stops_no_guaranteed_job(round_: Round, spec: str) -> None:
    policy = policy_from(spec)
    decision = policy.decide(round_, 0)
    before, kept = present(round_, policy.plan_rules)
    assert value(round_, policy.plan_rules, decision) >= before
    runs = set(options_of(round_, policy.plan_rules, decision))
    assert {j for j in kept if round_.jobs[j].guarantee is not None} <= runs


@given(planned_rounds(), st.sampled_from(["0", "0.5", "0.97", "1"]))
@more_examples(80)
def test_a_job_behind_the_gate_changes_only_for_a_guaranteed_job_that_starts(round_: Round, gate: str) -> None:
    policy = policy_from(f"rubick:gate={gate}")
    chosen = options_of(round_, policy.plan_rules, policy.decide(round_, 0))
    options = PlanOptions.of(round_, policy.plan_rules)
    _, kept = present(round_, policy.plan_rules)
    if any(round_.jobs[j].guarantee is not None for j in chosen.keys() - kept):
        return
    for j in kept:
        job = round_.jobs[j]
        ran, cost = Fraction(job.executed_seconds), Fraction(job.restart_seconds)
        closed = cost > 0 and (ran == 0 or (ran - (job.restarts + 1) * cost) / ran < Fraction(gate))
        assert not closed or options.home[chosen[j]] >= 0


@pytest.mark.parametrize("name", NAMES)
def test_empty_rounds_and_clusters_have_decisions(name: str) -> None:
    policy = policy_from(name)
    assert policy.decide(plan_round([4], []), 0).assignments == ()
    decision = policy.decide(plan_round([], [planned(0, {1: 1.0})]), 0)
    assert [one.job for one in decision.waiting] == ["j0"]


@pytest.mark.parametrize("name", NAMES)
def test_a_round_without_plans_is_refused(name: str) -> None:
    policy = policy_from(name)
    bad = plan_round([4], [planned(0, {1: 1.0}), planned(1, {1: 1.0}, plans=None)])
    for refuse in (policy.check, lambda round_: policy.decide(round_, 0)):
        with pytest.raises(InputError) as refused:
            refuse(bad)
        assert refused.value.field == "jobs[1] ('j1').plans"
    policy.check(plan_round([4], [planned(0, {1: 1.0}, gpus=1)]))


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("rubick", {}),
        ("rubick:restarts=gate", {"gate": "0.97"}),
        (
            "rubick:change=plans,reference=requested,horizon=60",
            {"change": "plans", "reference": "requested", "horizon": 60_000_000},
        ),
        ("synergy:horizon=0.5", {"change": "neither", "horizon": 500_000}),
        ("antman:reference=requested", {"change": "resources", "reference": "requested"}),
        ("equal-share", {}),
        ("sia", {"change": "resources", "power": "-0.5"}),
        ("sia:change=both,power=-1", {"power": "-1"}),
    ],
)
def test_settings_become_rules(text: str, rules: dict[str, object]) -> None:
    policy = policy_from(text)
    assert isinstance(policy, PlanPolicy)
    assert policy.plan_rules == PlanRules(**rules)
    assert policy_from(policy.spec) == policy


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("rubick:gate=0.970,patience=inf,horizon=6e2", "rubick"),
        ("rubick:patience=60.0", "rubick:patience=60"),
        ("sia:power=-0.5", "sia"),
    ],
)
def test_a_setting_has_one_text(text: str, canonical: str) -> None:
    assert policy_from(text).spec == canonical


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("rubick:gate=1.5", "policy 'rubick'.gate"),
        ("rubick:horizon=0", "policy 'rubick'.horizon"),
        ("rubick:patience=long", "policy 'rubick'.patience"),
        ("rubick:change=all", "policy 'rubick'.change"),
        ("sia:power=-2", "policy 'sia'.power"),
        ("synergy:change=both", "parameter of policy 'synergy'"),
        ("antman:change=both", "parameter of policy 'antman'"),
        ("equal-share:reference=worst", "policy 'equal-share'.reference"),
    ],
)
def test_other_settings_are_refused(text: str, field: str) -> None:
    with pytest.raises(InputError) as refused:
        policy_from(text)
    assert refused.value.field == field


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_has_its_own_name(name: str) -> None:
    with pytest.raises(InputError, match="policy"):
        type(policy_from(name))(name="other")
