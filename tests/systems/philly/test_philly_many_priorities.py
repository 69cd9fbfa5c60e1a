"""Queues and quotas where there are many priorities: the same as by a table of all tenants and priorities."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from handmade import gang, round_of

from muri_opt import Round, Tenant, policy_from
from muri_opt.rounds.amounts import UNLIMITED
from muri_opt.systems.philly.cluster_state import ClusterState
from muri_opt.systems.philly.demand_fit import DemandFit
from muri_opt.systems.philly.job_status import JobStatus
from muri_opt.systems.philly.preemption import Removals
from muri_opt.systems.philly.queues import Queues
from muri_opt.verify.philly.job_status import Reading
from muri_opt.verify.philly.rules import SETTINGS, Tenancy

SEEDS = range(40)


def drawn(seed: int) -> Round:
    """Return a round of nested tenants, in which jobs of many priorities run and wait."""
    draw = Random(seed)
    tenants = [Tenant(id="t0", quota_gpus=draw.randint(4, 20))]
    for number in range(1, draw.randint(2, 5)):
        parent = draw.choice([None, *(tenant.id for tenant in tenants)])
        tenants.append(Tenant(id=f"t{number}", quota_gpus=draw.choice([None, 2, 5, 9]), parent=parent))
    jobs, left = [], {f"n{node}": 4 for node in range(6)}
    for number in range(24):
        node, gpus = draw.choice([*left]), draw.randint(1, 3)
        runs = left[node] >= gpus and draw.random() < 0.6
        left[node] -= gpus * runs
        jobs.append(
            gang(
                number,
                gpus,
                tenant=draw.choice([None, *(tenant.id for tenant in tenants)]),
                priority=draw.choice([0, 3, 3, 7, 11, 12]),
                submitted=float(draw.randint(0, 99)),
                restart_seconds=10.0,
                **({"state": "running", "placement": {node: gpus}} if runs else {}),
            )
        )
    return round_of([4] * 6, jobs, tenants)


def state_of(round_: Round) -> ClusterState:
    return ClusterState(round_, JobStatus.of(round_, policy_from("philly").tenant_rules))


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_left_of_quotas_is_counted_as_jobs_come_and_go(seed: int) -> None:
    round_, draw = drawn(seed), Random(seed)
    state = state_of(round_)
    for _ in range(30):
        held = state.tree.held(state.tree.used(state.at))
        for tenant in range(-1, len(round_.cluster.tenants)):
            for rank in range(state.status.classes):
                line = state.tree.line(tenant)
                left = min((int(state.amounts.U[one] - held[one, rank]) for one in line), default=UNLIMITED)
                assert state.quota_left(tenant, rank) == left
        job = draw.randrange(len(round_.jobs))
        if job in state.at:
            state.take(job)
        else:
            state.put(job, {draw.randrange(6): int(state.amounts.g[job])})


@pytest.mark.parametrize("seed", SEEDS)
def test_a_queue_has_the_jobs_of_a_tenant_and_a_priority_by_submission(seed: int) -> None:
    round_ = drawn(seed)
    state = state_of(round_)
    queues = Queues(round_, state.status, state, DemandFit(state).of)
    found = {
        (rank, tenant): queue.jobs.tolist()
        for rank in range(state.status.classes)
        for tenant, queue in queues.of_priority(rank).items()
    }
    ranks = sorted({job.priority for job in round_.jobs})
    names = [tenant.id for tenant in round_.cluster.tenants]
    expected: dict[tuple[int, int], list[int]] = {}
    for place, job in sorted(enumerate(round_.jobs), key=lambda one: (one[1].submitted, one[0])):
        if state.status.may.start[place] or state.status.may.move[place]:  # who moves is preempted and starts again
            tenant = -1 if job.tenant is None else names.index(job.tenant)
            expected.setdefault((ranks.index(job.priority), tenant), []).append(place)
    assert found == expected
    able = np.zeros(len(round_.jobs), dtype=np.bool_)
    assert not queues.has(able)
    assert queues.has(~able) == any(place not in state.at for some in expected.values() for place in some)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_above_quotas_costs_as_if_each_priority_was_counted(seed: int) -> None:
    round_ = drawn(seed)
    reading = Reading.of(round_, Tenancy.of({key: one.usual for key, one in SETTINGS.items()}))
    quotas, draw = reading.quotas, Random(seed)
    used = reading.used(draw.sample(range(len(round_.jobs)), 15))
    expected: dict[str, tuple[int, int]] = {}
    before = 0
    for rank, scale in enumerate(reading.scales):
        counted = dict.fromkeys(quotas.limits, 0)
        for (tenant, of), gpus in used.items():
            for nearest in quotas.line(tenant)[:1]:
                counted[nearest] += gpus * (of >= rank)
        for tenant in quotas.upwards:
            above = max(0, counted[tenant] - quotas.limits[tenant])
            for parent in quotas.line(tenant)[1:2]:
                counted[parent] += counted[tenant] - above
            most, lost = expected.get(tenant, (above, 0))
            expected[tenant] = most, lost + (scale.premium - before) * above
        before = scale.premium
    assert reading.over(used) == {tenant: both for tenant, both in expected.items() if both[0]}


@pytest.mark.parametrize("seed", SEEDS)
def test_who_may_leave_is_who_takes_no_tenant_below_its_quota(seed: int) -> None:
    round_ = drawn(seed)
    state = state_of(round_)
    every = np.ones(len(round_.jobs), dtype=np.bool_)
    removals = Removals(state, every, keeps_quota=True)
    payer, spare = state.tree.payers(state.tree.used(state.at))
    asks = state.amounts.g.tolist()
    for node in range(6):
        leaving = {item.job for item in removals.items(node)}
        there = {job for job, held in state.at.items() if node in held}
        assert leaving == {job for job in there if asks[job] <= spare[int(payer[job])]}
