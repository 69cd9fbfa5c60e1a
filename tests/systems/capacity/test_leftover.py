"""What is left while gangs are placed: GPUs, CPUs, memory and quotas."""

from __future__ import annotations

import numpy as np
from handmade import gang, round_of

from muri_opt import Node, Tenant
from muri_opt.systems.capacity import Leftover


def test_taking_a_gang_takes_its_cpus_memory_and_quota() -> None:
    nodes = [Node(id="n0", gpus=4, cpus=8, memory_gib=4), Node(id="n1", gpus=4)]
    jobs = [gang(0, 3, tenant="t", cpus=3, memory_gib=3), gang(1, 2, tenant="t"), gang(2, 4, cpus=10)]
    round_ = round_of(nodes, jobs, [Tenant(id="t", quota_gpus=4)])
    left = Leftover(round_)
    assert left.within_quota(0)
    assert left.room(2).tolist() == [3, 4]  # 2.5 CPUs each
    left.take(np.array([2, 1]), 0)
    assert left.gpus.tolist() == [2, 3]
    assert left.cpus[0] == 6000
    assert left.memory[0] == 2048
    assert left.quota.tolist() == [1]
    assert not left.within_quota(1)
    assert left.within_quota(2)
    assert left.room(2).tolist() == [2, 3]


def test_jobs_that_share_gpus_count_together_for_the_quota_of_their_tenant() -> None:
    tenants = [Tenant(id="t", quota_gpus=4), Tenant(id="u", quota_gpus=2)]
    jobs = [gang(0, 2, tenant="t"), gang(1, 2, tenant="t"), gang(2, 2, tenant="t"), gang(3, 2, tenant="u"), gang(4, 2)]
    left = Leftover(round_of([8], jobs, tenants))
    assert left.within_quota(0, 1, 3, 4)
    assert not left.within_quota(0, 1, 2)
    left.take(np.array([2]), 0, 1, 3, 4)
    assert (left.gpus.tolist(), left.quota.tolist()) == ([6], [0, 0])
    assert [left.within_quota(job) for job in range(5)] == [False, False, False, False, True]


def test_jobs_that_share_gpus_count_together_for_the_quota_of_a_tenant_above_theirs() -> None:
    tenants = [Tenant(id="org", quota_gpus=3), Tenant(id="t", parent="org"), Tenant(id="u", parent="org")]
    left = Leftover(round_of([8], [gang(0, 2, tenant="t"), gang(1, 2, tenant="u"), gang(2, 2)], tenants))
    assert left.within_quota(0, 2)
    assert left.within_quota(1, 2)
    assert not left.within_quota(0, 1)


def test_what_is_left_does_not_touch_the_round() -> None:
    round_ = round_of([4], [2])
    Leftover(round_).take(np.array([2]), 0)
    assert round_.amounts.G.tolist() == [4]
    assert Leftover(round_).gpus.tolist() == [4]


def test_cpus_per_gpu_are_rounded_up_to_the_next_milli_cpu() -> None:
    round_ = round_of([Node(id="n0", gpus=3, cpus=1)], [gang(0, 3, cpus=1)])
    assert Leftover(round_).room(0).tolist() == [2]  # 334 milli-CPUs each
