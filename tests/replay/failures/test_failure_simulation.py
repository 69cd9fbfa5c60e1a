"""The simulation: small clusters by hand, and conservation, capacity and determinism on drawn workloads."""

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from muri_opt.errors import InputError
from muri_opt.replay.failures import (
    AdaptiveRetry,
    ClusterJob,
    FailureModel,
    FailureRules,
    FixedRetry,
    JobFailures,
    PreRun,
    Trial,
    compared_rules,
    draw_workload,
    simulate,
)
from muri_opt.replay.failures.cluster_run import Gpus, run_cluster

TYPO = "syntax error"
MINUTE = 60_000


def job(name, submitted, gpus, milliseconds):
    return ClusterJob(id=name, submitted=submitted, gpus=gpus, milliseconds=milliseconds)


def fails(*times, passes=False, name=TYPO):
    return JobFailures(trials=tuple(Trial(failure=name, milliseconds=time) for time in times), passes=passes)


FIXED = FailureRules(retry=FixedRetry(retries=2))


def test_a_cluster_by_hand():
    # 4 GPUs. a (4 GPUs) fails at 10 and goes behind b and c; b (2) runs 10-30, c (3) must wait for it: 30-35; a again
    # 35-42, fails, and passes in 42-142.
    jobs = [job("a", 0, 4, 100), job("b", 1, 2, 20), job("c", 2, 3, 5)]
    failures = [fails(10, 7, passes=True), JobFailures(), JobFailures()]
    run = run_cluster(jobs, failures, FIXED, gpus=4, pool_gpus=1)
    assert [(end.ending, end.at, end.first_failure) for end in run.ends] == [
        ("passed", 142, 10),
        ("passed", 30, None),
        ("passed", 35, None),
    ]
    assert (run.useful, run.lost, run.pre_run) == (400 + 40 + 15, 4 * 17, 0)
    assert (run.used, run.makespan, run.failed_trials) == (455 + 68, 142, 2)


def test_a_pre_run_by_hand():
    # 5 GPUs, one of them the pool, where a fails at 3 and b waits till then and goes through at 3 + 5. a's second run
    # begins at 3 and fails at 12, its user withdraws it; b takes the cluster at 12.
    jobs = [job("a", 0, 4, 100), job("b", 0, 4, 20), job("c", 40, 1, 6)]
    failures = [fails(3, 9), JobFailures(), JobFailures()]
    rules = FailureRules(retry=FixedRetry(), pre_run=PreRun(milliseconds=5))
    run = run_cluster(jobs, failures, rules, gpus=5, pool_gpus=1)
    assert [(end.ending, end.at) for end in run.ends] == [("withdrawn", 12), ("passed", 32), ("passed", 46)]
    assert (run.useful, run.lost, run.pre_run, run.caught) == (80 + 6, 36, 3 + 5, 1)
    assert run.used == 86 + 36 + 8


def test_a_failure_after_the_pre_run_costs_the_gang():
    rules = FailureRules(retry=FixedRetry(), pre_run=PreRun(milliseconds=5))
    run = run_cluster([job("a", 0, 4, 100)], [fails(6)], rules, gpus=5, pool_gpus=1)
    assert (run.lost, run.pre_run, run.caught, run.ends[0].at) == (24, 5, 0, 11)


def test_rules_that_give_up():
    jobs = [job("a", 0, 2, 10 * MINUTE)]
    failures = [fails(MINUTE, MINUTE, MINUTE, MINUTE, passes=True)]
    rules = {
        "twice": FIXED,
        "adaptive": FailureRules(retry=AdaptiveRetry()),
        "often": FailureRules(retry=FixedRetry(retries=9)),
    }
    report = simulate(jobs, failures, rules, gpus=2)
    assert [(row.passed, row.given_up, row.failed_trials) for row in report.rules] == [(0, 1, 3), (0, 1, 2), (1, 0, 4)]
    assert [row.saved for row in report.rules] == [0, 2 * MINUTE, -2 * MINUTE]
    assert [row.mean_completion for row in report.rules] == [None, None, 14 * MINUTE]
    assert [row.mean_notice for row in report.rules] == [MINUTE] * 3
    assert all(row.mean_common is None for row in report.rules)


def test_adaptive_retry_learns_from_other_jobs():
    """A class that is unclear: after runs that never pass, later jobs are given up at their first failure."""
    hour = 60 * MINUTE
    jobs = [job(f"j{n}", n * 100 * hour, 1, hour) for n in range(12)]
    failures = [fails(hour, hour, name="no signature")] * 12
    rules = {"adaptive": FailureRules(retry=AdaptiveRetry(worth_milliseconds=2 * hour, multiple=1))}
    row = simulate(jobs, failures, rules, gpus=1).rules[0]
    # A run at risk is worth about an hour, and a retry 2 / (2 + n) hours after n that failed. The prior mean of 1.87
    # minutes * e^0.5 counts as a run, so the mean time to failure after f failures is just below f / (f + 1) hours.
    # Job 0: 1 h > 0.53 h, retried (n = 1). Job 1: 2/3 h < 0.76 h, given up; so are all others.
    assert (row.withdrawn, row.given_up, row.failed_trials) == (1, 11, 13)


def small(draw_failures_of):
    return st.tuples(st.integers(0, 40), st.integers(1, 4), st.integers(1, 30), draw_failures_of)


WORK = st.lists(
    small(
        st.tuples(
            st.lists(st.tuples(st.floats(0, 1), st.sampled_from([TYPO, "MPI error", "no signature"])), max_size=5),
            st.booleans(),
        )
    ),
    max_size=12,
)


def build(rows):
    jobs, failures = [], []
    for at, (submitted, gpus, length, (trials, passes)) in enumerate(rows):
        jobs.append(job(f"j{at}", submitted, gpus, length))
        row = tuple(Trial(failure=name, milliseconds=1 + int(part * (length - 1))) for part, name in trials)
        failures.append(JobFailures(trials=row, passes=passes or not row))
    return jobs, failures


@given(WORK, st.integers(5, 9), st.integers(1, 10), st.integers(0, 3))
def test_gpu_time_is_conserved_and_every_job_ends(rows, gpus, length, retries):
    jobs, failures = build(rows)
    for retry in (FixedRetry(retries=retries), AdaptiveRetry(worth_milliseconds=20)):
        for pre_run in (None, PreRun(milliseconds=length, by_gpus={3: 2})):
            rules = FailureRules(retry=retry, pre_run=pre_run)
            run = run_cluster(jobs, failures, rules, gpus=gpus, pool_gpus=1)
            assert run == run_cluster(jobs, failures, rules, gpus=gpus, pool_gpus=1)
            assert run.used == run.useful + run.lost + run.pre_run
            assert run.used <= gpus * run.makespan
            passed = [at for at, end in enumerate(run.ends) if end.ending == "passed"]
            assert run.useful == sum(jobs[at].gpus * jobs[at].milliseconds for at in passed)
            assert all(failures[at].passes for at in passed)
            for at, end in enumerate(run.ends):
                shortest = jobs[at].milliseconds if end.ending == "passed" else failures[at].trials[0].milliseconds
                assert end.at >= jobs[at].submitted + shortest
                assert (end.first_failure is None) == (not failures[at].trials)


@given(WORK)
def test_a_pre_run_changes_no_outcome_of_fixed_retries(rows):
    jobs, failures = build(rows)
    plain = run_cluster(jobs, failures, FIXED, gpus=5, pool_gpus=1)
    ahead = run_cluster(
        jobs, failures, FailureRules(retry=FIXED.retry, pre_run=PreRun(milliseconds=8)), gpus=5, pool_gpus=1
    )
    assert [end.ending for end in plain.ends] == [end.ending for end in ahead.ends]
    assert (plain.failed_trials, plain.useful) == (ahead.failed_trials, ahead.useful)
    caught = [
        at for at, row in enumerate(failures) if jobs[at].gpus > 1 and row.trials and row.trials[0].milliseconds <= 8
    ]
    assert ahead.caught == len(caught)
    assert plain.lost - ahead.lost == sum(jobs[at].gpus * failures[at].trials[0].milliseconds for at in caught)


def test_the_four_rules_on_a_drawn_workload():
    work = draw_workload(400, seed=5, gpus=31, model=FailureModel(failing=0.4))
    report = simulate(work.jobs, work.failures, compared_rules(), 32)
    assert report == simulate(work.jobs, work.failures, compared_rules(), 32)
    assert [row.name for row in report.rules] == [
        *("fixed retry", "adaptive retry", "pre-run, fixed", "pre-run, adaptive"),
    ]
    fixed, adaptive, ahead, _ = report.rules
    for row in report.rules:
        assert row.used == row.useful + row.lost + row.pre_run
        assert row.passed + row.given_up + row.withdrawn == report.jobs == 400
        assert row.saved == fixed.lost + fixed.pre_run - row.lost - row.pre_run
    assert fixed.saved == fixed.caught == fixed.pre_run == 0
    assert adaptive.failed_trials < fixed.failed_trials
    assert ahead.caught > 0
    assert ahead.passed == fixed.passed


def test_nothing_to_do():
    row = simulate([], [], {"fixed": FIXED}, gpus=1).rules[0]
    assert (row.used, row.makespan, row.mean_completion) == (0, 0, None)


def test_means_are_exact():
    jobs = [job("a", 0, 1, 1), job("b", 0, 1, 1), job("c", 0, 1, 2)]
    assert simulate(jobs, [JobFailures()] * 3, {"fixed": FIXED}, gpus=3).rules[0].mean_common == Fraction(4, 3)


def test_more_gpus_than_there_are_is_a_fault():
    gpus = Gpus(size=2)
    gpus.take(2, now=3)
    with pytest.raises(RuntimeError, match="3 GPUs busy of 2"):
        gpus.take(1, now=4)
    gpus = Gpus(size=2)
    with pytest.raises(RuntimeError, match="-1 GPUs busy of 2"):
        gpus.give(1, now=4)


ONE = [job("a", 0, 2, 10)]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: simulate(ONE, [], {"fixed": FIXED}, gpus=4), "failures: found 0 for 1 jobs"),
        (lambda: simulate(ONE, [fails(3)], {}, gpus=4), "rules: found none"),
        (lambda: simulate(ONE, [fails(3)], {"a": "fixed"}, gpus=4), "rules['a']: found 'fixed'"),
        (lambda: simulate(ONE, [fails(3)], {"fixed": FIXED}, gpus=1), "jobs[0].gpus: found 2; allowed: at most 1"),
        (lambda: simulate(ONE, [fails(3)], compared_rules(), gpus=2), "jobs[0].gpus: found 2; allowed: at most 1"),
        (lambda: simulate(ONE, [fails(11)], {"fixed": FIXED}, gpus=4), "failures[0].trials[0].milliseconds: found 11"),
        (lambda: simulate(ONE, [fails(1, name="x")], {"fixed": FIXED}, gpus=4), "failures[0].trials[0].failure"),
        (lambda: simulate(ONE * 2, [fails(3)] * 2, {"fixed": FIXED}, gpus=4), "jobs[1].id: found 'a'"),
        (lambda: simulate(["a"], [fails(3)], {"fixed": FIXED}, gpus=4), "jobs[0]: found 'a'"),
        (lambda: simulate(ONE, ["a"], {"fixed": FIXED}, gpus=4), "failures[0]: found 'a'"),
        (lambda: simulate(ONE, [fails(3)], {"fixed": FIXED}, gpus=0), "gpus: found 0"),
        (lambda: simulate(ONE, [fails(3)], {"fixed": FIXED}, gpus=4, pool_gpus=0), "pool_gpus: found 0"),
        (lambda: job("", 0, 1, 1), "id: found ''"),
        (lambda: job("a", -1, 1, 1), "submitted: found -1"),
        (lambda: job("a", 0, 0, 1), "gpus: found 0"),
        (lambda: job("a", 0, 1, 0), "milliseconds: found 0"),
    ],
)
def test_bad_input_is_refused(make, said):
    with pytest.raises(InputError) as refused:
        make()
    assert said in str(refused.value)
