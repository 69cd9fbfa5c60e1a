"""The schedule by arrays is the schedule job by job, and within a budget it keeps every rule."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from by_policy import broken_rules, wrong_reasons
from hypothesis import given
from more_examples import more_examples
from msgspec.structs import replace
from plain_placements import plain_placement, plainly

from muri_opt import Limits, Round, Tenant, policy_from
from muri_opt.rounds import Budget, Decision, after, unlimited
from muri_opt.rounds.generate import generate
from muri_opt.systems.philly.cluster_state import ClusterState, find_placement
from muri_opt.systems.philly.demand_fit import DemandFit
from muri_opt.systems.philly.job_status import JobStatus
from muri_opt.testing import tenant_policies, tenant_rounds

SPECS = (
    "philly",
    "philly:preempt_at=0",
    "philly:migrate=inf",
    "philly:migrate=8,objective=weighted",
    "philly:dedicated=4,migrate=inf,preempt_at=0",
    "philly:any_after=1e9,rack_after=1e9,preempt_at=0.2",
    "philly:any_after=1e9,backoff=100",
)
SIZES = ((12, 2), (30, 6), (60, 9), (80, 12))


def drawn_round(seed: int) -> Round:
    """Return a round of tenants; in some they are part of one another, or jobs have priorities."""
    draw = Random(f"fast philly/{seed}")
    jobs, nodes = draw.choice(SIZES)
    round_ = generate(draw.choice(("philly", "philly", "tenants")), jobs=jobs, nodes=nodes, seed=seed)
    if draw.random() < 0.3:
        round_ = replace(round_, jobs=tuple(replace(job, priority=draw.randint(0, 2)) for job in round_.jobs))
    if draw.random() < 0.3:
        parts = tuple(replace(tenant, parent="all") for tenant in round_.cluster.tenants)
        whole = Tenant(id="all", quota_gpus=draw.randint(1, 8 * nodes))
        round_ = replace(round_, cluster=replace(round_.cluster, tenants=(whole, *parts)))
    return round_


def decided(round_: Round, spec: str) -> tuple[Decision, Decision]:
    """Return the decision, and that of the round after it."""
    policy = policy_from(spec)
    first = policy.decide(round_, 0)
    return first, policy.decide(after(round_, first), 0)


@pytest.mark.parametrize("seed", [*range(7), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(7, 35))])
def test_the_same_jobs_run_on_the_same_nodes_and_the_others_are_told_the_same(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    round_, spec = drawn_round(seed), SPECS[seed % len(SPECS)]
    fast = decided(round_, spec)
    plainly(monkeypatch)
    assert decided(round_, spec) == fast


@more_examples(40)
@given(round_=tenant_rounds(max_jobs=10), text=tenant_policies())
def test_small_rounds_are_decided_the_same(round_: Round, text: str) -> None:
    fast = decided(round_, text)
    with pytest.MonkeyPatch.context() as patch:
        plainly(patch)
        assert decided(round_, text) == fast


@pytest.mark.parametrize("seed", range(8))
def test_a_demand_is_unable_only_if_no_job_of_it_finds_room(seed: int) -> None:
    draw = Random(f"fits/{seed}")
    round_ = drawn_round(seed)
    status = JobStatus.of(round_, policy_from(SPECS[seed % len(SPECS)]).tenant_rules)
    state = ClusterState(round_, status)
    fit = DemandFit(state)
    for _ in range(6):
        for job in draw.sample(sorted(state.at), min(3, len(state.at))):
            state.take(job)
        fit.look_again()
        for job in range(len(round_.jobs)):
            level = int(status.widest[job])
            place = find_placement(state, job, level)
            assert place == plain_placement(state, job, level)
            able = bool(fit.able[fit.of[job]])
            assert able or place is None
            if status.locality.fewest[job] == 1 or level == 2:
                assert able == (place is not None)


def test_what_is_noted_of_jobs_on_nodes_is_where_they_are() -> None:
    round_ = drawn_round(3)
    state = ClusterState(round_, JobStatus.of(round_, policy_from("philly").tenant_rules))
    draw, gone = Random(5), dict[int, dict[int, int]]()
    for _ in range(3000):
        if not state.at or (gone and draw.random() < 0.5):
            job = draw.choice(sorted(gone))
            state.put(job, gone.pop(job))
        else:
            job = draw.choice(sorted(state.at))
            gone[job] = state.take(job)
    pairs = {(job, node): gpus for job, node, gpus in state.pairs().T.tolist()}
    assert pairs == {(job, node): gpus for job, held in state.at.items() for node, gpus in held.items()}
    assert np.flatnonzero(state.runs).tolist() == sorted(state.at)


@pytest.mark.parametrize("spec", ["philly", "philly:migrate=inf"])
def test_within_a_budget_all_rules_are_kept_and_without_a_limit_it_is_the_decision(spec: str) -> None:
    policy, round_ = policy_from(spec), generate("philly", jobs=200, nodes=25, seed=2)
    whole, stopped = policy.decide(round_, 0), list[int]()
    assert policy.decide_within(round_, 0, unlimited()) == whole
    running = {job.id for job in round_.jobs if job.state == "running"}
    for work in (4e-5, 4e-4, 4e-3):
        found = policy.decide_within(round_, 0, Budget(limits=Limits(seconds=None, work=work)))
        assert broken_rules(round_, found, spec) == []
        assert wrong_reasons(round_, found, spec) == []
        stopped.append(len(running - found.running))
    assert stopped[0] == 0 < stopped[-1]
    assert sorted(stopped) == stopped
    assert stopped[-1] <= len(running - whole.running)
