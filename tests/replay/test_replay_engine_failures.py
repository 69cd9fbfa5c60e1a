"""Runs that fail in a replay."""

from __future__ import annotations

import pytest
from replay_watch import cluster_of, job, work_of

from muri_opt.errors import InputError
from muri_opt.replay.engine.failures import Failures
from muri_opt.replay.failures import AdaptiveRetry, FixedRetry, JobFailures, Trial
from muri_opt.replay.run import replay

ONE_GPU = cluster_of(1)


def failing(*seconds: float, passes: bool = True, failure: str = "core dump") -> JobFailures:
    trials = tuple(Trial(failure=failure, milliseconds=round(1000 * second)) for second in seconds)
    return JobFailures(trials=trials, passes=passes)


@pytest.mark.parametrize("fast", [False, True])
def test_a_run_that_fails_begins_anew(fast):
    work = work_of(job("a", 0, 10, 2), job("b", 1, 5, 2))
    found = replay(work, cluster_of(2), "fifo", failures=Failures(jobs={"a": failing(4, 6)}), fast=fast)
    # a comes first again each time: 4 s, 6 s, and 10 s that pass.
    assert found.jobs.ended.tolist() == [20.0, 25.0]
    assert found.jobs.failed.tolist() == [20.0, 0.0]
    assert found.jobs.gpu_seconds.tolist() == [40.0, 10.0]
    assert found.jobs.restarts.tolist() == found.jobs.preemptions.tolist() == [0, 0]


def test_only_time_at_work_counts_towards_a_failure():
    # a is preempted from 5 to 8 s, restarts until 10 s, and fails after 7 s of work, at 12 s. Then it launches again.
    work = work_of(job("a", 0, 20, restart_seconds=2), job("b", 5, 3))
    failures = Failures(jobs={"a": failing(7)})
    assert replay(work, ONE_GPU, "srtf", failures=failures).jobs.ended.tolist() == [32.0, 8.0]
    launched = replay(work, ONE_GPU, "srtf", failures=failures, launch_seconds=1.0)
    # Launch until 1 s; b comes at 5, launches and ends at 9; a restarts until 11, fails at 14, launches, and ends.
    assert launched.jobs.ended.tolist() == [35.0, 9.0]


def test_a_job_that_ends_before_it_would_fail_has_passed():
    found = replay(work_of(job("a", 0, 10)), ONE_GPU, "fifo", failures=Failures(jobs={"a": failing(10)}))
    assert (found.jobs.ended.tolist(), found.jobs.failed.tolist()) == ([10.0], [0.0])


@pytest.mark.parametrize(
    ("fails", "retry", "ended"),
    [
        (failing(1, 2, 4, passes=False), FixedRetry(retries=9), 7.0),  # withdrawn after its last failure
        (failing(1, 2, 4, 8), FixedRetry(retries=1), 3.0),
        (failing(1, 1, 1, failure="syntax error"), AdaptiveRetry(), 2.0),  # the same user error twice
    ],
)
def test_a_job_that_gives_up_ends_without_success(fails, retry, ended):
    work = work_of(job("a", 0, 100, 2), job("b", 0, 5, 2))
    found = replay(work, cluster_of(2), "fifo", failures=Failures(jobs={"a": fails}, retry=retry))
    assert found.jobs.ended.tolist() == [ended, ended + 5]
    assert found.jobs.failed.tolist() == [2 * ended, 0.0]
    assert found.jobs.gpu_seconds.tolist() == [2 * ended, 10.0]


def test_who_has_failed_waits_for_its_next_run():
    work = work_of(job("a", 0, 10), job("b", 1, 3))
    found = replay(work, ONE_GPU, "las", failures=Failures(jobs={"a": failing(1)}), interval=4)
    # a fails at 1 s; at 4 s b has had less, and from 8 s on a begins anew.
    assert found.jobs.started.tolist() == [0.0, 4.0]
    assert found.jobs.ended.tolist() == [18.0, 7.0]
    assert found.jobs.capacity.tolist() == [7.0, 3.0]


def test_what_is_learnt_goes_into_the_next_verdict():
    seen = []

    class Curious(FixedRetry):
        def decide(self, history, *, gpus, value, experience):
            seen.append((len(history), gpus, float(experience.chance("core dump"))))
            return FixedRetry.decide(self, history, gpus=gpus, value=value, experience=experience)

    work = work_of(job("a", 0, 3), job("b", 0, 3))
    failures = Failures(jobs={"a": failing(1, 1), "b": failing(2)}, retry=Curious())
    assert replay(work, ONE_GPU, "fifo", failures=failures).jobs.ended.tolist() == [5.0, 10.0]
    # Even odds at first; a retry has failed, then one has passed: 1 of 3, then 2 of 4.
    assert seen == [(1, 1, 0.5), (2, 1, pytest.approx(1 / 3)), (1, 1, 0.5)]


def test_failures_of_a_job_that_is_not_there_are_refused():
    with pytest.raises(InputError, match="did you mean 'alpha'"):
        replay(work_of(job("alpha", 0, 3)), ONE_GPU, "fifo", failures=Failures(jobs={"alfa": failing(1)}))
