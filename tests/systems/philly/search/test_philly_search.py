"""The whole search: legal, never worse than its start, never better than the optimum or its own bound."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from by_policy import broken_rules, decision_value
from handmade import round_of
from hypothesis import given
from more_examples import more_examples
from philly_search_rounds import optimum, rules_for, status_of, verified_bound

from muri_opt import Job, Node, Round, Tenant
from muri_opt.rounds import Budget, Limits, unlimited
from muri_opt.solve.solvers import relaxation
from muri_opt.systems import policy_from
from muri_opt.systems.philly import placement_decision, program_search as placement_search
from muri_opt.systems.philly.program_search import search_places
from muri_opt.systems.philly.search import place_round
from muri_opt.systems.philly.search.insertion import inserted, waiting
from muri_opt.systems.philly.search.placement_state import Placements
from muri_opt.testing import tenant_policies, tenant_rounds

LIMITS = Limits(seconds=None)
WEIGHTED = "philly:objective=weighted"


@pytest.fixture(autouse=True, scope="module")
def _search_small_rounds() -> Iterator[None]:
    """Let the search look at rounds that are otherwise left to the program."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placement_search, "SMALL", -1)
        yield


@given(tenant_rounds(max_nodes=4), tenant_policies())
@more_examples(50)
def test_a_search_is_legal_and_between_its_start_and_the_optimum(round_: Round, policy: str) -> None:
    start = policy_from(policy).decide(round_, 0)
    found = search_places(round_, rules_for(policy), start, Budget(limits=LIMITS), relaxation)
    assert found is not None
    assert broken_rules(round_, found.decision, policy) == []
    value, best = decision_value(round_, policy, found.decision), optimum(round_, policy)
    assert decision_value(round_, policy, start) <= value <= best
    assert verified_bound(round_, policy, found.duals) >= best


@given(tenant_rounds(max_nodes=4), tenant_policies())
@more_examples(60)
def test_a_value_in_the_making_is_that_of_the_decision(round_: Round, policy: str) -> None:
    status = status_of(round_, policy)
    placements = Placements(round_, status, {job: status.held[job] for job in np.flatnonzero(status.running).tolist()})
    before = placements.value
    count = inserted(placements, waiting(placements), unlimited())
    decision = placement_decision(round_, status, placements.at)
    assert placements.value == decision_value(round_, policy, decision)
    assert placements.value > before if count else placements.value == before
    assert placements.legal
    assert broken_rules(round_, decision, policy) == []


def test_a_small_round_is_left_to_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement_search, "SMALL", 1)
    one, two = ([Node(id=f"n{k}", gpus=1) for k in range(count)] for count in (1, 2))
    jobs = [Job(id="w", gpus=1)]
    assert search_places(round_of(one, jobs), rules_for("philly"), None, Budget(limits=LIMITS), relaxation) is None
    assert search_places(round_of(two, jobs), rules_for("philly"), None, Budget(limits=LIMITS), relaxation) is not None


def test_without_a_start_all_running_jobs_stay_first() -> None:
    jobs = [Job(id="r", gpus=1, state="running", placement={"n": 1}), Job(id="w", gpus=1)]
    round_ = round_of([Node(id="n", gpus=2)], jobs)
    found = search_places(round_, rules_for("philly"), None, Budget(limits=Limits(seconds=600)), relaxation)
    assert found is not None
    assert {a.jobs[0]: dict(a.gpus) for a in found.decision.assignments} == {"r": {"n": 1}, "w": {"n": 1}}


def test_a_start_is_kept_where_time_is_up() -> None:
    jobs = [Job(id="w", gpus=1)]
    round_ = round_of([Node(id="n", gpus=2)], jobs)
    status = status_of(round_, "philly")
    assert place_round(round_, status, {}, Budget(limits=Limits(seconds=0.0)), relaxation).places == {}


def test_a_started_job_makes_room_and_finds_another_place() -> None:
    """A job of two sits where the gang of four must go; the other node has room for it."""
    jobs = [
        Job(id="r", gpus=2, state="running", placement={"n1": 2}),
        Job(id="two", gpus=2),
        Job(id="four", gpus=4),
    ]
    round_ = round_of([Node(id=f"n{s}", gpus=4) for s in range(2)], jobs)
    status = status_of(round_, WEIGHTED)
    placements = Placements(round_, status, {0: {1: 2}, 1: {0: 2}})
    assert inserted(placements, [2], unlimited()) == 1
    assert placements.at == {0: {1: 2}, 1: {1: 2}, 2: {0: 4}}


def victim_round(load: float) -> tuple[Round, str]:
    jobs = [
        Job(id="over", gpus=2, state="running", placement={"n": 2}, tenant="a", restart_seconds=1.0),
        Job(id="within", gpus=4, tenant="b"),
    ]
    tenants = (Tenant(id="a", quota_gpus=0), Tenant(id="b", quota_gpus=4))
    return round_of([Node(id="n", gpus=4), Node(id="m", gpus=2)], jobs, tenants=tenants), f"philly:preempt_at={load}"


@pytest.mark.parametrize("load", [1, 0.5])
@pytest.mark.parametrize(("room", "gone"), [(1, ["over"]), (2, [])])
def test_a_victim_goes_where_that_pays_and_starts_again_where_there_is_room(
    load: float, room: int, gone: list[str]
) -> None:
    round_, policy = victim_round(load)
    round_ = round_of([Node(id="n", gpus=4), Node(id="m", gpus=room)], round_.jobs, tenants=round_.cluster.tenants)
    found = search_places(round_, rules_for(policy), None, Budget(limits=LIMITS), relaxation)
    assert found is not None
    assert [wait.job for wait in found.decision.waiting] == gone
    assert "within" in found.decision.running
    assert decision_value(round_, policy, found.decision) == optimum(round_, policy)


def test_no_victim_goes_below_the_load() -> None:
    round_, policy = victim_round(1)
    larger = round_of([*round_.cluster.nodes, Node(id="k", gpus=1)], round_.jobs, tenants=round_.cluster.tenants)
    found = search_places(larger, rules_for(policy), None, Budget(limits=LIMITS), relaxation)
    assert found is not None
    assert [wait.job for wait in found.decision.waiting] == ["within"]


def test_a_victim_whose_place_stays_free_comes_back() -> None:
    """The start preempts a job and puts nobody in its place."""
    round_, policy = victim_round(0.5)
    placements = Placements(round_, status_of(round_, policy), {})
    assert inserted(placements, [], unlimited()) == 0
    assert placements.at == {0: {0: 2}}


def test_equal_jobs_are_tried_once_and_jobs_that_run_are_left_alone() -> None:
    round_ = round_of([Node(id="n", gpus=1)], [Job(id=f"w{j}", gpus=1) for j in range(3)])
    placements = Placements(round_, status_of(round_, WEIGHTED), {0: {0: 1}})
    assert inserted(placements, [0, 1, 2], unlimited()) == 0
    assert placements.at == {0: {0: 1}}


def test_places_over_the_budget_are_not_legal() -> None:
    jobs = [Job(id="r", gpus=2, state="running", placement={"n0": 2}, restart_seconds=1.0)]
    round_ = round_of([Node(id=f"n{s}", gpus=2) for s in range(2)], jobs)
    for budget, legal in ((1, False), (2, True)):
        placements = Placements(round_, status_of(round_, f"philly:migrate={budget}"), {0: {1: 2}})
        assert placements.legal == legal
