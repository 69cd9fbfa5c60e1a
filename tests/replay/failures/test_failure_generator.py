"""Draws of failures against the parameters they are drawn from; all seeds fixed, so that nothing here is random."""

import math
from collections import Counter, defaultdict

import pytest
from hypothesis import given, strategies as st

from muri_opt.errors import InputError
from muri_opt.replay.failures import (
    PHILLY_FAILURES,
    FailureClass,
    FailureModel,
    FailureTable,
    draw_failures,
    draw_workload,
)

JOBS = 100_000
DEVIATIONS = 5  # a fair draw leaves a band of five standard deviations about once in two million


@pytest.fixture(scope="module")
def drawn():
    return draw_failures(JOBS, seed=7, model=FailureModel(failing=0.5, spread=1.3))


@pytest.fixture(scope="module")
def failing(drawn):
    return [job for job in drawn if job.trials]


def within(count, of, share):
    """Return whether a count of independent events of the same chance is in its band (binomial deviation)."""
    return abs(count - of * share) <= DEVIATIONS * math.sqrt(of * share * (1 - share))


def test_the_share_of_failing_jobs(drawn, failing):
    assert len(drawn) == JOBS
    assert within(len(failing), JOBS, 0.5)


def test_classes_have_their_shares_of_jobs_and_of_trials(failing):
    total = sum(failure.jobs for failure in PHILLY_FAILURES.classes)
    seen = Counter(job.trials[0].failure for job in failing)
    for failure in PHILLY_FAILURES.classes:
        assert within(seen[failure.name], len(failing), failure.jobs / total), failure.name
    # Per failing job a class brings X trials in, on average its trials over all jobs of the table. With p the class'
    # share of jobs and m its mean, E[X^2] is p (2 m^2 - m), of a geometric number that starts at 1.
    trials = Counter(trial.failure for job in failing for trial in job.trials)
    for failure in PHILLY_FAILURES.classes:
        p, m = failure.jobs / total, float(failure.trials_per_job)
        deviation = math.sqrt(p * (2 * m * m - m) - (p * m) ** 2)
        assert abs(trials[failure.name] - len(failing) * p * m) <= DEVIATIONS * deviation * math.sqrt(len(failing))


def test_medians_and_spreads_are_the_models(failing):
    # The number of times below the true median is binomial with a chance of one half; likewise for the quantile one
    # standard deviation above it, with the chance 0.8413. Rounding to milliseconds moves no time across in practice.
    times = defaultdict(list)
    for job in failing:
        for trial in job.trials:
            times[trial.failure].append(trial.milliseconds)
    for failure in PHILLY_FAILURES.classes:
        row, median = times[failure.name], failure.median_milliseconds
        if row:
            assert within(sum(time <= median for time in row), len(row), 0.5), failure.name
            assert within(sum(time <= median * math.exp(1.3) for time in row), len(row), 0.841345), failure.name
    assert len(times) >= 20


def test_outcomes_have_the_chances_of_their_kind(failing):
    kinds = {failure.name: failure.kind for failure in PHILLY_FAILURES.classes}
    count, passed = Counter(), Counter()
    for job in failing:
        kind = kinds[job.trials[0].failure]
        count[kind] += 1
        passed[kind] += job.passes
    for kind, share in FailureModel().recovery.items():
        assert within(passed[kind], count[kind], share)


def test_no_spread_is_the_median_and_one_trial_a_job_is_one():
    row = FailureClass(name="a", trials=5, jobs=5, users=1, median_minutes=2.0, kind="user")
    model = FailureModel(table=FailureTable(classes=(row,)), failing=1.0, spread=0.0)
    assert {tuple(t.milliseconds for t in job.trials) for job in draw_failures(200, seed=1, model=model)} == {
        (120_000,)
    }


@given(st.integers(0, 60), st.integers(0, 2**63 - 1), st.floats(0, 1), st.floats(0, 4))
def test_draws_depend_on_the_arguments_only(jobs, seed, failing, spread):
    model = FailureModel(failing=failing, spread=spread)
    drawn = draw_failures(jobs, seed=seed, model=model)
    assert drawn == draw_failures(jobs, seed=seed, model=model)
    assert len(drawn) == jobs
    for job in drawn:
        assert len({trial.failure for trial in job.trials}) <= 1
        assert all(trial.milliseconds >= 1 for trial in job.trials)
    if failing in (0.0, 1.0):
        assert all(bool(job.trials) is bool(failing) for job in drawn)


def test_other_seeds_give_other_failures():
    assert draw_failures(200, seed=1) != draw_failures(200, seed=2)


@given(st.integers(0, 40), st.integers(0, 2**63 - 1), st.integers(1, 20))
def test_workloads_can_be_simulated(jobs, seed, gpus):
    work = draw_workload(jobs, seed=seed, gpus=gpus)
    assert work == draw_workload(jobs, seed=seed, gpus=gpus)
    assert len(work.jobs) == len(work.failures) == jobs
    assert [job.submitted for job in work.jobs] == sorted(job.submitted for job in work.jobs)
    for job, failures in zip(work.jobs, work.failures, strict=True):
        assert 1 <= job.gpus <= gpus
        assert all(trial.milliseconds <= job.milliseconds for trial in failures.trials)


def test_sizes_and_failures_of_a_workload_are_independent():
    work = draw_workload(20_000, seed=3, gpus=64, model=FailureModel(failing=0.3))
    rows = list(zip(work.jobs, work.failures, strict=True))
    for size, share in ((1, 0.70), (2, 0.08), (4, 0.09), (8, 0.10), (16, 0.03)):
        fails = [bool(failures.trials) for job, failures in rows if job.gpus == size]
        assert within(len(fails), len(rows), share)
        assert within(sum(fails), len(fails), 0.3)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: draw_failures(-1, seed=0), "jobs: found -1"),
        (lambda: draw_failures(1, seed=-1), "seed: found -1"),
        (lambda: FailureModel(failing=1.5), "failing: found 1.5"),
        (lambda: FailureModel(spread=float("inf")), "spread: found inf"),
        (lambda: FailureModel(recovery={"user": 0.5}), "recovery[infrastructure]: found nothing"),
        (lambda: FailureModel(recovery={"users": 0.5}), "recovery key: found 'users'"),
        (lambda: FailureModel(recovery=dict.fromkeys(("user", "infrastructure", "unclear"), 2)), "recovery[user]"),
        (lambda: draw_workload(1, seed=0, gpus=0), "gpus: found 0"),
        (lambda: draw_workload(1, seed=0, gpus=1, load=0), "load: found 0"),
        (lambda: draw_workload(1, seed=0, gpus=1, sizes={1: 0}), "sizes: found no part above 0"),
        (lambda: draw_workload(1, seed=0, gpus=1, sizes={0: 1}), "sizes key: found 0"),
    ],
)
def test_bad_parameters_are_refused(make, said):
    with pytest.raises(InputError) as refused:
        make()
    assert said in str(refused.value)
