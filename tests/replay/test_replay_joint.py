"""Replays of jobs that share: placements that change at the moment a partner ends, and the joint policies."""

from __future__ import annotations

import numpy as np
import pytest
from replay_watch import cluster_of, job

from muri_opt import Assignment, Decision
from muri_opt.replay import Workload, replay

STAGES = {"stage_seconds": (0.5, 0.25, 0.25)}
RESOURCES = ("storage", "gpu", "network")


def test_a_round_says_where_a_job_is_that_was_moved_when_its_partner_ended():
    work = Workload.of("by hand", [job("a", 0, 4, **STAGES), job("b", 0, 30, **STAGES), job("c", 12, 1)], RESOURCES)
    placed = []

    def allocate(round_):
        there = {one.id: dict(one.placement or {}) for one in round_.jobs}
        placed.append(there.get("b"))
        if "a" in there:
            return Decision(
                assignments=(Assignment(jobs=("a", "b"), order=(0, 1), gpus={"n0": 1}, period_seconds=1.5),)
            )
        nodes = {"b": "n1", "c": "n0"}
        return Decision(assignments=tuple(Assignment(jobs=(one,), gpus={nodes[one]: 1}) for one in there))

    replay(work, cluster_of(1, 1), allocate, verify=False)
    assert placed == [{}, {"n0": 1}, {"n1": 1}, {"n1": 1}]


def some_work():
    rng = np.random.default_rng(3)
    jobs = []
    for number in range(14):
        shares = {"stage_seconds": tuple(rng.integers(1, 9, 3) / 16)} if number % 3 else {}
        scales = {"scaling": {1: 1.0, 2: 1.7, 4: 2.8}} if number % 4 else {}
        iterations = int(rng.integers(5, 200))
        jobs.append(job(f"j{number}", 5 * number, iterations, restart_seconds=2.0, **shares, **scales))
    return Workload.of("some", jobs, RESOURCES)


@pytest.mark.parametrize("policy", ["joint-s", "joint-l:again=20", "joint-s:sharing=stretch,slowdown=muri"])
def test_every_decision_of_a_replay_is_verified_and_all_jobs_end(policy):
    outcome = replay(some_work(), cluster_of(2, 2), policy)
    assert np.isfinite(outcome.jobs.ended).all()


def test_deciding_together_brings_completions_forward():
    means = {}
    for policy in ("fifo:preempt=yes", "srsf", "joint-s:group=1", "joint-s"):
        jobs = replay(some_work(), cluster_of(2, 2), policy).jobs
        means[policy] = float((jobs.ended - jobs.submitted).mean())
    assert means["joint-s"] < means["joint-s:group=1"] < means["fifo:preempt=yes"]
    assert means["joint-s"] < means["srsf"]
