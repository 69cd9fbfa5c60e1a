"""Honest sharing: periods of groups on any number of GPUs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from joint_rounds import joint_round

from muri_opt import Job
from muri_opt.systems.joint.jobs.cyclic_period import best_order, least_pair_period, least_period
from muri_opt.systems.joint.jobs.job_model import model_of
from muri_opt.systems.muri import best_period


def sharers(seeds):
    for seed in seeds:
        yield from (job for job in joint_round(seed).jobs if job.stage_seconds is not None)


def models(jobs, *, full):
    return [model_of(job, full=full, powers=False) for job in jobs]


def test_in_full_sharing_nobody_is_faster_in_a_group_than_alone():
    looked_at = 0
    for pair in combinations(list(sharers(range(12))), 2):
        both = models(pair, full=True)
        for gpus in range(1, 5):
            if all(gpus < len(one.period) and one.period[gpus] for one in both):
                period, _ = best_order([one.stages_on(gpus) for one in both])
                assert period >= max(one.period[gpus] for one in both)
                looked_at += 1
    assert looked_at > 200


def test_as_measured_a_group_on_the_gpus_it_asks_for_has_the_period_of_muri():
    compared = 0
    for pair in combinations([job for job in sharers(range(12)) if job.gpus == 2], 2):
        period, _ = best_order([one.stages_on(2) for one in models(pair, full=False)])
        assert period == 1000 * round(1_000_000 * best_period([job.stage_seconds for job in pair]).period_seconds)
        compared += 1
    assert compared > 20


def test_stages_that_fill_less_than_the_iteration_are_stretched():
    job = Job(id="a", gpus=2, stage_seconds=(0.1, 0.2, 0.1), iteration_seconds=0.8, scaling={1: 1.0, 2: 1.6})
    (full,), (measured,) = models([job], full=True), models([job], full=False)
    assert full.stages_on(2) == (200_000_000, 400_000_000, 200_000_000)
    assert measured.stages_on(2) == (100_000_000, 200_000_000, 100_000_000)
    assert full.stages_on(1) == (320_000_000, 640_000_000, 320_000_000)


def test_stages_that_take_longer_than_the_iteration_are_left_alone():
    job = Job(id="a", gpus=1, stage_seconds=(0.3, 0.3, 0.3), iteration_seconds=0.5)
    assert models([job], full=True)[0].stages_on(1) == (300_000_000,) * 3


@pytest.mark.parametrize(
    ("fields", "period"),
    [
        ({"gpus": 2}, (0, 0, 10**9)),
        ({"gpus": 1, "stage_seconds": (0.25, 0.5)}, (0, 750_000_000)),
        (
            {"gpus": 1, "iteration_seconds": 0.5, "scaling": {1: 1.0, 3: 2.0}},
            (0, 500_000_000, 375_000_000, 250_000_000),
        ),
    ],
)
def test_every_kind_of_job_has_the_sizes_it_says(fields, period):
    assert model_of(Job(id="a", **fields), full=True, powers=False).period == pytest.approx(period, abs=1)


def test_powers_of_two_are_a_setting():
    job = Job(id="a", gpus=1, scaling={1: 1.0, 8: 4.0})
    sizes = [k for k, time in enumerate(model_of(job, full=True, powers=True).period) if time]
    assert sizes == [1, 2, 4, 8]


@pytest.mark.parametrize("slots", [2, 3, 4, 5])
def test_every_two_jobs_at_once_have_the_periods_of_each_two_by_themselves(slots):
    times = np.random.default_rng(slots).integers(0, 50, size=(slots, 12))
    found = least_pair_period(times)
    for first in range(12):
        for second in range(12):
            period, _ = best_order([tuple(times[:, first].tolist()), tuple(times[:, second].tolist())])
            assert found[first, second] == period


@pytest.mark.parametrize("word", [np.float32, np.int64])
@pytest.mark.parametrize(("jobs", "slots"), [(1, 1), (1, 3), (2, 2), (2, 4), (3, 3), (3, 4), (4, 4)])
def test_few_groups_have_the_periods_of_many(jobs, slots, word):
    stages = [np.random.default_rng(job).integers(0, 50, size=(slots, 30)).astype(word) for job in range(jobs)]
    few = least_period(stages)
    many = least_period([np.tile(times, 100) for times in stages])
    assert (few.dtype, many.dtype) == (word, word)
    assert many.tolist() == few.tolist() * 100
    for group, period in enumerate(few.tolist()):
        assert best_order([tuple(times[:, group].tolist()) for times in stages])[0] == period
