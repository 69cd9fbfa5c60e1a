"""Drawn workloads: what holds of every replay, and list schedules on arrays against rounds."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from more_examples import more_examples
from msgspec import structs
from replay_watch import cluster_of, job, watched, work_of, workloads

from muri_opt import Node, Tenant
from muri_opt.errors import InputError
from muri_opt.replay import JobOutcomes, Workload
from muri_opt.replay.engine.engine import Engine
from muri_opt.replay.engine.list_scheduler import NAMES, ListScheduler
from muri_opt.replay.engine.round_scheduler import RoundScheduler
from muri_opt.replay.run import replay
from muri_opt.rounds import Cluster
from muri_opt.systems import policy_from

SOLO = (*NAMES, "tiresias:queues=4/12", "max-min", "philly", "srsf:nodes=fewest", "tiresias:queues=4,knob=1")
FAST = (*NAMES, "tiresias:queues=4/12", "tiresias:queues=0.5/2/7")
INTERVALS = st.sampled_from([None, None, 2.5, 4.0])  # longer than any restart, so that all come to an end


def assert_same(one: JobOutcomes, other: JobOutcomes, *but: str) -> None:
    for name in {field.name for field in fields(JobOutcomes)} - {*but}:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def that_ends(work: Workload, policy: str) -> Workload:
    """Return the workload, without restarts where jobs are promoted: else they may stop each other for ever."""
    if "knob" not in policy:
        return work
    return Workload.of(work.name, [structs.replace(job, restart_seconds=None) for job in work.jobs])


def scheduler(policy: str, work: Workload, cluster: Cluster, *, fast: bool):
    return ListScheduler(work, cluster, policy) if fast else RoundScheduler(work, cluster, policy)


@more_examples(100)
@given(workloads(4, 10), st.sampled_from(FAST), INTERVALS)
def test_on_one_node_arrays_decide_as_rounds_do(work, policy, interval):
    cluster = cluster_of(4)
    fast, slow = (replay(work, cluster, policy, interval=interval, fast=fast) for fast in (True, False))
    assert_same(fast.jobs, slow.jobs)
    assert fast.rounds == slow.rounds
    for field in fields(fast.timeline):
        assert np.array_equal(getattr(fast.timeline, field.name), getattr(slow.timeline, field.name)), field.name


@more_examples(80)
@given(st.data(), st.sampled_from([[4], [2, 2], [1, 2, 3], [4, 0, 2]]))
def test_accounts_agree_with_who_watched(data, nodes):
    cluster = cluster_of(*nodes)
    work = data.draw(workloads(sum(nodes)))
    fast = data.draw(st.booleans())
    policy = data.draw(st.sampled_from(FAST if fast else SOLO))
    work = that_ends(work, policy)
    engine, watch = watched(scheduler(policy, work, cluster, fast=fast), work, cluster)
    jobs, total = engine.outcomes(), np.array([job.remaining_iterations for job in work.jobs])
    np.testing.assert_allclose(watch.done, total, rtol=0, atol=1e-9)
    assert jobs.gpu_seconds.sum() == pytest.approx(watch.gpu_seconds, abs=1e-9)
    assert jobs.gpu_seconds.sum() == pytest.approx(engine.busy_seconds, abs=1e-9)
    np.testing.assert_allclose(jobs.gpu_seconds, jobs.held * jobs.gpus, atol=1e-9)
    np.testing.assert_allclose(jobs.held, jobs.ideal + jobs.lost / jobs.gpus, atol=1e-9)
    waited = jobs.fairness + jobs.fragmentation + jobs.capacity
    np.testing.assert_allclose(jobs.completion, jobs.held + waited, atol=1e-9)
    assert (jobs.completion >= jobs.ideal - 1e-9).all()
    assert (jobs.started >= jobs.submitted).all()
    assert (jobs.restarts == jobs.preemptions + jobs.migrations).all()
    line = engine.timeline()
    assert (line.busy == line.nodes.sum(axis=1)).all()
    assert (line.nodes <= [node.gpus for node in cluster.nodes]).all()
    assert (line.busy[:-1] @ np.diff(line.seconds)) == pytest.approx(engine.busy_seconds, abs=1e-9)
    assert (line.queue[:-1] @ np.diff(line.seconds)) == pytest.approx(waited.sum(), abs=1e-9)
    assert (line.running[:-1] @ np.diff(line.seconds)) == pytest.approx(jobs.held.sum(), abs=1e-9)
    assert (engine.state.live.free == engine.state.whole).all()


@settings(max_examples=25)
@given(workloads(6), st.sampled_from(SOLO), st.booleans(), INTERVALS)
def test_a_replay_repeats_itself_and_does_not_read_names(work, policy, fast, interval):
    policy, cluster = policy if not fast else "las", cluster_of(2, 3, 1)
    work = that_ends(work, policy)
    first = replay(work, cluster, policy, fast=fast, interval=interval)
    again = replay(work, cluster, policy, fast=fast, interval=interval)
    assert_same(first.jobs, again.jobs)
    renamed = Workload(
        name=work.name, jobs=tuple(structs.replace(job, id=f"z{99 - at}") for at, job in enumerate(work.jobs))
    )
    assert_same(first.jobs, replay(renamed, cluster, policy, fast=fast, interval=interval).jobs, "ids")


@more_examples(40)
@given(workloads(6), st.sampled_from(FAST))
def test_arrays_never_move_a_job_that_runs(work, policy):
    found = replay(work, cluster_of(2, 3, 1), policy, fast=True)
    assert found.jobs.migrations.sum() == 0
    assert (found.jobs.restarts == found.jobs.preemptions).all()


def test_grouped_jobs_share_what_is_counted():
    stages = [(0.0, 0.3, 0.6, 0.1), (0.1, 0.2, 0.2, 0.5), (0.5, 0.3, 0.1, 0.1), (0.0, 0.0, 1.0, 0.0)]
    work = work_of(
        *(
            job(f"j{at}", at // 3, 10 + at, 1 + at % 2, stage_seconds=stages[at % 4], restart_seconds=1)
            for at in range(12)
        )
    )
    cluster = cluster_of(2, 2)
    for policy in ("muri-s", "muri-l", "muri-s:preset=authors,pattern=cyclic"):
        engine, watch = watched(RoundScheduler(work, cluster, policy), work, cluster)
        jobs = engine.outcomes()
        np.testing.assert_allclose(watch.done, [job.remaining_iterations for job in work.jobs], atol=1e-9)
        assert jobs.gpu_seconds.sum() == pytest.approx(watch.gpu_seconds, abs=1e-9)
        assert jobs.gpu_seconds.sum() == pytest.approx(engine.busy_seconds, abs=1e-9)
        assert (jobs.gpu_seconds < (jobs.held * jobs.gpus) - 1e-9).any()


@pytest.mark.parametrize("policy", ["afs-l", "afs-p:quantum=3", "optimus", "max-min-elastic", "srtf-elastic"])
def test_elastic_jobs_do_all_their_work(policy):
    curve = {1: 1.0, 2: 1.8, 3: 2.0, 4: 2.1}
    work = work_of(*(job(f"j{at}", at, 5 + 3 * at, 1 + at % 3, scaling=curve, restart_seconds=0.5) for at in range(9)))
    cluster = cluster_of(2, 3)
    engine, watch = watched(RoundScheduler(work, cluster, policy), work, cluster)
    np.testing.assert_allclose(watch.done, [job.remaining_iterations for job in work.jobs], atol=1e-9)
    assert engine.outcomes().gpu_seconds.sum() == pytest.approx(watch.gpu_seconds, abs=1e-9)


def test_few_arrays_have_room_for_many_jobs():
    """A queue of hundreds: starts, stops and skipped gangs agree with the rounds of the policy."""
    draw = np.random.default_rng(7)
    work = work_of(
        *(
            job(
                f"j{at}",
                float(at // 4),
                int(draw.integers(1, 30)),
                int(draw.choice([1, 2, 3, 5, 8])),
                restart_seconds=1,
            )
            for at in range(60)
        )
    )
    for policy in ("fifo", "fifo:preempt=yes", "srsf", "srsf:preempt=no", "tiresias:queues=6/40"):
        fast, slow = (replay(work, cluster_of(8), policy, fast=fast, verify=False) for fast in (True, False))
        assert_same(fast.jobs, slow.jobs)
        assert (fast.jobs.preemptions.sum() > 0) == (policy_from(policy).preempt == "yes")


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        ("muri-s", "policy of a fast replay"),
        ("max-min", "policy of a fast replay"),
        ("fifo:nodes=fewest", "policy of a fast replay"),
        ("tiresias:knob=2", "policy of a fast replay"),
        ("tiresias:rank=gittins,samples=5", "policy of a fast replay"),
    ],
)
def test_arrays_refuse_other_policies(policy, field):
    with pytest.raises(InputError) as caught:
        replay(work_of(job("a", 0, 1)), cluster_of(1), policy, fast=True)
    assert caught.value.field == field


def test_arrays_refuse_what_is_more_than_counting_gpus():
    one = cluster_of(1)
    limited = Cluster(nodes=(Node(id="n", gpus=1, cpus=4, memory_gib=8),))
    quota = Cluster(nodes=one.nodes, tenants=(Tenant(id="t", quota_gpus=1), Tenant(id="u")))
    for work, cluster, field in (
        (work_of(job("a", 0, 1, cpus=1.0)), limited, "jobs[0] ('a').cpus"),
        (work_of(job("a", 0, 1, memory_gib=1.0)), limited, "jobs[0] ('a').memory_gib"),
        (work_of(job("a", 0, 1)), quota, "cluster.tenants"),
        (work_of(job("a", 0, 1, gpus=0)), one, "jobs[0] ('a').gpus"),
        (work_of(job("a", 0, 10**12, iteration_seconds=1e9)), one, "jobs[0] ('a').remaining_iterations"),
    ):
        with pytest.raises(InputError) as caught:
            ListScheduler(work, cluster, "srsf")
        assert caught.value.field == field
    free = Cluster(nodes=one.nodes, tenants=(Tenant(id="u"),))
    assert replay(work_of(job("a", 0, 3, cpus=1.0)), free, "srsf", fast=True).jobs.ended.tolist() == [3.0]


def test_long_replays_keep_few_notes_and_exact_sums():
    work = work_of(*(job(f"j{at}", at / 8, 1 + at % 5) for at in range(3000)))
    engine = Engine(work, cluster_of(8, 8), ListScheduler(work, cluster_of(8, 8), "srtf"))
    engine.run()
    line, jobs = engine.timeline(), engine.outcomes()
    assert 1000 <= len(line.seconds) <= 2002
    assert (np.diff(line.seconds) > 0).all()
    assert line.seconds[-1] == jobs.ended.max()
    assert jobs.gpu_seconds.sum() == pytest.approx(engine.busy_seconds, rel=1e-12)
    assert jobs.gpu_seconds.sum() == jobs.ideal.sum()
    begins, ends = np.sort(jobs.submitted), np.sort(jobs.ended)
    inside = np.searchsorted(begins, line.seconds, "right") - np.searchsorted(ends, line.seconds, "right")
    assert (line.queue + line.running == inside).all()
    events = np.unique(np.concatenate([begins, ends]))
    there = np.searchsorted(begins, events, "right") - np.searchsorted(ends, events, "right")
    assert line.queue.max() == there.max() - 16  # the longest queue is kept, while all 16 GPUs are busy
