"""List schedules of gangs on rounds small enough to schedule by hand."""

from __future__ import annotations

import pytest
from handmade import gang, round_of
from hypothesis import given
from hypothesis import strategies as st

from muri_opt import Decision, InputError, Node, Round, Tenant, WaitingReason, policy_from, solve_round
from muri_opt.ordering import ORDERS
from muri_opt.policies.gangs import MOST_DIGITS
from muri_opt.testing import rounds


def shares(decision: Decision) -> dict[str, dict[str, int]]:
    return {assignment.jobs[0]: dict(assignment.gpus) for assignment in decision.assignments}


def decide(round_: Round, policy: str) -> dict[str, dict[str, int]]:
    return shares(policy_from(policy).decide(round_, seed=0))


def reasons(decision: Decision) -> dict[str, str]:
    return {wait.job: wait.reason.value for wait in decision.waiting}


def test_a_later_job_fills_what_an_earlier_one_cannot_use() -> None:
    round_ = round_of([4], [3, 2, 1])
    assert decide(round_, "fifo") == {"j0": {"n0": 3}, "j2": {"n0": 1}}
    assert reasons(policy_from("fifo").decide(round_, 0)) == {"j1": "capacity"}


def test_the_order_decides_who_starts() -> None:
    jobs = [
        gang(0, 4, remaining_iterations=8, attained_gpu_seconds=9.0, tenant="a"),
        gang(1, 3, remaining_iterations=10, attained_gpu_seconds=8.0, tenant="a"),
        gang(2, 4, remaining_iterations=6, attained_gpu_seconds=7.0, tenant="a"),
        gang(3, 1, remaining_iterations=20, attained_gpu_seconds=6.0, tenant="b"),
    ]
    round_ = round_of([4], jobs)
    assert set(decide(round_, "fifo")) == {"j0"}
    assert set(decide(round_, "srtf")) == {"j2"}
    assert set(decide(round_, "srsf")) == {"j3", "j1"}  # 20, then 24 and 32 that do not fit, then 30
    assert set(decide(round_, "las")) == {"j3", "j1"}
    assert set(decide(round_, "max-min")) == {"j0"}
    earlier = round_of([4], [*jobs[:3], gang(3, 1, submitted=0.0, tenant="b"), gang(4, 3, tenant="b")])
    assert set(decide(earlier, "max-min")) == {"j0"}


def test_the_poorest_tenant_comes_before_the_second_job_of_another() -> None:
    owners = ["red", "red", "blue"]
    round_ = round_of([4], [gang(j, 2, tenant=owner) for j, owner in enumerate(owners)])
    assert set(decide(round_, "fifo")) == {"j0", "j1"}
    assert set(decide(round_, "max-min")) == {"j0", "j2"}


def test_a_gang_goes_to_the_tightest_node_that_holds_it() -> None:
    assert decide(round_of([4, 2], [2]), "fifo") == {"j0": {"n1": 2}}


def test_a_gang_larger_than_a_node_fills_the_roomiest_first() -> None:
    assert decide(round_of([2, 4, 3], [6]), "fifo") == {"j0": {"n1": 4, "n0": 2}}


def test_a_running_job_keeps_its_gpus() -> None:
    jobs = [gang(0, 2, state="running", placement={"n0": 1, "n1": 1}), gang(1, 2)]
    assert decide(round_of([2, 2, 2], jobs), "fifo") == {"j0": {"n0": 1, "n1": 1}, "j1": {"n2": 2}}


def test_a_running_job_whose_gpus_were_taken_moves() -> None:
    jobs = [gang(0, 2), gang(1, 2, state="running", placement={"n0": 2})]
    assert decide(round_of([2, 4], jobs), "fifo") == {"j0": {"n0": 2}, "j1": {"n1": 2}}


def test_fewest_nodes_waits_rather_than_spreads() -> None:
    round_ = round_of([3, 3], [2, 2, 2])
    assert decide(round_, "fifo") == {"j0": {"n0": 2}, "j1": {"n1": 2}, "j2": {"n0": 1, "n1": 1}}
    decision = policy_from("fifo:nodes=fewest").decide(round_, seed=0)
    assert shares(decision) == {"j0": {"n0": 2}, "j1": {"n1": 2}}
    (wait,) = decision.waiting
    assert (wait.job, wait.reason) == ("j2", WaitingReason.FRAGMENTATION)
    assert wait.detail == "asks for 2 GPUs; 2 are free, but at most 1 on 1 node"
    assert wait.remedy == "free room for 1 more GPU on 1 node"


def test_fewest_nodes_allows_as_many_as_the_empty_cluster_needs() -> None:
    assert decide(round_of([3, 3], [5]), "fifo:nodes=fewest") == {"j0": {"n0": 3, "n1": 2}}


def test_fewest_nodes_moves_a_running_job_that_is_spread_too_far() -> None:
    jobs = [gang(0, 2, state="running", placement={"n0": 1, "n1": 1})]
    round_ = round_of([2, 2], jobs)
    assert decide(round_, "fifo") == {"j0": {"n0": 1, "n1": 1}}
    assert decide(round_, "fifo:nodes=fewest") == {"j0": {"n0": 2}}
    wide = round_of([2, 2], [gang(0, 3, state="running", placement={"n0": 1, "n1": 2})])
    assert decide(wide, "fifo:nodes=fewest") == {"j0": {"n0": 1, "n1": 2}}


def test_cpus_and_memory_go_with_the_gpus() -> None:
    nodes = [Node(id="n0", gpus=4, cpus=2), Node(id="n1", gpus=4, memory_gib=3)]
    round_ = round_of(nodes, [gang(0, 4, cpus=4, memory_gib=4)])
    (assignment,) = policy_from("fifo").decide(round_, seed=0).assignments
    assert assignment.gpus == {"n0": 1, "n1": 3}
    assert assignment.cpus == {"n0": 1.0, "n1": 3.0}
    assert assignment.period_seconds == 1.0


def test_a_quota_stops_a_tenant_and_nobody_else() -> None:
    jobs = [gang(0, 2, tenant="red"), gang(1, 2, tenant="red"), gang(2, 2, tenant="blue"), gang(3, 1)]
    decision = policy_from("fifo").decide(round_of([8], jobs, [Tenant(id="red", quota_gpus=3), Tenant(id="blue")]), 0)
    assert set(shares(decision)) == {"j0", "j2", "j3"}
    (wait,) = decision.waiting
    assert (wait.job, wait.reason) == ("j1", WaitingReason.QUOTA)
    assert wait.detail == "asks for 2 GPUs; tenant 'red' has 1 left of its quota of 3"


def test_a_job_larger_than_the_cluster_waits_for_capacity() -> None:
    decision = policy_from("fifo").decide(round_of([4, 4], [9, 1]), seed=0)
    (wait,) = decision.waiting
    assert (wait.job, wait.reason) == ("j0", WaitingReason.CAPACITY)
    assert wait.detail == "asks for 9 GPUs; the empty cluster has 8"
    assert wait.remedy == "ask for at most 8 GPUs, or enlarge the cluster"


def test_a_job_whose_cpus_never_fit_waits_for_capacity() -> None:
    round_ = round_of([Node(id="n0", gpus=4, cpus=3)], [gang(0, 4, cpus=4)])
    (wait,) = policy_from("fifo").decide(round_, seed=0).waiting
    assert wait.reason is WaitingReason.CAPACITY
    assert wait.detail == "asks for 4 GPUs; the empty cluster has 4, 3 of them with the CPUs and memory it needs"


def test_a_job_whose_cpus_are_taken_waits_for_fragmentation() -> None:
    round_ = round_of([Node(id="n0", gpus=4, cpus=4)], [gang(0, 1, cpus=3), gang(1, 2, cpus=2)])
    (wait,) = policy_from("fifo").decide(round_, seed=0).waiting
    assert wait.reason is WaitingReason.FRAGMENTATION
    assert wait.detail == "asks for 2 GPUs; 3 are free, but at most 1 where its CPUs and memory are free too"


@pytest.mark.parametrize("policy", sorted(ORDERS))
def test_an_empty_round_has_an_empty_decision(policy: str) -> None:
    for round_ in (round_of([], []), round_of([4], [])):
        result = solve_round(round_, policy)
        assert result.decision == Decision()
        assert (result.value, result.bound, result.termination.reason) == (0, 0, "OPTIMAL")
    nowhere = solve_round(round_of([], [1]), policy)
    assert (nowhere.value, nowhere.termination.reason) == (0, "OPTIMAL")
    assert nowhere.decision is not None
    assert reasons(nowhere.decision) == {"j0": "capacity"}


@pytest.mark.parametrize("policy", sorted(ORDERS))
@pytest.mark.parametrize("method", ["heuristic", "auto", "exact", "exact@highs"])
def test_a_gang_of_no_gpus_is_refused(policy: str, method: str) -> None:
    with pytest.raises(InputError) as refused:
        solve_round(round_of([4], [1, gang(1, 0)]), policy, method)
    assert refused.value.field == "jobs[1] ('j1').gpus"
    assert policy in refused.value.allowed


def test_more_jobs_than_a_lexicographic_value_can_hold_are_refused() -> None:
    most = round_of([4], [1] * MOST_DIGITS)
    policy_from("fifo:objective=lexicographic").check(most)
    # A value of all jobs can be written as a number in a file, which Python refuses beyond 4,300 digits.
    assert len(str(2**MOST_DIGITS)) <= 4300
    more = round_of([4], [1] * (MOST_DIGITS + 1))
    policy_from("fifo").check(more)
    with pytest.raises(InputError) as refused:
        policy_from("fifo:objective=lexicographic").check(more)
    assert refused.value.field == "policy 'fifo'.objective"


@given(rounds(), st.sampled_from(sorted(ORDERS)), st.sampled_from(["any", "fewest"]))
def test_no_job_waits_that_could_start(round_: Round, policy: str, nodes: str) -> None:
    """Back-filling leaves no gang behind that still fits, so no job waits for the reason ``priority``."""
    decision = policy_from(f"{policy}:nodes={nodes}").decide(round_, seed=0)
    assert "priority" not in reasons(decision).values()
    assert len(decision.assignments) + len(decision.waiting) == len(round_.jobs)
