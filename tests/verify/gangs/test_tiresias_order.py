"""The verifier reads the order of Tiresias as the policy does, from the text alone."""

from __future__ import annotations

import msgspec
import pytest
from by_policy import decision_value, enumerated_optimum, settings_of
from handmade import gang, round_of
from hypothesis import given
from more_examples import more_examples
from tiresias_draws import served_rounds, tiresias_specs

from muri_opt import InputError, Round, policy_from, solve_round, verify
from muri_opt.systems.orders import priority_order
from muri_opt.verify.gangs.value import job_values, ranked


@more_examples(300)
@given(served_rounds(max_jobs=8), tiresias_specs())
def test_both_put_the_jobs_in_the_same_order(round_: Round, spec: str) -> None:
    policy = policy_from(spec)
    expected = [round_.jobs[j].id for j in priority_order(round_, policy.order)]
    for text in (spec, policy.spec):
        rules = settings_of(text)
        assert [job.id for job in ranked(round_, rules.order, rules.queues)] == expected
        assert sorted(job_values(round_, rules)) == sorted(expected)


@given(served_rounds(), tiresias_specs())
def test_every_list_schedule_is_verified(round_: Round, spec: str) -> None:
    result = solve_round(round_, spec, "heuristic")
    report = verify(round_, result)
    assert report.feasible, report
    assert decision_value(round_, result.policy, result.decision) == result.value <= result.bound


@more_examples(40)
@given(served_rounds(max_jobs=5, max_nodes=2), tiresias_specs())
def test_the_exact_program_is_never_worse_and_equals_enumeration(round_: Round, spec: str) -> None:
    heuristic, best = solve_round(round_, spec, "heuristic"), solve_round(round_, spec, "auto")
    assert heuristic.value <= best.value == best.bound == enumerated_optimum(round_, spec)
    assert verify(round_, best).feasible


def test_a_value_counted_in_another_order_is_found_out() -> None:
    jobs = [gang(0, 2, attained_gpu_seconds=5000.0), gang(1, 2)]
    round_ = round_of([2], jobs)
    result = solve_round(round_, "tiresias", "heuristic")
    assert result.value == 4
    other = msgspec.structs.replace(round_, jobs=(jobs[0], gang(1, 2, attained_gpu_seconds=4000.0)))
    assert decision_value(other, "tiresias", result.decision) == 2


@pytest.mark.parametrize(
    "settings",
    [
        "queues=",
        "queues=7200/3250",
        "queues=1/1",
        "queues=1/",
        "queues=0",
        "queues=none",
        "queues=GPU-seconds separated by /",
        "knob=-1",
        "knob=inf",
        "knob=",
        "rank=lifo",
        "rank=gittins",
        "samples=1/2",
        "rank=gittins,samples=1//2",
        "rank=gittins,samples=1,quantum=0",
        "rank=gittins,samples=1,quantum=1/2",
        "rank=gittins,samples=1,form=book",
    ],
)
def test_the_verifier_refuses_what_the_policy_refuses(settings: str) -> None:
    for read in (settings_of, policy_from):
        with pytest.raises(InputError):
            read(f"tiresias:{settings}")


@pytest.mark.parametrize("field", ["attained_gpu_seconds", "executed_seconds", "waiting_seconds"])
def test_the_verifier_refuses_a_job_that_does_not_say_what_it_is_ordered_by(field: str) -> None:
    fields = {"attained_gpu_seconds": 5000.0, "executed_seconds": 1.0, "waiting_seconds": 1.0} | {field: None}
    with pytest.raises(InputError) as refused:
        job_values(round_of([2], [gang(0, 1, **fields)]), settings_of("tiresias:knob=1"))
    assert refused.value.field == f"job 'j0'.{field}"
