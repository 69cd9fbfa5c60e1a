"""What holds for every decision of ``philly``: the rules, minimal victims, no waste, and rest where nothing changed."""

from hypothesis import given
from more_examples import more_examples
from tenants_rulebook import Ruled

from muri_opt import policy_from
from muri_opt.rounds import after
from muri_opt.testing import tenant_policies, tenant_rounds

MANY = more_examples(80)


def decided(round_, text):
    policy = policy_from(text)
    return Ruled(round_, policy), policy.decide(round_, 0)


@MANY
@given(round_=tenant_rounds(), text=tenant_policies())
def test_every_rule_is_kept(round_, text):
    ruled, decision = decided(round_, text)
    assert ruled.broken(decision) == []
    assert decision == policy_from(text).decide(round_, 1)


@MANY
@given(round_=tenant_rounds(), text=tenant_policies())
def test_nobody_waits_beside_free_gpus_that_would_do(round_, text):
    ruled, decision = decided(round_, text)
    places = ruled.places(decision)
    for one in decision.waiting:
        job = ruled.jobs[one.job]
        if job.state == "waiting" or ruled.policy.migrate == "0":
            assert not ruled.placeable(job, places, ruled.level(job))


@MANY
@given(round_=tenant_rounds(max_nodes=4), text=tenant_policies(without=["migrate"]))
def test_nobody_is_preempted_but_for_a_job_within_its_quota(round_, text):
    ruled, decision = decided(round_, text)
    preempted, places = ruled.preempted(decision), ruled.places(decision)
    used, before = ruled.used(places), ruled.used(ruled.before)
    if preempted:
        gains = [name for name, quota in ruled.quota.items() if used[name] > before[name]]
        free = [job for job in ruled.started(decision) if ruled.quota.get(ruled.jobs[job].tenant) is None]
        assert free or any(before[name] < (ruled.quota[name] or 0) for name in gains)
    for job in ruled.gone(decision):
        # Nobody could have stayed where they were: each gave its place to somebody.
        room = ruled.room(ruled.jobs[job], places)
        assert any(room[name] < gpus for name, gpus in ruled.before[job].items())


@MANY
@given(round_=tenant_rounds(), text=tenant_policies(without=["migrate"]))
def test_deciding_again_changes_nothing(round_, text):
    ruled, decision = decided(round_, text)
    then, again = decided(after(round_, decision), text)
    assert then.places(again) == then.before == ruled.places(decision)
