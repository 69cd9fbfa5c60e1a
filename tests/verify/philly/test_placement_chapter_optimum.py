"""The enumerated optimum of small multi-tenant rounds: known answers, and everything tried one by one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from alterations import placed, rules_broken_by
from by_policy import broken_rules, decision_value, enumerated_optimum, settings_of
from handmade import round_of
from hypothesis import event, given
from more_examples import more_examples
from placement_answers import decision_of, nodes, reading_of, result_of, running, waiting

from muri_opt import Decision, Round, Tenant, Waiting, WaitingReason
from muri_opt.testing import tenant_policies, tenant_rounds
from muri_opt.verify.philly.optimum import best_places, placement_optimum


def best(round_: Round, policy: str = "philly", *, steps: int = 200_000) -> dict[str, dict[str, int]]:
    """Return the best places; their value is checked."""
    tenancy = settings_of(policy)
    assert tenancy is not None
    found = best_places(round_, tenancy, steps=steps)
    assert found is not None
    value, places = found
    decision = decision_of(round_, policy, places)
    assert value == decision_value(round_, policy, decision) == placement_optimum(round_, tenancy)
    assert rules_broken_by(round_, result_of(round_, policy, decision)) == set()
    return places


def splits(gpus: int, names: list[str]) -> Iterator[dict[str, int]]:
    for counts in product(range(gpus + 1), repeat=len(names)):
        if sum(counts) == gpus:
            yield {name: count for name, count in zip(names, counts, strict=True) if count}


def naive_optimum(round_: Round, policy: str) -> int:
    """Return the largest value of any decision in which no rule is found broken, by trying all of them."""
    names = [node.id for node in round_.cluster.nodes]
    rules = policy
    found = []
    for outcome in product(*([None, *splits(job.gpus, names)] for job in round_.jobs)):
        places = {job.id: held for job, held in zip(round_.jobs, outcome, strict=True) if held is not None}
        decision = plain_decision(round_, places)
        if not broken_rules(round_, decision, rules):
            found.append(decision_value(round_, policy, decision))
    return max(found)


def plain_decision(round_: Round, places: dict[str, dict[str, int]]) -> Decision:
    """Return the decision with all waiting jobs listed, whatever the reason."""
    return Decision(
        assignments=tuple(placed(job, places[job.id]) for job in round_.jobs if job.id in places),
        waiting=tuple(
            Waiting(job=job.id, reason=WaitingReason.PRIORITY, detail="", remedy="")
            for job in round_.jobs
            if job.id not in places
        ),
    )


@given(tenant_rounds(max_jobs=3, max_nodes=2, max_gpus=2), tenant_policies())
@more_examples(100)
def test_enumeration_equals_trying_everything_on_two_nodes(round_: Round, policy: str) -> None:
    assert enumerated_optimum(round_, policy) == naive_optimum(round_, policy)


@given(tenant_rounds(max_jobs=2, max_nodes=3, max_gpus=3), tenant_policies())
@more_examples(60)
def test_enumeration_equals_trying_everything_on_three_nodes(round_: Round, policy: str) -> None:
    assert enumerated_optimum(round_, policy) == naive_optimum(round_, policy)


@given(tenant_rounds(max_jobs=3, max_nodes=2, max_gpus=2), tenant_policies(without=("dedicated", "migrate")))
@more_examples(80)
def test_enumeration_knows_who_may_be_beside_whom(round_: Round, policy: str) -> None:
    policy = f"{policy}{',' if ':' in policy else ':'}dedicated=2,migrate=inf"
    assert enumerated_optimum(round_, policy) == naive_optimum(round_, policy)


def test_a_gang_that_is_alone_stays_beside_others_and_goes_to_none() -> None:
    small, gang = running("small", 1, {"n0": 1}, restart=None), running("gang", 2, {"n0": 2}, restart=None)
    for jobs, started in [
        ([small, waiting("new", 2)], False),
        ([gang, waiting("new", 1)], False),
        ([small, gang, waiting("new", 1)], False),
        ([small, waiting("new", 1)], True),
        ([waiting("new", 2)], True),
    ]:
        round_ = round_of(nodes(4), jobs)
        places = best(round_, "philly:dedicated=2")
        assert ("new" in places) == started
        assert len(places) == len(jobs) - 1 + started


def test_nobody_new_comes_to_a_gang_that_is_alone_and_stays() -> None:
    """The gang is decided after the job that would come to it, and has nowhere else to go."""
    round_ = round_of(nodes(4), [waiting("new", 1), running("gang", 2, {"n0": 2})])
    assert best(round_, "philly:dedicated=2,migrate=inf") == {"gang": {"n0": 2}}


def test_equal_rooms_differ_by_the_quotas_that_are_left() -> None:
    """The oldest job is worth most by itself, but its tenant has no quota."""
    jobs = [
        waiting("old", 1, 86_400.0, tenant="red"),
        waiting("due", 1, tenant="blue"),
        waiting("late", 1, tenant="red"),
    ]
    tenants = [Tenant(id="red", quota_gpus=0), Tenant(id="blue", quota_gpus=1)]
    assert best(round_of(nodes(1), jobs, tenants)) == {"due": {"n0": 1}}


@given(tenant_rounds(max_nodes=4), tenant_policies())
@more_examples(100)
def test_the_best_places_have_the_value_and_keep_the_rules(round_: Round, policy: str) -> None:
    reading = reading_of(round_, policy)
    places = best(round_, policy)
    now = {job: stand.held for job, stand in enumerate(reading.stands) if stand.running}
    assert placement_optimum(round_, reading.tenancy) >= reading.value(now)
    before = {job.id: dict(job.placement or {}) for job in round_.jobs if job.state == "running"}
    event("changed" if places != before else "nothing changed")
    event("preempted" if before.keys() - places.keys() else "nobody preempted")
    event("moved" if any(places.get(job, held) != held for job, held in before.items()) else "nobody moved")


def test_a_job_starts_where_there_is_room() -> None:
    round_ = round_of(nodes(4, 2), [waiting("two", 2)])
    reading = reading_of(round_, "philly")
    assert (reading.premium, reading.penalty) == (2501, 2501)
    assert placement_optimum(round_, reading.tenancy) == 2 * 2501 + 2 * 1000
    assert sum(best(round_)["two"].values()) == 2


THREE_SERVERS = round_of(
    nodes(8, 8, 8),
    [
        *(
            running(f"j{s}-{g}", g, {f"n{s}": g})
            for s, loads in enumerate([(4, 2, 1), (4, 2), (4, 2, 1)])
            for g in loads
        ),
        waiting("gang", 4),
    ],
)


def test_a_gang_of_four_waits_unless_others_are_moved() -> None:
    """One, two and one GPUs are free: two moves of three GPUs in all bring four together, and none cheaper."""
    before = {job.id: dict(job.placement or {}) for job in THREE_SERVERS.jobs if job.state == "running"}
    assert best(THREE_SERVERS) == before
    for policy in ("philly:migrate=inf", "philly:migrate=3"):
        places = best(THREE_SERVERS, policy)
        moved = [job.gpus for job in THREE_SERVERS.jobs if job.state == "running" and places[job.id] != job.placement]
        assert sorted(moved) == [1, 2]
        assert sum(places["gang"].values()) == 4
        assert len(places["gang"]) == 1
    assert best(THREE_SERVERS, "philly:migrate=2") == before


FOUR_NODES = [
    *(running(f"high-{s}-{j}", 1, {f"n{s}": 1}, restart=None, tenant="high") for s in range(4) for j in range(6)),
    *(running(f"low-{s}-{j}", 1, {f"n{s}": 1}, tenant="low") for s in range(4) for j in range(2)),
]
HIGH_AND_LOW = (Tenant(id="high", quota_gpus=32), Tenant(id="low", quota_gpus=0))


@pytest.mark.parametrize(("gpus", "evicted"), [(8, 0), (1, 1), (2, 2)])
def test_nobody_is_evicted_for_what_cannot_start(gpus: int, evicted: int) -> None:
    round_ = round_of(nodes(8, 8, 8, 8), [*FOUR_NODES, waiting("new", gpus, tenant="high")], HIGH_AND_LOW)
    places = best(round_)
    assert sum(1 for job in FOUR_NODES if job.id not in places) == evicted
    assert ("new" in places) == (evicted > 0)


def test_the_step_budget_is_kept() -> None:
    tenancy = settings_of("philly:migrate=inf")
    assert tenancy is not None
    value = placement_optimum(THREE_SERVERS, tenancy)
    assert value is not None
    assert placement_optimum(THREE_SERVERS, tenancy, steps=20) is None
    assert enumerated_optimum(THREE_SERVERS, "philly:migrate=inf", steps=200_000) == value


def test_more_jobs_than_a_recursion_can_hold_are_gone_through() -> None:
    round_ = round_of(nodes(1), [waiting(f"j{j}", 1) for j in range(1500)])
    reading = reading_of(round_, "philly")
    assert enumerated_optimum(round_, "philly") == reading.premium + 1000


def test_a_round_without_jobs_or_nodes_is_worth_nothing() -> None:
    assert enumerated_optimum(round_of(nodes(2), []), "philly") == 0
    assert enumerated_optimum(round_of([], [waiting("two", 2)]), "philly") == 0
