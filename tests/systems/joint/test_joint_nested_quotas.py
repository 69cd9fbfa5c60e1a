"""Tenants that are part of others, in joint rounds: a quota counts what all tenants below it have."""

from __future__ import annotations

from by_policy import formulation_of
from joint_rounds import SPECS, nested_joint_round
from seeds import chunk_by_chunk

from muri_opt import Cluster, Job, Limits, Node, Round, Tenant, policy_from, solve_round
from muri_opt.solve.exact import optimise, relax
from muri_opt.verify import broken_rules, chapter_of

UNHURRIED = Limits(seconds=None)
STEPS = 2_000_000


def beyond_quotas(round_, decision):
    """Return the tenants that have more than their quota, by going up from each job."""
    tenants = {tenant.id: tenant for tenant in round_.cluster.tenants}
    has = dict.fromkeys(tenants, 0)
    for one in decision.assignments:
        for job in one.jobs:
            at = round_.jobs[round_.job_index[job]].tenant
            while at is not None:
                has[at] += sum(one.gpus.values())
                at = tenants[at].parent
    quotas = {tenant: one.quota_gpus for tenant, one in tenants.items() if one.quota_gpus is not None}
    return [tenant for tenant, quota in quotas.items() if has[tenant] > quota]


@chunk_by_chunk(40, 80, 20)
def test_program_and_enumeration_agree_and_nothing_beats_them(seeds):
    bound = 0
    for seed in seeds:
        round_, policy = nested_joint_round(seed), policy_from(SPECS[seed % len(SPECS)])
        chapter, program = chapter_of(round_, policy.rules), formulation_of(policy)
        best = chapter.optimum(STEPS)
        answer = optimise(round_, program, "highs", UNHURRIED, None)
        decision = policy.decide(round_, 0)
        for found in (answer.decision, decision):
            assert not broken_rules(round_, policy.rules, found), seed
            assert not beyond_quotas(round_, found), seed
        assert chapter.value(answer.decision) == answer.bound == best, seed
        assert chapter.value(decision) <= best, seed
        for prices in (program.quick_duals(round_), relax(round_, program, None)):
            assert chapter.bound(decision, [prices])[0] >= best, seed
        bound += any(wait.reason == "quota" for wait in decision.waiting)
    assert bound >= 2


def test_the_quota_of_a_parent_binds_siblings_that_share():
    stages = {"stage_seconds": (1.0, 0.0, 0.0), "iteration_seconds": 2.0, "remaining_iterations": 10}
    other = stages | {"stage_seconds": (0.0, 1.0, 0.0)}
    jobs = (
        Job(id="a", gpus=1, tenant="left", **stages),
        Job(id="b", gpus=1, tenant="right", **other),
        Job(id="c", gpus=1, **stages),
    )
    tenants = (Tenant(id="left", parent="top"), Tenant(id="right", parent="top"), Tenant(id="top", quota_gpus=1))
    cluster = Cluster(nodes=(Node(id="n0", gpus=2),), tenants=tenants)
    round_ = Round(cluster=cluster, jobs=jobs, resources=("storage", "gpu", "network"))
    result = solve_round(round_, "joint-s", "auto", UNHURRIED)
    assert result.termination.reason == "OPTIMAL"
    has = [job for one in result.decision.assignments for job in one.jobs if job != "c"]
    assert len(has) == 1
    assert [wait.reason for wait in result.decision.waiting] == ["quota"]
