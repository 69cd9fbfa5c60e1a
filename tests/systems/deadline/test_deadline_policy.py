"""The policy of deadlines on rounds whose answers are known: who is in time, who comes first, what is refused."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from by_policy import decision_value, enumerated_optimum, formulation_of
from handmade import gang

from muri_opt import (
    Cluster,
    Decision,
    InputError,
    Job,
    Limits,
    Node,
    RefusalError,
    Round,
    Tenant,
    policy_from,
    solve_round,
)
from muri_opt.rounds import NodeRange, Within, after
from muri_opt.systems.deadline.levels import MOST_IN_ONE

LINEAR = {size: float(size) for size in range(1, 9)}


def elastic(name: str, work: int, deadline: float | None = None, **said: object) -> Job:
    """Return a job that does as many iterations a second as it has GPUs, unless it says otherwise."""
    given = {"gpus": 1, "submitted": 0.0, "scaling": LINEAR, "remaining_iterations": work, "deadline": deadline}
    return Job(id=name, **given | said)


def on(gpus: int, *jobs: Job, now: float = 0.0) -> Round:
    return Round(now=now, cluster=Cluster(nodes=(Node(id="n0", gpus=gpus),)), jobs=jobs)


def shares(decision: Decision) -> dict[str, int]:
    return {one.jobs[0]: sum(one.gpus.values()) for one in decision.assignments}


def decided(round_: Round, spec: str = "deadline") -> dict[str, int]:
    return shares(policy_from(spec).decide(round_, 0))


def solved(round_: Round, spec: str = "deadline") -> dict[str, int]:
    result = solve_round(round_, spec, "exact", Limits(seconds=None))
    assert result.certificate.violations == ()
    return shares(result.decision)


def test_the_fewest_gpus_that_keep_a_deadline_and_the_rest_where_it_gains_most() -> None:
    slow = {1: 1.0, 2: 1.2, 3: 1.3}
    round_ = on(4, elastic("a", 20, 10.0, scaling=slow | {4: 2.0}), elastic("b", 8, 5.0), elastic("c", 9))
    # a keeps its deadline with four GPUs only, b with two; the others that b leaves start a and c.
    assert decided(round_) == {"a": 1, "b": 2, "c": 1}
    assert decided(on(6, *round_.jobs)) == solved(on(6, *round_.jobs)) == {"a": 4, "b": 2}


def test_two_deadlines_count_more_than_the_earliest() -> None:
    round_ = on(4, elastic("a", 30, 10.0), elastic("b", 20, 11.0), elastic("c", 20, 12.0))
    assert decided(round_)["a"] >= 3
    assert solved(round_) == {"b": 2, "c": 2}


def test_a_deadline_that_would_be_lost_comes_before_two_that_can_wait() -> None:
    urgent, relaxed = elastic("a", 40, 10.0), [elastic(name, 20, 9000.0) for name in "bc"]
    assert solved(on(4, *relaxed, urgent))["a"] == 4
    assert decided(on(4, *relaxed, urgent))["a"] == 4
    # If the round is decided again only after hours, b and c cannot wait either, and are two.
    late = [elastic(name, 17_900, 9000.0) for name in "bc"]
    assert solved(on(4, *late, urgent), "deadline:interval=9000").keys() == {"b", "c"}


def test_of_equally_many_the_earliest_deadlines_are_kept() -> None:
    round_ = on(4, elastic("late", 40, 12.0), elastic("early", 40, 11.0))
    assert solved(round_) == decided(round_) == {"early": 4}


def test_a_restart_counts_against_the_deadline_of_a_job_that_does_not_stay() -> None:
    runs = elastic("a", 20, 10.0, state="running", placement={"n0": 2}, restart_seconds=4.0)
    urgent = elastic("b", 20, 10.0, submitted=1.0)
    assert decided(on(4, runs, urgent)) == solved(on(4, runs, urgent)) == {"a": 2, "b": 2}
    nodes = (Node(id="n0", gpus=2), Node(id="n1", gpus=2), Node(id="n2", gpus=2, gpu_type="x"))
    moved = Round(
        cluster=Cluster(nodes=nodes),
        jobs=(runs, elastic("b", 80, 41.0, requires=()), elastic("c", 20, 10.0, gpu_types=("x",))),
        format="muri-opt/round/2",
    )
    # b could only have two more GPUs if a went to one node that is left; restarted, a would be late.
    assert solved(moved) == {"a": 2, "b": 2, "c": 2}


def test_a_running_job_is_moved_only_if_that_pays_before_the_next_decision() -> None:
    table = {1: 1.0, 2: 1.9}
    runs = elastic("a", 90, None, state="running", placement={"n0": 1}, restart_seconds=30.0, scaling=table)
    assert decided(on(2, runs)) == solved(on(2, runs)) == {"a": 2}
    assert decided(on(2, runs), "deadline:interval=40") == solved(on(2, runs), "deadline:interval=40") == {"a": 1}


@pytest.mark.parametrize("deadline", [9.0, 12.0])
def test_a_deadline_that_is_past_or_out_of_reach_is_no_fault_and_is_told(deadline: float) -> None:
    late, other = elastic("late", 90, deadline, submitted=1.0), elastic("other", 40, 20.0)
    round_ = on(4, late, other, now=10.0)
    assert decided(round_) == solved(round_) == {"other": 4}
    (wait,) = policy_from("deadline").decide(round_, 0).waiting
    said = "its deadline passed 1 s ago" if deadline == 9.0 else "no share that it may have keeps its deadline in 2 s"
    assert wait.detail.endswith(f"{said}: it has what others leave")
    assert decided(on(6, late, other, now=10.0)) == {"late": 1, "other": 5}


def test_a_higher_priority_comes_before_deadlines_of_lower_ones() -> None:
    round_ = on(4, elastic("a", 40, 10.0), elastic("b", 40, None, priority=1, scaling={1: 1.0, 2: 1.1, 3: 1.2, 4: 1.3}))
    assert decided(round_) == solved(round_) == {"b": 4}


def test_gangs_without_a_table_have_all_their_gpus_or_none() -> None:
    by_iterations = gang(0, 3, remaining_iterations=10, iteration_seconds=1.0, deadline=10.0)
    by_limit = gang(1, 2, remaining_iterations=None, time_limit_seconds=9.0, deadline=10.0)
    round_ = on(4, by_iterations, by_limit, elastic("c", 5))
    assert decided(round_) == solved(round_) == {"j0": 3, "c": 1}
    ran = gang(1, 2, remaining_iterations=None, time_limit_seconds=19.0, deadline=10.0, **RUNS, executed_seconds=9.0)
    assert solve_round(on(4, ran), "deadline").decision.running == {"j1"}


RUNS = {"state": "running", "placement": {"n0": 2}}


@pytest.mark.parametrize(
    ("job", "field"),
    [
        (elastic("a", 1, 9.0, remaining_iterations=None), "jobs[0] ('a').remaining_iterations"),
        (Job(id="a", gpus=1, deadline=9.0), "jobs[0] ('a').remaining_iterations"),
        (Job(id="a", gpus=0), "jobs[0] ('a').gpus"),
        (elastic("a", 1, 9.0, scaling={2: 1.0}), "jobs[0] ('a').scaling"),
        (elastic("a", 1, preemptible=False, **RUNS, scaling={1: 1.0}), "jobs[0] ('a').placement"),
    ],
)
def test_what_cannot_be_decided_is_refused_by_its_field(job: Job, field: str) -> None:
    with pytest.raises(InputError) as error:
        solve_round(on(4, job), "deadline")
    assert error.value.field.startswith(field)


def test_lengths_are_needed_only_while_a_deadline_lies_ahead() -> None:
    assert decided(on(4, Job(id="a", gpus=1, deadline=9.0), elastic("b", 1, remaining_iterations=None), now=10.0))


@pytest.mark.parametrize("said", [{"nodes": NodeRange(most=1)}, {"even": True}])
def test_shapes_are_refused(said: dict[str, object]) -> None:
    with pytest.raises(RefusalError, match="deadline"):
        solve_round(on(4, elastic("a", 1, **said)), "deadline")


def test_a_place_that_is_preferred_is_refused() -> None:
    cluster = Cluster(nodes=(Node(id="n0", gpus=4, rack="r0"),))
    job = elastic("a", 1, within=Within(level="rack", required=False))
    with pytest.raises(RefusalError, match=r"within\.required"):
        solve_round(Round(cluster=cluster, jobs=(job,)), "deadline")


def test_jobs_that_may_not_be_stopped_go_on_above_their_quota() -> None:
    pinned = elastic("a", 50, tenant="t", preemptible=False, **RUNS)
    cluster = Cluster(nodes=(Node(id="n0", gpus=4),), tenants=(Tenant(id="t", quota_gpus=1),))
    round_ = Round(cluster=cluster, jobs=(pinned, elastic("b", 8, 9.0, tenant="t"), elastic("c", 20, 10.0)))
    assert decided(round_) == solved(round_) == {"a": 2, "c": 2}


def test_deciding_again_changes_nothing() -> None:
    round_ = on(8, elastic("a", 40, 10.0, restart_seconds=1.0), elastic("b", 20, 11.0), elastic("c", 9))
    decision = policy_from("deadline").decide(round_, 0)
    again = policy_from("deadline").decide(after(round_, decision), 0)
    assert shares(again) == shares(decision)


def test_levels_are_solved_together_while_their_numbers_are_small() -> None:
    jobs = [elastic(f"j{place}", 9, 20.0 + place, priority=place % 3) for place in range(12)]
    program = formulation_of("deadline")
    model = program.build(on(8, *jobs))
    stages = program.stages(on(8, *jobs), model)
    assert all(stage.best < MOST_IN_ONE for stage in stages)
    assert len(stages) < 12
    assert all(one.weight > later.weight * later.best for one, later in pairwise(stages))


def test_an_unknown_name_and_interval_are_refused() -> None:
    for spec in ("deadline:interval=0", "deadline:interval=soon", "deadline:intervall=3"):
        with pytest.raises(InputError):
            policy_from(spec)


def test_the_dynamic_program_finds_the_optimum_where_gpus_and_quotas_are_all_that_is_short() -> None:
    draw, found = Random(3), 0
    for _ in range(40):
        jobs = [
            elastic(f"j{place}", draw.randint(1, 30), draw.choice([None, *range(1, 12)]), tenant=draw.choice("tu"))
            for place in range(5)
        ]
        tenants = (Tenant(id="t", quota_gpus=draw.choice([None, 1, 2, 4])), Tenant(id="u"))
        cluster = Cluster(nodes=(Node(id="n0", gpus=3), Node(id="n1", gpus=2)), tenants=tenants)
        round_, program = Round(cluster=cluster, jobs=tuple(jobs)), formulation_of("deadline")
        values = program.direct(round_)
        best = enumerated_optimum(round_, "deadline", steps=10**6)
        assert decision_value(round_, "deadline", program.decode(round_, values)) == best
        found += decision_value(round_, "deadline", policy_from("deadline").decide(round_, 0)) < best
    assert found  # the rule alone does not do


def test_the_dynamic_program_leaves_other_rounds_to_a_solver() -> None:
    pinned = elastic("a", 9, preemptible=False, **RUNS)
    for round_ in (on(4, pinned), on(4, elastic("a", 9, held="x"))):
        assert formulation_of("deadline").direct(round_) is None
