"""Drawn rounds of a multi-tenant cluster are valid, and its rules bind in a fair part of them."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from tenants_rulebook import Ruled

from muri_opt import policy_from
from muri_opt.rounds import canonical_json, parse_round
from muri_opt.testing import tenant_policies, tenant_rounds


@given(round_=tenant_rounds(max_jobs=4, max_nodes=3, max_gpus=3), text=tenant_policies(without=["migrate", "backoff"]))
def test_a_drawn_round_is_valid_and_within_its_sizes(round_, text):
    assert parse_round(canonical_json(round_)) == round_
    assert 1 <= len(round_.jobs) <= 4
    assert 1 <= len(round_.cluster.nodes) <= 3
    assert all(1 <= node.gpus <= 3 for node in round_.cluster.nodes)
    assert all(1 <= job.gpus <= min(6, round_.cluster.total_gpus + 1) for job in round_.jobs)
    policy = policy_from(text)
    assert (policy.migrate, policy.backoff) == ("0", "0")
    policy.check(round_)


@given(round_=tenant_rounds(tight=False))
def test_a_round_that_is_not_tight_has_no_cpus_and_no_memory(round_):
    assert all(node.cpus is node.memory_gib is None for node in round_.cluster.nodes)
    assert all(job.cpus is job.memory_gib is None for job in round_.jobs)


TRAITS = {
    "preempted": 0.02,
    "moved": 0.01,
    "started": 0.2,
    "running": 0.6,
    "borrowing": 0.1,
    "several nodes": 0.1,
    "pinned": 0.1,
    "fragmentation": 0.02,
    "quota": 0.1,
    "capacity": 0.1,
    "backoff": 0.005,
}


@pytest.mark.slow
def test_each_rule_binds_in_a_fair_part_of_the_draws():
    counts = Counter()

    @seed(0)
    @settings(max_examples=200, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(round_=tenant_rounds(), text=tenant_policies())
    def collect(round_, text):
        policy = policy_from(text)
        ruled, decision = Ruled(round_, policy), policy.decide(round_, 0)
        used = ruled.used(ruled.before)
        traits = {
            "preempted": ruled.preempted(decision),
            "moved": ruled.moved(decision),
            "started": ruled.started(decision),
            "running": ruled.before,
            "borrowing": [name for name, quota in ruled.quota.items() if quota is not None and used[name] > quota],
            "several nodes": [held for held in ruled.before.values() if len(held) > 1],
            "pinned": [job for job in ruled.before if ruled.pinned(job)],
        }
        counts.update([*(name for name, found in traits.items() if found), "all"])
        counts.update({str(one.reason) for one in decision.waiting})

    collect()
    for trait, part in TRAITS.items():
        assert counts[trait] >= part * counts["all"], (trait, counts)
