"""Every change that a waiting job names starts it, and none is larger than it must be."""

from __future__ import annotations

from itertools import combinations

import msgspec
import pytest
from by_policy import wrong_reasons
from hypothesis import given
from more_examples import more_examples

from muri_opt import Cluster, Decision, Job, Node, Round, Waiting
from muri_opt.rounds import Change, after, changed
from muri_opt.systems import policy_from
from muri_opt.systems.philly import JobStatus, PhillyPolicy, waiting_changes
from muri_opt.systems.philly.cluster_state import ClusterState, find_placement
from muri_opt.systems.philly.locality import TOGETHER
from muri_opt.testing.strategies_tenants import tenant_policies, tenant_rounds


def decided(round_: Round, text: str) -> tuple[PhillyPolicy, Decision]:
    policy = policy_from(text)
    assert isinstance(policy, PhillyPolicy)
    return policy, policy.decide(round_, 0)


def starts(policy: PhillyPolicy, round_: Round, decision: Decision, wait: Waiting, change: Change) -> bool:
    """Return whether the policy starts the job once the change is made and nobody else waits."""
    return wait.job in policy.decide(changed(round_, decision, wait.job, change), 0).running


def has_room(policy: PhillyPolicy, round_: Round, decision: Decision, job: str, change: Change) -> bool:
    """Return whether the job finds room at its level once the change is made, with nobody preempted or moved for it."""
    then = changed(round_, decision, job, change)
    status, place = JobStatus.of(then, policy.tenant_rules), then.job_index[job]
    return find_placement(ClusterState(then, status), place, int(status.widest[place])) is not None


def kind(change: Change) -> str:
    (found,) = [
        name
        for name, there in (
            ("preempt", bool(change.preempt)),
            ("move", bool(change.move)),
            ("add", change.add_gpus is not None),
            ("wait", not change.preempt and not change.move and change.add_gpus is None),
        )
        if there
    ]
    return found


@given(tenant_rounds(), tenant_policies())
@more_examples(180)
def test_every_change_starts_the_job_it_is_for(round_: Round, text: str) -> None:
    policy, decision = decided(round_, text)
    for wait in decision.waiting:
        kinds = [kind(change) for change in wait.changes]
        assert len(set(kinds)) == len(kinds) > 0
        for change in wait.changes:
            assert starts(policy, round_, decision, wait, change), change


@given(tenant_rounds(), tenant_policies())
@more_examples(70)
def test_the_soonest_change_is_first_and_a_further_node_the_last_of_them(round_: Round, text: str) -> None:
    _, decision = decided(round_, text)
    for wait in decision.waiting:
        keys = [(c.wait_seconds or 0.0, c.add_gpus is not None, c.gpus, bool(c.preempt)) for c in wait.changes]
        assert keys == sorted(keys)
        jobs = round_.job_index
        for change in wait.changes:
            named = sum(round_.jobs[jobs[job]].gpus for job in (*change.preempt, *change.move))
            assert change.gpus == named + (change.add_gpus or 0)
            assert all(round_.jobs[jobs[job]].restart_seconds is not None for job in (*change.preempt, *change.move))


@given(tenant_rounds(), tenant_policies())
@more_examples(110)
def test_a_microsecond_less_is_too_early(round_: Round, text: str) -> None:
    policy, decision = decided(round_, text)
    for wait in decision.waiting:
        for change in wait.changes:
            if change.wait_seconds:
                earlier = msgspec.structs.replace(change, wait_seconds=change.wait_seconds - 1e-6)
                assert not has_room(policy, round_, decision, wait.job, earlier)


@given(tenant_rounds(max_jobs=5), tenant_policies())
@more_examples(80)
def test_no_smaller_node_helps_in_any_rack(round_: Round, text: str) -> None:
    policy, decision = decided(round_, text)
    racks = dict.fromkeys([*(node.rack for node in round_.cluster.nodes), None])
    for wait in decision.waiting:
        for change in wait.changes:
            for gpus in range(1, change.add_gpus or 1):
                for rack in racks:
                    less = msgspec.structs.replace(change, add_gpus=gpus, rack=rack)
                    assert not has_room(policy, round_, decision, wait.job, less)


@given(tenant_rounds(max_jobs=6), tenant_policies())
@more_examples(110)
def test_no_smaller_set_of_jobs_makes_room(round_: Round, text: str) -> None:
    policy, decision = decided(round_, text)
    then = after(round_, decision)
    status = JobStatus.of(then, policy.tenant_rules)
    for wait in decision.waiting:
        place = then.job_index[wait.job]
        # A gang that may spread looks for victims in a few racks only; they are the fewest where it must sit on a node.
        one_node = status.locality.fewest[place] == 1 and status.widest[place] == TOGETHER
        for change in (change for change in wait.changes if change.preempt):
            able = [job.id for job in then.jobs if job.state == "running" and job.restart_seconds is not None]
            assert set(change.preempt) <= set(able)
            for number in range(len(able) + 1):
                for some in combinations(able, number):
                    gpus = sum(then.jobs[then.job_index[job]].gpus for job in some)
                    if set(some) < set(change.preempt) or (one_node and gpus < change.gpus):
                        less = msgspec.structs.replace(change, preempt=some)
                        assert not has_room(policy, round_, decision, wait.job, less), some


@given(tenant_rounds(), tenant_policies())
@more_examples(110)
def test_reasons_are_those_that_the_verifier_finds(round_: Round, text: str) -> None:
    _, decision = decided(round_, text)
    assert list(wrong_reasons(round_, decision, text)) == []


def test_moves_and_preemptions_are_looked_for_a_bounded_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = Job(id="r", gpus=4, state="running", placement={"n0": 4}, restart_seconds=1.0)
    jobs = (busy, *(Job(id=f"w{gpus}", gpus=gpus) for gpus in (1, 2)), Job(id="again", gpus=1))
    round_ = Round(cluster=Cluster(nodes=(Node(id="n0", gpus=4),)), jobs=jobs)
    kinds = {wait.job: [kind(c) for c in wait.changes] for wait in decided(round_, "philly")[1].waiting}
    assert kinds == {"w1": ["preempt", "add"], "w2": ["preempt", "add"], "again": ["preempt", "add"]}
    monkeypatch.setattr(waiting_changes, "MOST_SEARCHES", 1)
    kinds = {wait.job: [kind(c) for c in wait.changes] for wait in decided(round_, "philly")[1].waiting}
    assert kinds == {"w1": ["preempt", "add"], "w2": ["add"], "again": ["preempt", "add"]}
