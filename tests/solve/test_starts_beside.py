"""Who fits beside an answer starts, where that is worth no less: an answer that was cut short leaves no GPUs idle."""

from __future__ import annotations

import pytest
from asked_rounds import GROUPS, asked_round
from seeds import some_then_all

from muri_opt import Cluster, Decision, Job, Limits, Node, Round, Tenant, policy_from, solve_round
from muri_opt.solve.search import Search
from muri_opt.solve.starts_beside import start_beside


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("policy", ["fifo", "srtf", "joint-s", "philly", "deadline"])
@some_then_all(6, 24)
def test_beside_any_part_of_an_answer_others_start_and_no_rule_is_broken(seeds: range, group: str, policy: str) -> None:
    chosen, more = policy_from(policy), 0
    for seed in seeds:
        round_ = asked_round(seed, group, most_jobs=6)
        try:
            own = chosen.decide(round_, 0)
        except ValueError:  # what the policy refuses
            continue
        search = Search(round_=round_, policy=chosen, method="auto", limits=Limits(seconds=None))
        some = search.audit.completed(Decision(assignments=own.assignments[: len(own.assignments) // 2]))
        if search.audit.breaches(some):
            continue
        search.decision, search.value = some, search.audit.value(some)
        start_beside(search)
        assert not search.audit.breaches(search.decision)
        assert search.value == search.audit.value(search.decision) >= search.audit.value(some)
        assert set(some.running) <= set(search.decision.running)
        more += len(search.decision.running) > len(some.running)
    assert policy != "fifo" or group == "pins" or more


def test_a_job_that_loses_all_its_worth_by_a_change_goes_on_with_what_its_quota_leaves() -> None:
    """Its tenant has half of the quota that it had, and its restart takes as long as the horizon."""
    job = Job(
        id="a",
        gpus=4,
        tenant="t",
        remaining_iterations=1_000,
        iteration_seconds=1.0,
        scaling={1: 1.0, 2: 1.9, 3: 2.6, 4: 3.2},
        state="running",
        placement={"n": 4},
        restart_seconds=600.0,
    )
    cluster = Cluster(nodes=(Node(id="n", gpus=4),), tenants=(Tenant(id="t", quota_gpus=2),))
    result = solve_round(Round(cluster=cluster, jobs=(job,)), "joint-s")
    assert [dict(one.gpus) for one in result.answer.assignments] == [{"n": 2}]
    assert result.certificate.feasible
