"""Lengths expected from jobs that have ended: one over Gittins' index, and how a replay learns them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from replay_watch import cluster_of, job

from muri_opt import InputError, policy_from
from muri_opt.replay import Workload, replay
from muri_opt.systems.joint.jobs.expected_service import MOST_SAMPLES, expected_left
from muri_opt.systems.orders.gittins import GittinsIndex


def test_the_service_expected_is_one_over_the_best_index_of_any_quantum():
    rng = np.random.default_rng(7)
    for _ in range(50):
        samples = rng.integers(1, 60, int(rng.integers(1, 9))).tolist()
        for attained in range(max(samples)):
            quanta = range(1, max(samples) - attained + 1)
            best = max(GittinsIndex.of(samples, quantum, "textbook").after(attained) for quantum in quanta)
            assert expected_left([attained], samples) == [int(1 / best)] == [Fraction(1) // best]


def test_without_a_longer_job_that_ended_a_job_takes_as_long_again():
    assert expected_left([0, 5, 9], []) == [0, 5, 9]
    assert expected_left([9], [4, 9]) == [9]


def test_a_policy_learns_from_jobs_that_end_and_forgets_every_second_of_very_many():
    policy = policy_from("joint-l:weights=gittins")
    for seconds in (5.0, 2.0):
        policy = policy.learned(seconds)
    assert policy.samples == "2/5"
    for seconds in range(1, MOST_SAMPLES):
        policy = policy.learned(float(seconds))
    assert len(policy.samples.split("/")) == (MOST_SAMPLES + 1) // 2
    assert policy_from("joint-l").learned(5.0) == policy_from("joint-l")
    assert policy_from(policy.spec) == policy


@pytest.mark.parametrize(
    "text",
    [
        "joint-s:weights=gittins",
        "joint-s:weights=chance",
        "joint-l:weights=chance,samples=1",
        "joint-l:samples=1/2",
        "joint-l:weights=gittins,samples=0",
    ],
)
def test_settings_that_contradict_each_other_are_refused(text):
    with pytest.raises(InputError):
        policy_from(text)


def test_a_replay_learns_and_every_decision_is_verified():
    stages = {"stage_seconds": (0.5, 0.25, 0.25)}
    line = [job(f"j{at}", 3 * at, 10 if at % 4 else 200, **stages) for at in range(16)]
    work = Workload.of("some", line, ("storage", "gpu", "network"))
    outcomes = [replay(work, cluster_of(1, 1), f"joint-l:again=10{more}") for more in ("", ",weights=gittins")]
    means = [float((one.jobs.ended - one.jobs.submitted).mean()) for one in outcomes]
    assert np.isfinite(means).all()
    assert means[0] != means[1]
