"""Replays whose every moment was worked out with pencil and paper."""

from __future__ import annotations

import numpy as np
import pytest
from replay_watch import cluster_of, job, work_of

from muri_opt import Assignment, Decision, Node, Plan, Round, Tenant
from muri_opt.replay.run import replay
from muri_opt.rounds import Cluster


def test_first_come_first_served_on_one_gpu():
    found = replay(work_of(job("a", 0, 10), job("b", 2, 5)), cluster_of(1), "fifo", label="1 GPU")
    assert found.jobs.started.tolist() == [0.0, 10.0]
    assert found.jobs.ended.tolist() == [10.0, 15.0]
    assert found.jobs.completion.tolist() == [10.0, 13.0]
    assert found.jobs.ideal.tolist() == [10.0, 5.0]
    assert found.jobs.capacity.tolist() == [0.0, 8.0]
    assert found.jobs.restarts.sum() == found.jobs.preemptions.sum() == found.jobs.lost.sum() == 0
    line = found.timeline
    assert line.seconds.tolist() == [0.0, 2.0, 10.0, 15.0]
    assert (line.busy.tolist(), line.queue.tolist(), line.running.tolist()) == (
        [1, 1, 1, 0],
        [0, 1, 0, 0],
        [1, 1, 1, 0],
    )
    assert line.nodes.tolist() == [[1], [1], [1], [0]]
    assert line.stages.shape == (4, 0)
    assert (found.workload, found.policy, found.clock, found.cluster) == ("by hand", "fifo", "own", "1 GPU")
    assert (found.rounds, found.counted, found.total_gpus) == (3, 0, 1)


@pytest.mark.parametrize("fast", [False, True])
def test_who_is_preempted_pays_a_restart(fast):
    work = work_of(job("a", 0, 100, 2, restart_seconds=3), job("b", 10, 5, 2, restart_seconds=50))
    found = replay(work, cluster_of(2), "srtf", fast=fast)
    assert found.jobs.ended.tolist() == [108.0, 15.0]  # 10 s, then 3 s of restart and 90 s
    assert found.jobs.held.tolist() == [103.0, 5.0]
    assert found.jobs.gpu_seconds.tolist() == [206.0, 10.0]
    assert found.jobs.lost.tolist() == [6.0, 0.0]
    assert found.jobs.capacity.tolist() == [5.0, 0.0]
    assert (found.jobs.restarts.tolist(), found.jobs.preemptions.tolist()) == ([1, 0], [1, 0])
    assert found.jobs.migrations.tolist() == [0, 0]


def test_a_group_goes_at_its_period_and_shares_its_gpu_seconds():
    half = (0.0, 0.5, 0.5, 0.0)
    work = work_of(job("a", 0, 10, stage_seconds=half), job("b", 0, 20, stage_seconds=half))
    found = replay(work, cluster_of(1), "muri-s")
    # One stage apart, the CPU of the one runs beside the GPU of the other: 1.5 s an iteration. Then b is alone.
    assert found.jobs.ended.tolist() == [15.0, 25.0]
    assert found.jobs.gpu_seconds.tolist() == [7.5, 17.5]
    assert found.jobs.restarts.tolist() == [0, 0]
    np.testing.assert_allclose(found.timeline.stages, [[0, 2 / 3, 2 / 3, 0], [0, 0.5, 0.5, 0], [0, 0, 0, 0]])


def test_with_an_interval_a_partner_goes_on_at_the_period_until_the_next_round():
    half = (0.0, 0.5, 0.5, 0.0)
    work = work_of(job("a", 0, 10, stage_seconds=half), job("b", 0, 20, stage_seconds=half))
    found = replay(work, cluster_of(1), "muri-s", interval=20)
    # b has 20 / 1.5 iterations behind it at 20 s.
    assert found.jobs.ended.tolist() == pytest.approx([15.0, 20 + 20 - 20 / 1.5], abs=1e-9)
    assert found.jobs.gpu_seconds.tolist() == pytest.approx([7.5, 7.5 + 5 + 20 - 20 / 1.5], abs=1e-9)


def test_a_share_that_changes_costs_a_restart():
    work = work_of(
        job("a", 0, 100, scaling={1: 1.0, 2: 2.0}, restart_seconds=3),
        job("b", 10, 20, scaling={1: 1.0, 2: 1.5}),
    )
    found = replay(work, cluster_of(2), "afs-l")
    # a: 20 iterations in 10 s on two GPUs, 17 from 13 to 30 s on one, 63 on two from 33 s on.
    assert found.jobs.started.tolist() == [0.0, 10.0]
    assert found.jobs.ended.tolist() == [64.5, 30.0]
    assert found.jobs.lost.tolist() == [3.0 * 1 + 3.0 * 2, 0.0]
    assert found.jobs.gpu_seconds.tolist() == [20.0 + 20.0 + 69.0, 20.0]
    assert (found.jobs.restarts.tolist(), found.jobs.migrations.tolist()) == ([2, 0], [0, 0])


def test_a_plan_that_changes_costs_a_restart():
    def plans(two: float) -> tuple[Plan, ...]:
        return (Plan(name="dp1", gpus=1, throughput=1.0), Plan(name="dp2", gpus=2, throughput=two))

    work = work_of(
        job("a", 0, 100, plans=plans(1.8), plan="dp1"),
        job("b", 10, 20, plans=plans(1.2), plan="dp1"),
    )
    found = replay(work, cluster_of(2), "rubick:gate=0", restart_seconds=4)
    # a: 18 in 10 s by dp2; 4 s of restart and 16 by dp1 until b ends at 30 s; 4 s of restart and 66 by dp2.
    assert found.jobs.ended.tolist() == pytest.approx([34 + 66 / 1.8, 30.0], abs=1e-9)
    assert found.jobs.restarts.tolist() == [2, 0]
    assert found.jobs.lost.tolist() == [4.0 * 1 + 4.0 * 2, 0.0]


def test_a_launch_takes_its_time():
    found = replay(work_of(job("a", 0, 10), job("b", 2, 5)), cluster_of(1), "fifo", launch_seconds=4.0)
    assert found.jobs.ended.tolist() == [14.0, 23.0]
    assert found.jobs.lost.tolist() == [4.0, 4.0]
    assert found.jobs.restarts.tolist() == [0, 0]


def test_who_is_moved_while_it_restarts_begins_its_restart_anew():
    # a is preempted at 10 s, is back at 12 s, and is preempted again in the middle of its restart.
    work = work_of(job("a", 0, 20, restart_seconds=6), job("b", 10, 2), job("c", 15, 1))
    found = replay(work, cluster_of(1), "srtf")
    assert found.jobs.ended.tolist() == [16.0 + 6 + 10, 12.0, 16.0]
    assert found.jobs.lost.tolist() == [3.0 + 6.0, 0.0, 0.0]
    assert found.jobs.preemptions.tolist() == [2, 0, 0]


def test_rounds_at_an_interval_let_arrivals_wait():
    found = replay(work_of(job("a", 0, 10), job("b", 2, 5), job("c", 70, 1)), cluster_of(1), "fifo", interval=4)
    assert found.jobs.started.tolist() == [0.0, 12.0, 72.0]
    assert found.jobs.ended.tolist() == [10.0, 17.0, 73.0]
    assert found.timeline.seconds.tolist() == [0.0, 2.0, 4.0, 8.0, 10.0, 12.0, 16.0, 17.0, 70.0, 72.0, 73.0]
    assert found.rounds == 6  # none between 16 and 72 s, when nobody is there


def test_an_arrival_at_a_round_is_part_of_it():
    found = replay(work_of(job("a", 0.3, 1), job("b", 0.9, 1)), cluster_of(2), "fifo", interval=0.3)
    assert found.jobs.started.tolist() == pytest.approx([0.3, 0.9], abs=1e-9)


@pytest.mark.parametrize("fast", [False, True])
def test_tiresias_is_asked_when_a_job_leaves_its_queue(fast):
    work = work_of(job("a", 0, 5000), job("b", 100, 4000), job("c", 5000, 10))
    found = replay(work, cluster_of(1), "tiresias", fast=fast)
    assert found.jobs.started.tolist() == [0.0, 3250.0, 6500.0]
    assert found.jobs.ended.tolist() == [8260.0, 9010.0, 6510.0]
    assert found.rounds == 7


def test_tiresias_promotes_who_starves_and_counts_afresh():
    # Without promotion b runs on in the second queue, where running jobs come first, and a after it.
    work = work_of(job("a", 0, 1000), job("b", 0, 100))
    plain = replay(work, cluster_of(1), "tiresias:queues=10")
    assert plain.jobs.ended.tolist() == [1100.0, 110.0]
    # a has run for 10 s and waited for 30 at 40 s. b has run for 30 s then, and waited for 10 + 80 at 120 s.
    found = replay(work, cluster_of(1), "tiresias:queues=10,knob=3")
    assert found.timeline.seconds.tolist() == [0.0, 10.0, 20.0, 40.0, 50.0, 120.0, 130.0, 190.0, 1100.0]
    assert found.jobs.ended.tolist() == [1100.0, 190.0]
    assert found.jobs.preemptions.tolist() == [2, 1]


def test_quanta_of_jobs_without_lengths_take_turns():
    curve = {1: 1.0}
    work = work_of(job("a", 0, 20, scaling=curve), job("b", 0, 20, scaling=curve))
    found = replay(work, cluster_of(1), "afs-p:quantum=5")
    assert sorted(found.jobs.ended.tolist()) == [35.0, 40.0]
    assert found.jobs.preemptions.tolist() == [3, 3]


def test_a_gang_of_philly_is_tried_again_when_it_may_spread():
    nodes = tuple(Node(id=f"n{place}", gpus=2, rack="r") for place in range(2))
    # At 10 s two of four jobs end, one on each node; the gang of two may spread after it has waited for 600 s.
    single = [job(f"s{place}", 0, 10 if place % 2 else 5000, tenant="t") for place in range(4)]
    work = work_of(*single, job("gang", 20, 100, 2, tenant="t"))
    found = replay(work, Cluster(nodes=nodes, tenants=(Tenant(id="t", quota_gpus=4),)), "philly")
    assert found.jobs.started.tolist() == [0.0, 0.0, 0.0, 0.0, 620.0]
    assert found.jobs.ended.tolist() == [5000.0, 10.0, 5000.0, 10.0, 720.0]
    assert found.jobs.fragmentation.tolist() == [0.0, 0.0, 0.0, 0.0, 600.0]
    assert found.timeline.nodes[-3].tolist() == [2, 2]


def test_waiting_for_a_quota_counts_as_fairness():
    cluster = Cluster(nodes=cluster_of(2).nodes, tenants=(Tenant(id="t", quota_gpus=1),))
    work = work_of(job("a", 0, 10, tenant="t"), job("b", 0, 5, tenant="t"), job("c", 4, 20), job("d", 5, 1))
    found = replay(work, cluster, "fifo")
    assert found.jobs.ended.tolist() == [10.0, 15.0, 24.0, 16.0]
    assert found.jobs.fairness.tolist() == [0.0, 10.0, 0.0, 0.0]
    assert found.jobs.capacity.tolist() == [0.0, 0.0, 0.0, 10.0]


def test_no_jobs_are_no_replay():
    found = replay(work_of(), cluster_of(1), "fifo")
    assert (found.rounds, len(found.jobs.ids), found.timeline.seconds.shape) == (0, 0, (0,))


def test_a_policy_is_told_where_a_job_sits_that_moved_as_its_partner_ended():
    """Both happen at one moment: the partner ends, and the job is moved."""
    half, told = (0.0, 0.5, 0.5, 0.0), []

    def moving(round_: Round) -> Decision:
        told.extend((round_.now, job.placement) for job in round_.jobs if job.id == "b")
        names = [job.id for job in round_.jobs]
        if "a" in names:
            both = Assignment(jobs=("a", "b"), order=(0, 1), gpus={"n0": 1}, period_seconds=1.0)
            return Decision(assignments=(both,))
        shares = [Assignment(jobs=(name,), gpus={node: 1}) for name, node in zip(names, ("n1", "n0"), strict=False)]
        return Decision(assignments=tuple(shares))

    jobs = [job(name, start, work, stage_seconds=half) for name, start, work in (("a", 0, 5), ("b", 0, 9), ("c", 7, 1))]
    replay(work_of(*jobs), cluster_of(1, 1), moving, verify=False)
    assert told == [(0.0, None), (5.0, {"n0": 1}), (7.0, {"n1": 1}), (8.0, {"n1": 1})]
