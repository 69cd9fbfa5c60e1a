"""Muri's policies on rounds small enough to decide by hand, and every decision checked by the verifier."""

from __future__ import annotations

import msgspec
import pytest
from handmade import gang, round_of

from muri_opt import Decision, InputError, Job, Node, Round, Tenant, WaitingReason, policy_from, solve_round
from muri_opt.rounds.generate.families import generate

THREE = ("data", "gpu", "network")


def busy(position: int, resource: int, gpus: int = 1, **fields: object) -> Job:
    """Return a job that uses one of four resources for one second; jobs of lower positions come first."""
    stages = tuple(float(r == resource) for r in range(4))
    return gang(position, gpus, remaining_iterations=(position + 1) * 10 // gpus, stage_seconds=stages, **fields)


def three_stages(round_: Round) -> Round:
    return msgspec.structs.replace(round_, resources=THREE)


def decide(round_: Round, policy: str = "muri-s") -> Decision:
    """Return the decision, which the verifier accepts."""
    result = solve_round(round_, policy, "heuristic")
    assert result.certificate.feasible, result.certificate.violations
    assert result.decision == policy_from(policy).decide(round_, seed=0)
    return result.decision


def groups(decision: Decision) -> list[tuple[str, ...]]:
    return [assignment.jobs for assignment in decision.assignments]


def reasons(decision: Decision) -> dict[str, WaitingReason]:
    return {wait.job: wait.reason for wait in decision.waiting}


def test_four_complementary_jobs_run_as_one() -> None:
    decision = decide(round_of([1], [busy(j, j) for j in range(4)]))
    (group,) = decision.assignments
    assert (set(group.jobs), group.gpus, group.period_seconds) == ({"j0", "j1", "j2", "j3"}, {"n0": 1}, 1.0)
    assert sorted(group.order) == [0, 1, 2, 3]


def test_four_jobs_per_slot_are_looked_at_and_no_more() -> None:
    jobs = [busy(j, 0) for j in range(4)] + [busy(4, 1), busy(5, 2)]  # the best partners come too late
    decision = decide(round_of([1], jobs))
    assert set(decision.running) == {"j0", "j1", "j2", "j3"}
    assert reasons(decision) == {"j4": WaitingReason.CAPACITY, "j5": WaitingReason.CAPACITY}
    assert set(decide(round_of([1], jobs), "muri-s:group=2").running) == {"j0", "j1"}
    assert set(decide(round_of([2], jobs)).running) == {f"j{j}" for j in range(6)}


def test_the_queue_is_by_remaining_or_attained_service() -> None:
    jobs = [busy(0, 0, attained_gpu_seconds=9.0), busy(1, 0, attained_gpu_seconds=1.0)]
    assert groups(decide(round_of([1], jobs), "muri-s:group=1")) == [("j0",)]
    assert groups(decide(round_of([1], jobs), "muri-l:group=1")) == [("j1",)]


def test_jobs_do_not_share_where_there_is_room_for_all() -> None:
    decision = decide(round_of([4], [busy(j, j) for j in range(4)]))
    assert groups(decision) == [("j0",), ("j1",), ("j2",), ("j3",)]
    assert {group.period_seconds for group in decision.assignments} == {1.0}


def test_a_group_slower_than_one_after_another_is_dissolved() -> None:
    alike = [gang(j, 1, stage_seconds=(0.0, 1.0, 0.0)) for j in range(2)]
    round_ = three_stages(round_of([1], []))
    round_ = msgspec.structs.replace(round_, jobs=tuple(alike))
    assert groups(decide(round_, "muri-s:preset=authors")) == [("j0",)]
    (slow,) = decide(round_, "muri-s:preset=authors,autopack=off").assignments
    assert slow.jobs == ("j0", "j1")
    assert slow.period_seconds == pytest.approx(2 * 1.33 / 1.015, rel=1e-15)
    (even,) = decide(round_).assignments  # without a slow-down it takes 2 s, no more than one after another
    assert (even.jobs, even.period_seconds) == (("j0", "j1"), 2.0)


def test_a_job_alone_takes_its_iteration_time_or_else_its_stages() -> None:
    said = [busy(j, 0, iteration_seconds=0.75) for j in range(2)]
    assert groups(decide(round_of([1], said), "muri-l")) == [("j0",)]  # together 2 s, one after another 1.5 s
    unsaid = [busy(j, 0, iteration_seconds=None) for j in range(2)]
    assert groups(decide(round_of([1], unsaid), "muri-l")) == [("j0", "j1")]


def test_a_later_job_fills_what_an_earlier_one_cannot_use() -> None:
    decision = decide(round_of([4], [busy(0, 0, 3), busy(1, 1, 2), busy(2, 2, 1)]))
    assert groups(decision) == [("j0",), ("j2",)]
    assert reasons(decision) == {"j1": WaitingReason.CAPACITY}


def test_groups_are_placed_first_fit_and_over_whole_nodes() -> None:
    jobs = [busy(0, 0, 2), busy(1, 1, 10), busy(2, 2, 10)]
    decision = decide(round_of([4, 4, 4, 4], jobs))
    places = {group.jobs: dict(group.gpus) for group in decision.assignments}
    assert places == {("j1", "j2"): {"n0": 4, "n1": 4, "n2": 2}, ("j0",): {"n2": 2}}  # the larger group first
    assert groups(decision) == [("j0",), ("j1", "j2")]  # listed by priority all the same


def test_a_job_larger_than_the_cluster_waits_and_nobody_with_it() -> None:
    decision = decide(round_of([2], [busy(0, 0, 3), busy(1, 1, 2), busy(2, 2, 2)]))
    assert groups(decision) == [("j1", "j2")]
    (wait,) = decision.waiting
    assert (wait.job, wait.reason) == ("j0", WaitingReason.CAPACITY)
    assert wait.detail == "asks for 3 GPUs; the empty cluster has 2"


def test_cpus_and_memory_of_a_group_add_up() -> None:
    node = Node(id="n0", gpus=1, cpus=8, memory_gib=10)
    two = [busy(j, j, cpus=4, memory_gib=5) for j in range(2)]
    (group,) = decide(round_of([node], two)).assignments
    assert (set(group.jobs), group.cpus) == ({"j0", "j1"}, {"n0": 8.0})
    for field in ({"cpus": 4.001}, {"memory_gib": 5.001}):
        decision = decide(round_of([node], [two[0], msgspec.structs.replace(two[1], **field)]))
        assert groups(decision) == [("j0",)]  # the other is no candidate to share with it
        assert reasons(decision) == {"j1": WaitingReason.CAPACITY}


def test_every_job_of_a_group_counts_for_its_quota() -> None:
    jobs = [busy(j, j, 2, tenant="red") for j in range(2)]
    for quota, running in ((4, [("j0", "j1")]), (3, [("j0",)]), (1, [])):
        decision = decide(round_of([2], jobs, [Tenant(id="red", quota_gpus=quota)]))
        assert groups(decision) == running


def test_a_job_beyond_its_quota_does_not_keep_another_from_sharing() -> None:
    jobs = [busy(0, 0, tenant="red"), busy(1, 1, tenant="red"), busy(2, 2, tenant="blue")]
    tenants = [Tenant(id="red", quota_gpus=1), Tenant(id="blue")]
    assert groups(decide(round_of([1], jobs, tenants))) == [("j0", "j2")]


def test_a_job_beyond_its_quota_is_no_candidate() -> None:
    """The jobs that come with a job that fits are the next of its size, itself the first."""
    jobs = [busy(j, 0, tenant="red") for j in range(4)] + [busy(4, 1, tenant="blue")]
    decision = decide(round_of([1], jobs, [Tenant(id="red", quota_gpus=0), Tenant(id="blue")]))
    assert groups(decision) == [("j4",)]
    assert set(reasons(decision).values()) == {WaitingReason.QUOTA}


@pytest.mark.parametrize("resources", [1, 2, 3, 5])
def test_groups_are_no_larger_than_the_resources(resources: int) -> None:
    stages = [tuple(float(r == j % resources) for r in range(resources)) for j in range(6)]
    jobs = tuple(gang(j, 1, stage_seconds=times) for j, times in enumerate(stages))
    round_ = msgspec.structs.replace(round_of([1], []), resources=tuple("abcde"[:resources]), jobs=jobs)
    assert len(decide(round_).running) == {1: 1, 2: 2, 3: 3, 5: 4}[resources]


@pytest.mark.parametrize(
    ("round_", "policy", "field"),
    [
        (round_of([1], [busy(0, 0), gang(1, 1)]), "muri-s", "jobs[1] ('j1').stage_seconds"),
        (round_of([1], [busy(0, 0), gang(1, 0, stage_seconds=(1.0,) * 4)]), "muri-l", "jobs[1] ('j1').gpus"),
        (round_of([1], [busy(0, 0)]), "muri-s:preset=authors", "resources"),
        (round_of([1], [busy(0, 0, iteration_seconds=None)]), "muri-s", "jobs[0] ('j0').iteration_seconds"),
        (round_of([1], [busy(0, 0, attained_gpu_seconds=None)]), "muri-l", "jobs[0] ('j0').attained_gpu_seconds"),
        (round_of([1], []), "muri-s:group=5", "policy 'muri-s'.group"),
        (round_of([1], []), "muri-s:preset=author", "policy 'muri-s'.preset"),
        (round_of([1], []), "muri-l:autopack=yes", "policy 'muri-l'.autopack"),
        (round_of([1], []), "muri-l:packing=3", "parameter of policy 'muri-l'"),
    ],
)
def test_what_cannot_be_decided_is_named(round_: Round, policy: str, field: str) -> None:
    with pytest.raises(InputError) as error:
        solve_round(round_, policy, "heuristic")
    assert error.value.field == field


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["muri-s", "muri-l"])
def test_generated_rounds_are_decided_as_the_verifier_wants(name: str, seed: int) -> None:
    assert len(decide(generate("interleaving", jobs=40, nodes=2, seed=seed), name).running) > 0
