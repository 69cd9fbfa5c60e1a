"""The authors' four slots: their published profiles, their search in plain loops, and the long run."""

import numpy as np
import pytest
from plain_patterns import authors_choice, long_run, two_rounds

from muri_opt import best_period, group_periods
from muri_opt.systems.muri.interleaving import period_of

# Data, GPU and network milliseconds of an iteration on 1, 2 and 8 GPUs, as published with the traces of
# Rivendile/Muri (Apache-2.0).
PROFILES = {
    "vgg16": {1: (117, 68, 0), 2: (114, 72, 40), 8: (82, 75, 66)},
    "vgg19": {1: (114, 80, 0), 2: (115, 83, 41), 8: (82, 88, 60)},
    "resnet18": {1: (711, 110, 0), 2: (687, 110, 95), 8: (784, 117, 77)},
    "shufflenet": {1: (706, 59, 0), 2: (747, 58, 18), 8: (769, 57, 10)},
    "bert": {1: (0.5, 160, 0), 2: (0.5, 163, 18), 8: (0.5, 167, 59)},
    "gpt2": {1: (0.6, 410, 0), 2: (0.7, 416, 40), 8: (0.6, 419, 49)},
    "a2c": {1: (514, 14, 0), 2: (504, 14, 0.5), 8: (502, 14, 0.4)},
    "dqn": {1: (446, 8, 0), 2: (441, 8, 0.6), 8: (435, 8, 0.5)},
}

# GPUs, models, period in seconds of the best and of the worst order, best order (- is a hole): what the authors'
# simulator computes from these profiles.
PERIODS = """
    1 a2c|vgg16 0.528 0.631 1|0
    1 bert|vgg16 0.228 0.345 0|-|1
    1 shufflenet|vgg16 0.765 0.833 1|0
    1 vgg16|vgg19 0.231 0.265 0|-|1
    2 a2c|gpt2 0.5185 0.934 0|-|1
    2 dqn|dqn 0.457 0.882 0|1
    8 a2c|bert 0.5164 0.683 0|-|1
    8 bert|resnet18 0.978 1.068 0|1
    8 bert|vgg19 0.2555 0.374 0|1
    8 dqn|gpt2 0.4765 0.862 0|-|1
    8 gpt2|gpt2 0.8386 0.936 0|1
    8 gpt2|shufflenet 0.836 1.245 0|1
    8 gpt2|vgg16 0.4946 0.609 0|1
    8 gpt2|vgg19 0.5076 0.616 0|1
    8 resnet18|shufflenet 0.978 1.553 0|1
    2 a2c|a2c|vgg16 0.618 1.008 0|1|2
    2 a2c|dqn|gpt2 0.5185 0.945 2|1|0
    2 dqn|gpt2|vgg19 0.5406 0.898 1|2|0
    8 a2c|a2c|a2c 1.004 1.004 0|1|2
    8 a2c|bert|dqn 0.5164 0.937 1|2|0
    8 bert|bert|gpt2 0.802 0.812 0|1|2
    8 bert|shufflenet|shufflenet 0.885 1.538 0|1|2
    1 a2c|a2c|a2c|vgg16 0.939 1.028 3|0|1|2
    1 a2c|dqn|vgg19|vgg19 0.602 0.96 1|2|3|0
    1 bert|shufflenet|shufflenet|vgg19 0.845 1.412 1|3|0|2
    2 a2c|a2c|a2c|dqn 0.945 1.008 0|1|3|2
    2 a2c|a2c|dqn|vgg16 0.853 1.008 0|2|3|1
    2 a2c|dqn|dqn|vgg16 0.79 0.945 3|1|0|2
    8 a2c|a2c|vgg16|vgg19 0.591 1.004 0|1|2|3
    8 bert|bert|bert|shufflenet 0.995 0.995 0|1|2|3
    8 bert|shufflenet|shufflenet|vgg19 0.914 1.538 1|3|0|2
    8 dqn|gpt2|gpt2|vgg16 0.962 0.979 1|2|0|3
    8 gpt2|resnet18|resnet18|vgg19 1.018 1.568 0|1|2|3
"""


def profiles(models, gpus):
    return [[time / 1000 for time in PROFILES[model][gpus]] for model in models.split("|")]


@pytest.mark.parametrize("line", [line.strip() for line in PERIODS.splitlines() if line.strip()])
def test_published_profiles(line):
    gpus, models, least, greatest, order = line.split()
    stages = profiles(models, int(gpus))
    best = best_period(stages, "muri-4slot")
    assert best.period_seconds == float(least)
    assert best_period(stages, "muri-4slot", worst=True).period_seconds == float(greatest)
    seats = order.split("|")
    assert best.slots == tuple(seats.index(str(job)) for job in range(len(stages)))
    assert best.efficiency == pytest.approx(sum(map(sum, stages)) / (4 * float(least)), rel=1e-15)


def random_groups(rng, groups, jobs):
    """Return stage times in whole milliseconds and in microseconds, some 0, some data stages long enough to matter."""
    grain = np.where(rng.random((groups, 1, 1)) < 0.5, 1000, 1)
    times = rng.integers(0, [600, 300, 200], size=(groups, jobs, 3)) * grain
    return np.where(rng.random(times.shape) < 0.15, 0, times)


@pytest.mark.parametrize("jobs", [2, 3, 4])
@pytest.mark.parametrize("worst", [False, True])
def test_the_search_is_the_authors_to_the_last_bit(jobs, worst):
    groups = random_groups(np.random.default_rng([jobs, worst]), 500, jobs)
    periods, slots = group_periods(groups, "muri-4slot", worst=worst)
    for stages, period, seats in zip(groups, periods.tolist(), slots.tolist(), strict=True):
        expected, places = authors_choice((stages / 10**6).tolist(), worst=worst)
        assert period == round(expected * 10**6)
        assert tuple(seats) == places


@pytest.mark.parametrize(("late", "period"), [(1, 1.651), (2, 1.65)])
def test_a_period_within_a_thousandth_of_the_one_before_ends_the_search(late, period):
    # The first round takes 1.65 s and knows nothing of the last job's data, which makes the first slot of the second
    # round a little late. One millisecond is taken for the end of the search; after two of them it goes on.
    stages = [[0.95, 0.1, 0], [0.15, 0.4, 0], [0.3, 0.2, 0.3], [0.6 + late / 1000, 0.45, 0.3]]
    assert two_rounds(stages) == pytest.approx(period, rel=1e-12)
    assert period_of(stages, (0, 1, 2, 3), "muri-4slot").period_seconds == period


@pytest.mark.parametrize("jobs", [1, 2, 3, 4])
def test_the_steady_period_is_the_one_of_the_long_run(jobs):
    rng = np.random.default_rng(jobs)
    groups = rng.integers(0, [30, 15, 15], size=(50, jobs, 3))
    groups = np.where(rng.random(groups.shape) < 0.2, 0, groups)
    periods, slots = group_periods(groups, "muri-4slot-steady")
    for stages, period, seats in zip(groups.tolist(), periods.tolist(), slots.tolist(), strict=True):
        assert long_run(stages, seats) == 12 * period
        anywhere = rng.permutation(4)[:jobs].tolist()
        here = period_of(np.array(stages) / 10**6, anywhere, "muri-4slot-steady").period_seconds
        assert long_run(stages, anywhere) == 12 * round(here * 10**6) >= 12 * period


@pytest.mark.parametrize("jobs", [2, 3, 4])
def test_the_estimate_is_at_most_the_steady_period_and_right_for_three(jobs):
    groups = random_groups(np.random.default_rng(jobs), 5000, jobs)
    estimate, steady = (group_periods(groups, p).microseconds for p in ("muri-4slot", "muri-4slot-steady"))
    assert (estimate <= steady).all()
    # With the last seat empty every chain of stages that repeats passes the first boundary: one round shows it.
    assert (estimate < steady).any() == (jobs != 3)


def test_three_copies_of_dqn_beside_shufflenet_cannot_be_that_fast():
    # At 32 GPUs; the data stages alone need 2.11 s of which two may run at once.
    stages = [[0.437, 0.008, 0.0016]] * 3 + [[0.799, 0.056, 0.024]]
    assert best_period(stages, "muri-4slot").period_seconds == 0.879
    assert best_period(stages, "muri-4slot-steady").period_seconds == 1.236


def test_two_jobs_half_a_cycle_apart_are_the_steady_pattern_with_holes():
    stages = profiles("vgg16|vgg19", 1)
    for pattern in ("muri-4slot", "muri-4slot-steady"):
        assert period_of(stages, (0, 2), pattern).period_seconds == 0.231
    assert period_of(stages, (3, 1), "muri-4slot-steady").period_seconds == 0.231


@pytest.mark.parametrize("pattern", ["muri-4slot", "muri-4slot-steady"])
def test_a_job_alone_and_jobs_without_work(pattern):
    alone = best_period([[0.5, 0.25, 0.125]], pattern)
    assert (alone.period_seconds, alone.slots, alone.efficiency) == (0.875, (0,), 0.25)
    for jobs in range(1, 5):
        idle = best_period([[0, 0, 0]] * jobs, pattern)
        assert (idle.period_seconds, idle.efficiency, idle.slots) == (0, 0, tuple(range(jobs)))
