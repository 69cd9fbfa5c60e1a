"""List schedules of gangs on rounds small enough to schedule by hand."""

from __future__ import annotations

import pytest
from handmade import gang, round_of
from hypothesis import given, strategies as st
from more_examples import more_examples
from msgspec.structs import replace

from muri_opt import Decision, InputError, Node, Round, Tenant, WaitingReason, policy_from, solve_round
from muri_opt.rounds import Change, after, change_text, changed
from muri_opt.rounds.generate.families import generate
from muri_opt.systems.gangs.program import MOST_DIGITS
from muri_opt.systems.orders import ORDERS
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


@pytest.mark.parametrize("policy", ["fifo", "fifo:preempt=yes", "srtf", "las", "max-min"])
@pytest.mark.parametrize("method", ["heuristic", "auto", "exact"])
def test_a_running_job_that_is_chosen_again_stays_where_it_is(policy: str, method: str) -> None:
    round_ = round_of([1, 1], [gang(0, 1), gang(1, 1, state="running", placement={"n0": 1})])
    result = solve_round(round_, policy, method)
    assert result.decision is not None
    assert shares(result.decision) == {"j0": {"n1": 1}, "j1": {"n0": 1}}
    assert result.certificate.violations == ()


def test_a_running_job_moves_if_another_could_not_run_otherwise() -> None:
    nodes = [Node(id="n0", gpus=2, memory_gib=8), Node(id="n1", gpus=2, memory_gib=2)]
    jobs = [gang(0, 2, memory_gib=8), gang(1, 2, memory_gib=2, state="running", placement={"n0": 2})]
    assert decide(round_of(nodes, jobs), "srtf") == {"j0": {"n0": 2}, "j1": {"n1": 2}}
    assert decide(round_of(nodes, jobs), "fifo") == {"j1": {"n0": 2}}


@pytest.mark.parametrize("objective", ["lexicographic", "weighted"])
@pytest.mark.parametrize("method", ["heuristic", "auto", "exact", "exact@cp-sat"])
def test_fifo_stops_nobody(objective: str, method: str) -> None:
    """A later job of 3 GPUs runs; one that came before it, and would be worth more, waits for its end."""
    jobs = [gang(0, 4), gang(1, 3, state="running", placement={"n0": 1, "n1": 2}), gang(2, 1)]
    result = solve_round(round_of([2, 2], jobs), f"fifo:objective={objective}", method)
    assert result.decision is not None
    assert shares(result.decision) == {"j1": {"n0": 1, "n1": 2}, "j2": {"n0": 1}}
    assert result.certificate.violations == ()
    assert (result.termination.reason, result.value) == ("OPTIMAL", 1)
    again = solve_round(round_of([2, 2], jobs), f"fifo:objective={objective},preempt=yes", method)
    assert again.decision is not None
    assert reasons(again.decision) == {"j1": "stopped", "j2": "capacity"}
    assert again.certificate.violations == ()


def test_fifo_serves_the_first_in_the_queue_and_the_weighted_objective_the_fullest_cluster() -> None:
    round_ = round_of([4, 4], [3, 6, 2])
    first, fullest = solve_round(round_, "fifo"), solve_round(round_, "fifo:objective=weighted")
    assert first.decision is not None
    assert fullest.decision is not None
    assert first.decision.running == {"j0", "j2"}
    assert fullest.decision.running == {"j1", "j2"}
    assert (first.value, fullest.value) == (0b101, 14)


def test_running_jobs_above_the_quota_stay_and_the_tenant_starts_nothing() -> None:
    jobs = [gang(0, 1, tenant="red"), gang(1, 3, tenant="red", state="running", placement={"n0": 3}), gang(2, 1)]
    round_ = round_of([6], jobs, [Tenant(id="red", quota_gpus=2), Tenant(id="blue")])
    result = solve_round(round_, "fifo")
    assert result.decision is not None
    assert set(shares(result.decision)) == {"j1", "j2"}
    assert result.certificate.violations == ()
    (wait,) = result.decision.waiting
    assert wait.detail == "asks for 1 GPU; tenant 'red' is 1 over its quota of 2"
    assert wait.remedy == "raise the quota of its tenant by 2 GPUs"


def test_of_jobs_that_share_gpus_the_first_stays() -> None:
    stages = (1.0, 1.0, 1.0, 1.0)
    jobs = [gang(j, 2, state="running", placement={"n0": 2}, stage_seconds=stages) for j in range(2)]
    result = solve_round(round_of([2], jobs), "fifo")
    assert result.decision is not None
    assert shares(result.decision) == {"j0": {"n0": 2}}
    assert reasons(result.decision) == {"j1": "stopped"}
    assert result.certificate.violations == ()


def test_fewest_nodes_waits_rather_than_spreads() -> None:
    round_ = round_of([3, 3], [2, 2, 2])
    assert decide(round_, "fifo") == {"j0": {"n0": 2}, "j1": {"n1": 2}, "j2": {"n0": 1, "n1": 1}}
    decision = policy_from("fifo:nodes=fewest").decide(round_, seed=0)
    assert shares(decision) == {"j0": {"n0": 2}, "j1": {"n1": 2}}
    (wait,) = decision.waiting
    assert (wait.job, wait.reason) == ("j2", WaitingReason.FRAGMENTATION)
    assert wait.detail == "asks for 2 GPUs; 2 of 6 are free, at most 1 on 1 node"
    assert wait.remedy == "stop 'j0' (2 GPUs)"
    assert wait.changes == (Change(preempt=("j0",), gpus=2), Change(add_gpus=2, gpus=2))


def test_fewest_nodes_allows_as_many_as_the_empty_cluster_needs() -> None:
    assert decide(round_of([3, 3], [5]), "fifo:nodes=fewest") == {"j0": {"n0": 3, "n1": 2}}


def test_fewest_nodes_moves_a_running_job_that_is_spread_too_far() -> None:
    jobs = [gang(0, 2, state="running", placement={"n0": 1, "n1": 1})]
    round_ = round_of([2, 2], jobs)
    assert decide(round_, "fifo") == {"j0": {"n0": 1, "n1": 1}}
    assert decide(round_, "fifo:nodes=fewest") == {"j0": {"n0": 1, "n1": 1}}
    assert decide(round_, "srtf:nodes=fewest") == {"j0": {"n0": 2}}
    wide = round_of([2, 2], [gang(0, 3, state="running", placement={"n0": 1, "n1": 2})])
    assert decide(wide, "srtf:nodes=fewest") == {"j0": {"n0": 1, "n1": 2}}


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
    assert wait.remedy == "add a node of 2 GPUs"


def test_a_job_whose_cpus_never_fit_waits_for_capacity() -> None:
    round_ = round_of([Node(id="n0", gpus=4, cpus=3)], [gang(0, 4, cpus=4)])
    (wait,) = policy_from("fifo").decide(round_, seed=0).waiting
    assert wait.reason is WaitingReason.CAPACITY
    assert wait.detail == "asks for 4 GPUs; the empty cluster has 4, 3 of them with the CPUs and memory it needs"


def test_a_job_whose_cpus_are_taken_waits_for_fragmentation() -> None:
    round_ = round_of([Node(id="n0", gpus=4, cpus=4)], [gang(0, 1, cpus=3), gang(1, 2, cpus=2)])
    (wait,) = policy_from("fifo").decide(round_, seed=0).waiting
    assert wait.reason is WaitingReason.FRAGMENTATION
    assert wait.detail == "asks for 2 GPUs; 3 of 4 are free, at most 1 with its CPUs ('j0' holds 3 CPUs)"
    assert wait.remedy == "stop 'j0' (1 GPU)"


def test_cpus_and_memory_that_are_free_on_different_nodes_are_named_together() -> None:
    nodes = [Node(id="n0", gpus=4, cpus=8, memory_gib=32), Node(id="n1", gpus=4, cpus=8, memory_gib=32)]
    jobs = [gang(0, 1, cpus=8, memory_gib=1), gang(1, 1, cpus=1, memory_gib=32), gang(2, 1, cpus=4, memory_gib=8)]
    (wait,) = policy_from("fifo").decide(round_of(nodes, jobs), 0).waiting
    assert wait.reason is WaitingReason.FRAGMENTATION
    assert wait.detail == "asks for 1 GPU; 6 of 8 are free, at most 0 with both its CPUs and its memory"


def test_all_rules_that_bind_are_named_and_the_remedy_is_enough() -> None:
    """One more GPU of quota would not do: 13 GPUs are missing, and the memory of one that runs."""
    nodes = [Node(id="n0", gpus=16, memory_gib=64)]
    tenants = [Tenant(id="red", quota_gpus=13), Tenant(id="blue")]
    jobs = [gang(0, 13, tenant="blue", memory_gib=52), gang(1, 14, tenant="red", memory_gib=14)]
    (wait,) = policy_from("fifo").decide(round_of(nodes, jobs, tenants), 0).waiting
    assert wait.detail == "asks for 14 GPUs; tenant 'red' has 13 left of its quota of 13; 3 of 16 are free"
    assert wait.remedy == "stop 'j0' (13 GPUs) and raise the quota of its tenant by 1 GPU"
    jobs = [gang(0, 1, memory_gib=62), gang(1, 4, memory_gib=16)]
    (wait,) = policy_from("fifo").decide(round_of(nodes, jobs), 0).waiting
    assert wait.detail == "asks for 4 GPUs; 15 of 16 are free, at most 0 with its memory ('j0' holds 62 GiB)"
    assert wait.remedy == "stop 'j0' (1 GPU)"


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


def test_of_very_many_jobs_the_last_ones_count_one_each() -> None:
    """A value can be written as a number in a file, which Python refuses beyond 4,300 digits."""
    assert len(str(10**6 << MOST_DIGITS)) <= 4300
    rest = 7
    result = solve_round(round_of([4, MOST_DIGITS], [1, *[2] * (MOST_DIGITS + rest - 1)]), "fifo")
    running = MOST_DIGITS // 2 + 2
    assert result.decision is not None
    assert len(result.decision.running) == running
    assert result.value == sum((rest + 1) << (MOST_DIGITS - 1 - rank) for rank in range(running))
    assert result.termination.reason == "OPTIMAL"
    assert result.certificate.violations == ()
    roomy = solve_round(round_of([3 * MOST_DIGITS], [1] * (MOST_DIGITS + rest)), "fifo")
    assert roomy.value == ((rest + 1) << MOST_DIGITS) - 1
    assert (roomy.termination.reason, roomy.certificate.violations) == ("OPTIMAL", ())


GANGS = st.builds(
    "{}:nodes={},preempt={},objective={}".format,
    st.sampled_from([*sorted(ORDERS), "tiresias"]),
    st.sampled_from(["any", "fewest"]),
    st.sampled_from(["yes", "no"]),
    st.sampled_from(["weighted", "lexicographic"]),
)


@given(rounds(max_jobs=7), GANGS)
@more_examples(200)
def test_deciding_again_with_nothing_changed_changes_nothing(round_: Round, spec: str) -> None:
    policy = policy_from(spec)
    decision = policy.decide(round_, seed=0)
    then = after(round_, decision)
    assert shares(policy.decide(then, seed=0)) == shares(decision)


@given(rounds(max_jobs=5), GANGS)
@more_examples(40)
def test_solving_again_with_nothing_changed_changes_nothing(round_: Round, spec: str) -> None:
    decision = solve_round(round_, spec, "auto").decision
    assert decision is not None
    again = solve_round(after(round_, decision), spec, "auto").decision
    assert again is not None
    assert shares(again) == shares(decision)


@given(rounds(max_jobs=7), GANGS)
@more_examples(200)
def test_a_change_starts_the_job_it_is_for(round_: Round, spec: str) -> None:
    policy = policy_from(spec)
    decision = policy.decide(round_, seed=0)
    for wait in decision.waiting:
        assert wait.remedy == change_text(wait.changes[0])
        for change in wait.changes:
            then = policy.decide(changed(round_, decision, wait.job, change), seed=0)
            assert wait.job in then.running, change_text(change)


@given(rounds(max_jobs=7), st.sampled_from(sorted(ORDERS)), st.sampled_from(["any", "fewest"]))
@more_examples(150)
def test_a_change_is_needed_whole(round_: Round, name: str, nodes: str) -> None:
    """One GPU of quota less, one GPU of the node less, or one job to stop less, and nobody moves: it does not start."""
    policy = policy_from(f"{name}:nodes={nodes},preempt=no")
    decision = policy.decide(round_, seed=0)
    for wait in decision.waiting:
        for change in wait.changes:
            for less in smaller(change):
                then = changed(round_, decision, wait.job, less)
                assert wait.job not in policy.decide(then, seed=0).running, change_text(less)


def smaller(change: Change) -> list[Change]:
    """Return the change with a little less of each thing."""
    found = [replace(change, preempt=tuple(job for job in change.preempt if job != left)) for left in change.preempt]
    if change.raise_quota:
        found.append(replace(change, raise_quota=change.raise_quota - 1))
    if change.add_gpus:
        found.append(replace(change, add_gpus=change.add_gpus - 1))
    return found


@given(rounds(), st.sampled_from(sorted(ORDERS)), st.sampled_from(["any", "fewest"]))
def test_no_job_waits_that_could_start(round_: Round, policy: str, nodes: str) -> None:
    """Back-filling leaves no gang behind that still fits, so no job waits for the reason ``priority``."""
    decision = policy_from(f"{policy}:nodes={nodes}").decide(round_, seed=0)
    assert "priority" not in reasons(decision).values()
    assert len(decision.assignments) + len(decision.waiting) == len(round_.jobs)


def test_room_that_a_gang_on_fewer_nodes_leaves_is_used_at_once() -> None:
    """Nobody is stopped, and one gang starts on fewer nodes than at first: another then fits in the same decision."""
    round_, policy = generate("gangs", jobs=40, nodes=5, seed=118), policy_from("fifo")
    decision = policy.decide(round_, 0)
    assert policy.decide(after(round_, decision), 0).running == decision.running
