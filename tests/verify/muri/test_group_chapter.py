"""Wrong answers of Muri are rejected by the rule they break."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import pytest
from alterations import changed_first, claiming, decided, replace, rules_broken_by, with_assignments
from by_policy import under
from handmade import gang, round_of

from muri_opt import Node, Result, Tenant, WaitingReason, solve_round
from muri_opt.systems.muri.interleaving import best_period
from muri_opt.verify.muri.rules import Sharing

# Jobs 0 to 3 share one GPU, 4 and 5 two others; 6 waits for its tenant's quota, 7 for GPUs.
STAGES = (
    (9, 1, 2, 0),
    (1, 8, 0, 1),
    (0, 2, 7, 1),
    (1, 0, 3, 8),
    (5, 5, 1, 0),
    (0, 1, 6, 4),
    (1, 1, 1, 1),
    (2, 0, 0, 1),
)
SHARED = round_of(
    [Node(id="n0", gpus=1, cpus=16), Node(id="n1", gpus=2, cpus=32)],
    [
        gang(
            j,
            {4: 2, 5: 2, 7: 3}.get(j, 1),
            stage_seconds=tuple(map(float, times)),
            iteration_seconds=float(sum(times)),
            remaining_iterations=1,
            cpus=2 * {4: 2, 5: 2}.get(j, 1),
            tenant={6: "red", 7: None}.get(j, "blue"),
        )
        for j, times in enumerate(STAGES)
    ],
    [Tenant(id="red", quota_gpus=0), Tenant(id="blue", quota_gpus=8)],
)


@pytest.fixture(scope="module")
def right() -> Result:
    result = solve_round(SHARED, "muri-l", "heuristic")
    assert rules_broken_by(SHARED, result) == set()
    four, two = decided(result).assignments
    assert (set(four.jobs), dict(four.gpus), dict(four.cpus)) == ({"j0", "j1", "j2", "j3"}, {"n0": 1}, {"n0": 8.0})
    assert (set(two.jobs), dict(two.gpus), dict(two.cpus)) == ({"j4", "j5"}, {"n1": 2}, {"n1": 8.0})
    reasons = {wait.job: wait.reason for wait in decided(result).waiting}
    assert reasons == {"j6": WaitingReason.QUOTA, "j7": WaitingReason.CAPACITY}
    return result


def waiting_without(result: Result, job: str) -> tuple[object, ...]:
    return tuple(wait for wait in decided(result).waiting if wait.job != job)


def five_in_a_group(result: Result) -> Result:
    four, two = decided(result).assignments
    five = replace(four, jobs=(*four.jobs, "j6"), order=(*four.order, 4))
    return with_assignments(result, five, two, waiting=waiting_without(result, "j6"))


def another_gpu_count(result: Result) -> Result:
    four, two = decided(result).assignments
    mixed = replace(four, jobs=(*four.jobs[:3], "j7"))
    return with_assignments(result, mixed, two, waiting=waiting_without(result, "j7"))


def slow_order(result: Result) -> Result:
    four = decided(result).assignments[0]
    members = [SHARED.jobs[SHARED.job_index[job]] for job in four.jobs]
    sharing = Sharing()
    slow = max(permutations(range(4)), key=lambda order: sharing.period(members, order))
    return changed_first(result, order=slow)


def one_job_in_two_groups(result: Result) -> Result:
    four, two = decided(result).assignments
    (first,) = (job for job in SHARED.jobs if job.id == four.jobs[0])
    again = replace(four, jobs=(first.id,), order=(0,), cpus={"n0": 2.0}, period_seconds=first.iteration_seconds)
    return with_assignments(result, four, two, again)


def one_job_twice_in_its_group(result: Result) -> Result:
    four, two = decided(result).assignments
    twice = best_period([SHARED.jobs[SHARED.job_index[two.jobs[0]]].stage_seconds] * 2)
    pair = replace(two, jobs=two.jobs[:1] * 2, order=twice.order, period_seconds=twice.period_seconds)
    return with_assignments(result, four, pair)


def alone_beside_its_group(result: Result) -> Result:
    """The last job of the group runs on GPUs of its own, which the node does not have."""
    four, two = decided(result).assignments
    (last,) = (job for job in SHARED.jobs if job.id == four.jobs[-1])
    alone = replace(four, jobs=(last.id,), order=(0,), cpus={"n0": 2.0}, period_seconds=last.iteration_seconds)
    members = [SHARED.jobs[SHARED.job_index[job]] for job in four.jobs[:3]]
    best = best_period([job.stage_seconds for job in members])
    three = replace(four, jobs=four.jobs[:3], order=best.order, cpus={"n0": 6.0}, period_seconds=best.period_seconds)
    return with_assignments(result, three, alone, two)


def started_beyond_its_quota(result: Result) -> Result:
    four, two = decided(result).assignments
    alone = replace(four, jobs=("j6",), order=(0,), cpus={"n0": 2.0}, period_seconds=4.0)
    waits = [
        replace(wait, job=job) for wait in decided(result).waiting if wait.job == "j7" for job in ("j7", *four.jobs)
    ]
    return with_assignments(result, alone, two, waiting=tuple(waits))


MUTANTS: list[tuple[Callable[[Result], Result], str]] = [
    (five_in_a_group, "group-size"),
    (lambda result: under(result, "muri-l:group=3"), "group-size"),
    (another_gpu_count, "equal-gpus"),
    (slow_order, "order"),
    (lambda result: changed_first(result, order=(0, 1, 2, 2)), "order"),
    (
        lambda result: changed_first(result, period_seconds=decided(result).assignments[0].period_seconds * 1.000001),
        "period",
    ),
    (lambda result: changed_first(result, period_seconds=None), "period"),
    (lambda result: replace(result, value=result.value + 1), "value"),
    (lambda result: claiming(result, bound=result.value - 1), "bound"),
    (one_job_in_two_groups, "job-once"),
    (one_job_twice_in_its_group, "job-once"),
    (alone_beside_its_group, "gpu-capacity"),
    (lambda result: changed_first(result, cpus={"n0": 2.0}), "cpus-with-gpus"),
    (lambda result: changed_first(result, gpus={"n1": 2}, cpus={"n1": 16.0}), "gang"),
    (started_beyond_its_quota, "quota"),
]


@pytest.mark.parametrize(("mutate", "rule"), MUTANTS)
def test_a_wrong_answer_is_rejected_by_its_rule(mutate: Callable[[Result], Result], rule: str, right: Result) -> None:
    broken = rules_broken_by(SHARED, mutate(right))
    assert rule in broken
    assert broken <= {
        rule,
        "bound",
        "gap",
        "termination",
        "value",
        "waiting-listed",
        "changes",
    }  # with other jobs the value changes, and some are not listed


@pytest.mark.parametrize(("cpus", "quota", "rule"), [(7.999, 8, "cpu-capacity"), (16.0, 7, "quota"), (8.0, 8, None)])
def test_all_jobs_of_a_group_count(cpus: float, quota: int, rule: str | None, right: Result) -> None:
    nodes = (replace(SHARED.cluster.nodes[0], cpus=cpus), SHARED.cluster.nodes[1])
    tenants = (SHARED.cluster.tenants[0], replace(SHARED.cluster.tenants[1], quota_gpus=quota))
    round_ = replace(SHARED, cluster=replace(SHARED.cluster, nodes=nodes, tenants=tenants))
    assert rules_broken_by(round_, replace(right, fingerprint=round_.fingerprint)) == ({rule} if rule else set())


@pytest.mark.parametrize(
    ("resources", "policy", "most"),
    [
        (3, "muri-l", 3),
        (2, "muri-l:pattern=muri-cyclic", 2),
        (4, "muri-l:preset=authors", 1),
        (3, "muri-l:preset=authors", 4),
        (4, "muri-l:preset=authors,pattern=cyclic", 4),
        (3, "muri-l:pattern=muri-4slot-steady", 4),
    ],
)
def test_a_group_has_no_more_jobs_than_slots(resources: int, policy: str, most: int) -> None:
    jobs = tuple(gang(j, 1, stage_seconds=(1.0,) * resources) for j in range(4))
    round_ = replace(round_of([1], []), resources=tuple("abcd"[:resources]), jobs=jobs)
    alone = solve_round(round_, "muri-l:group=1", "heuristic")
    (first,) = decided(alone).assignments
    group = replace(first, jobs=("j0", "j1", "j2", "j3"), order=(0, 1, 2, 3))
    broken = rules_broken_by(round_, under(with_assignments(alone, group, waiting=()), policy))
    assert ("group-size" in broken) == (most < 4)
