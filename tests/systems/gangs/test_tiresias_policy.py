"""Schedules of Tiresias computed by hand, and the text of its settings."""

from __future__ import annotations

import pytest
from by_policy import formulation_of, value_unit_of
from handmade import gang, round_of

from muri_opt import InputError, Job, Round, policy_from, solve_round, verify
from muri_opt.systems.gangs import GangPolicy, TiresiasPolicy
from muri_opt.systems.gangs.tiresias import consolidates


def running(position: int, gpus: int, service: float, node: str = "n0", **fields: object) -> Job:
    held = {"state": "running", "placement": {node: gpus}}
    return gang(position, gpus, attained_gpu_seconds=service, **held | fields)


def pending(position: int, gpus: int, service: float = 0.0, **fields: object) -> Job:
    return gang(position, gpus, attained_gpu_seconds=service, **fields)


def runs(round_: Round, policy: str = "tiresias") -> list[str]:
    """Return the jobs of the list schedule, after the verifier has agreed to it."""
    result = solve_round(round_, policy, "heuristic")
    assert verify(round_, result).feasible
    return sorted(job for assignment in result.decision.assignments for job in assignment.jobs)


def test_a_job_that_attains_the_limit_gives_way_to_a_new_one() -> None:
    def round_with(service: float) -> Round:
        return round_of([4], [running(0, 4, service), pending(1, 2)])

    assert runs(round_with(3249.999)) == ["j0"]  # both in Q0, the running job in front
    assert runs(round_with(3250.0)) == ["j1"]  # Q1 behind Q0: four GPUs no longer fit beside two, the long job stops
    assert runs(round_with(3250.0), "tiresias:queues=57600") == ["j0"]


def test_the_limits_count_gpus_times_time() -> None:
    """An hour on one GPU is 3,600 GPU-seconds, as is a quarter of it on four: both have left the first queue."""
    round_ = round_of([4], [running(0, 1, 3600.0), running(1, 3, 3 * 1000.0), pending(2, 4)])
    assert runs(round_) == ["j0", "j1"]  # j1 (Q0, running), j2 does not fit beside it, j0 (Q1) fills what is left
    longer = round_of([4], [running(0, 1, 3600.0), running(1, 3, 3 * 1100.0), pending(2, 4)])
    assert runs(longer) == ["j2"]


def test_a_starving_job_is_promoted_by_the_knob() -> None:
    def round_with(waiting: float) -> Round:
        long = pending(0, 4, 8000.0, executed_seconds=2000.0, waiting_seconds=waiting)
        return round_of([4], [long, pending(1, 3, executed_seconds=0.0, waiting_seconds=5.0)])

    assert runs(round_with(4000.0)) == ["j1"]  # the knob is off
    assert runs(round_with(3999.0), "tiresias:knob=2") == ["j1"]
    assert runs(round_with(4000.0), "tiresias:knob=2") == ["j0"]  # in Q0 and submitted first
    assert runs(round_with(4000.0), "tiresias:knob=4") == ["j1"]


def test_a_promoted_job_still_stands_behind_what_runs_in_the_first_queue() -> None:
    long = pending(0, 4, 8000.0, executed_seconds=2000.0, waiting_seconds=1e6)
    round_ = round_of([4], [long, running(1, 1, 10.0, executed_seconds=10.0, waiting_seconds=0.0)])
    assert runs(round_, "tiresias:knob=1") == ["j1"]


def test_a_gang_that_does_not_fit_is_skipped_and_a_later_one_fills_in() -> None:
    """Order: j1 (Q0, runs), j0 and j3 (Q0), j2 (Q1), j4 (Q2). 8 GPUs: 3 + skip 7 + 4 + skip 2 + 1."""
    jobs = [
        pending(0, 7),
        running(1, 3, 100.0),
        pending(2, 2, 4000.0),
        pending(3, 4),
        running(4, 1, 9000.0),
    ]
    round_ = round_of([8], jobs)
    assert runs(round_) == ["j1", "j3", "j4"]
    result = solve_round(round_, "tiresias", "heuristic")
    assert result.value == 3 * 5 + 4 * 3 + 1 * 1
    best = solve_round(round_, "tiresias", "auto")
    assert best.value == best.bound == 7 * 4 + 1 * 1  # the program prefers the second and the last of the list


def test_a_running_job_stays_in_front_of_one_submitted_before_it() -> None:
    jobs = [pending(0, 2), running(1, 2, 1000.0)]
    assert runs(round_of([2], jobs)) == ["j1"]
    assert runs(round_of([2], jobs), "fifo:preempt=yes") == ["j0"]
    assert runs(round_of([2], jobs), "las") == ["j0"]


def test_in_the_last_queue_a_longer_job_submitted_first_is_first() -> None:
    jobs = [pending(0, 2, 1e6), pending(1, 2, 7200.0)]
    assert runs(round_of([2], jobs)) == ["j0"]
    assert runs(round_of([2], jobs), "las") == ["j1"]
    assert runs(round_of([2], jobs), "tiresias:queues=3250/7200/1e5") == ["j1"]


SAMPLES = "samples=1000/2000/4000/8000"


def test_the_index_puts_a_job_about_to_end_before_an_earlier_one() -> None:
    """Times 10**6: 216 (2 of 3 end; 2,000 + 4,000 + 3,250) for j1, 211 (2 of 4; 1,000 + 2,000 + 2 x 3,250) for j0."""
    round_ = round_of([2], [pending(0, 2), pending(1, 2, 1500.0)])
    assert runs(round_) == ["j0"]
    assert runs(round_, f"tiresias:rank=gittins,{SAMPLES}") == ["j1"]
    assert runs(round_, f"tiresias:rank=gittins,{SAMPLES},queues=1000") == ["j0"]  # queues come before the index


def test_equal_indices_are_first_come_and_running_first() -> None:
    gittins = f"tiresias:rank=gittins,{SAMPLES}"
    assert runs(round_of([2], [pending(0, 2, 300.0), pending(1, 2, 100.0)]), gittins) == ["j0"]  # 211 each
    assert runs(round_of([2], [pending(0, 2, 300.0), running(1, 2, 100.0)]), gittins) == ["j1"]
    assert runs(round_of([2], [pending(0, 2, 8000.0), running(1, 2, 1e6)]), gittins) == ["j1"]  # 0 each, in Q2


def test_the_form_of_the_index_decides() -> None:
    """At 2,900 GPU-seconds one of two ends: 138 by the authors' 4,000 + 3,250, 230 by the textbook's 1,100 + 3,250."""
    round_ = round_of([2], [pending(0, 2), pending(1, 2, 2900.0)])
    assert runs(round_, f"tiresias:rank=gittins,{SAMPLES}") == ["j0"]
    assert runs(round_, f"tiresias:rank=gittins,form=textbook,{SAMPLES}") == ["j1"]
    # Within 500 GPU-seconds nobody new ends, and of those at 2,900 nobody either: both 0, first come first served.
    assert runs(round_, f"tiresias:rank=gittins,form=textbook,quantum=500,{SAMPLES}") == ["j0"]


def test_a_whole_round_by_hand() -> None:
    """Two nodes of four GPUs. Q0: j5 (runs), j3 and j6 (promoted); Q1: j1 (runs), j4; Q2: j2 (runs), j0.

    j5 takes 2 of n0, j3 takes 4, on n1 where they are free; j6 needs 4 and finds 2: skipped. j1 keeps 1 of n0; j4
    needs 2 and finds 1: skipped. j2 ran on n1 and moves to the last GPU of n0; j0 waits.
    """
    new = {"executed_seconds": 0.0, "waiting_seconds": 60.0}
    ran = {"executed_seconds": 2000.0, "waiting_seconds": 0.0}
    jobs = [
        pending(0, 1, 7200.0, **ran),
        running(1, 1, 4000.0, **ran),
        running(2, 1, 9999.0, "n1", **ran),
        pending(3, 4, **new),
        pending(4, 2, 3250.0, executed_seconds=1625.0, waiting_seconds=3249.0),
        running(5, 2, 3000.0, **ran),
        pending(6, 4, 8000.0, executed_seconds=2000.0, waiting_seconds=4000.0),
    ]
    round_ = round_of([4, 4], jobs)
    decision = policy_from("tiresias:knob=2,nodes=fewest").decide(round_, seed=0)
    placed = {assignment.jobs[0]: dict(assignment.gpus) for assignment in decision.assignments}
    assert placed == {"j5": {"n0": 2}, "j3": {"n1": 4}, "j1": {"n0": 1}, "j2": {"n0": 1}}
    assert runs(round_, "tiresias:knob=2") == ["j1", "j2", "j3", "j5"]
    assert solve_round(round_, "tiresias:knob=2", "heuristic").value == 2 * 7 + 4 * 6 + 1 * 4 + 1 * 2
    assert runs(round_, "tiresias:knob=1.9") == ["j3", "j4", "j5"]  # j4 is promoted too, and fits


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("tiresias:queues=3250.0/7.2e3,knob=0.0", "tiresias"),
        ("tiresias:queues=3250.0004/7200", "tiresias"),
        ("tiresias:queues=057600", "tiresias:queues=57600"),
        ("tiresias:knob=.50,nodes=fewest", "tiresias:nodes=fewest,knob=0.5"),
        ("tiresias:samples=none,quantum=3250.,form=authors,rank=fifo", "tiresias"),
        (
            "tiresias:samples=40/1e1/20.5000/10,rank=gittins,quantum=2",
            "tiresias:rank=gittins,samples=10/10/20.5/40,quantum=2",
        ),
    ],
)
def test_equal_policies_have_equal_texts(text: str, spec: str) -> None:
    policy = policy_from(text)
    assert policy.spec == spec
    assert policy_from(spec) == policy
    assert policy_from(spec).order == policy.order


@pytest.mark.parametrize(
    ("settings", "field", "found"),
    [
        ("queues=7200/3250", "queues", "'7200/3250'"),
        ("queues=3250/3250.0001", "queues", "'3250/3250.0001'"),
        ("queues=", "queues", "''"),
        ("queues=1/x", "queues", "'x'"),
        ("queues=0/5", "queues", "'0'"),
        ("queues=1e13", "queues", "'1e13'"),
        ("queues=none", "queues", "'none'"),
        ("knob=-1", "knob", "'-1'"),
        ("rank=gittins", "samples", "'none'"),
        ("rank=gittins,samples=5/-1", "samples", "'-1'"),
        ("samples=5", "samples", "samples=5"),
        ("quantum=5", "quantum", "quantum=5"),
        ("form=textbook", "form", "form=textbook"),
        ("rank=gittins,samples=5,quantum=0.0001", "quantum", "'0.0001'"),
        ("rank=random", "rank", "'random'"),
    ],
)
def test_a_setting_that_says_nothing_sensible_is_refused(settings: str, field: str, found: str) -> None:
    with pytest.raises(InputError) as refused:
        policy_from(f"tiresias:{settings}")
    assert (refused.value.field, refused.value.found) == (f"policy 'tiresias'.{field}", found)


def test_lists_are_given_as_text() -> None:
    with pytest.raises(InputError, match=r"found \(3250, 7200\); allowed: GPU-seconds separated by '/', as text"):
        TiresiasPolicy(name="tiresias", queues=(3250, 7200))


def test_a_policy_has_its_own_name() -> None:
    with pytest.raises(InputError, match="one of tiresias"):
        TiresiasPolicy(name="las")
    with pytest.raises(InputError, match="one of las"):
        GangPolicy(name="tiresias")


def test_it_is_a_policy_of_gangs_with_their_program() -> None:
    policy = policy_from("tiresias:objective=lexicographic")
    assert isinstance(policy, GangPolicy)
    assert formulation_of(policy).chapter == "gangs"
    assert "binary digits" in value_unit_of(policy)
    with pytest.raises(InputError, match="'tiresias' places gangs"):
        solve_round(round_of([2], [gang(0, 0)]), policy)


def test_consolidation_is_for_models_with_one_large_tensor() -> None:
    published = {
        "vgg19": 0.717, "vgg16": 0.744, "vgg11": 0.774, "alexnet": 0.611,
        "inception3": 0.138, "resnet50": 0.112, "resnet101": 0.075, "resnet152": 0.060, "inception4": 0.044,
    }  # fmt: skip
    for limit in (0.14, 0.3, 0.6):
        wide = {model for model, skew in published.items() if consolidates(skew, 1, limit)}
        assert wide == {"vgg19", "vgg16", "vgg11", "alexnet"}
    assert not consolidates(1, 2, 0.5)
    assert consolidates(1, 2, 0.499)
    assert consolidates(1, 3, 1 / 3)  # the float is a little less than a third


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ((1, 0, 0.5), "model_size"),
        ((1, float("nan"), 0.5), "model_size"),
        ((3, 2, 0.5), "largest_tensor"),
        ((0, 2, 0.5), "largest_tensor"),
        ((1, 2, 1.5), "limit"),
        ((1, 2, -0.1), "limit"),
    ],
)
def test_sizes_that_no_model_has_are_refused(arguments: tuple[float, float, float], field: str) -> None:
    with pytest.raises(InputError) as refused:
        consolidates(*arguments)
    assert refused.value.field == field
