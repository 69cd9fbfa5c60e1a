"""Failures in a replay: which runs of which jobs fail, and the rule that says whether a job runs again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from muri_opt.errors import unknown_name
from muri_opt.replay.failures import Experience, FixedRetry, JobFailures, PastTrial, RetryRule
from muri_opt.replay.workload import Workload
from muri_opt.rounds.quantities import MILLISECONDS_PER_SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Failures:
    """The failing runs of jobs, by id, and the retry rule with what it knows at first.

    A run fails once it has worked, restarts left out, for as long as its trial says, unless the job ends before. All it
    did is lost: the next run begins anew.
    """

    jobs: Mapping[str, JobFailures]
    retry: RetryRule = field(default_factory=FixedRetry)
    experience: Experience = field(default_factory=Experience)


class FailingRuns:
    """The failures of a replay as they come."""

    def __init__(self, workload: Workload, failures: Failures | None) -> None:
        given = failures or Failures(jobs={})
        places = {job.id: position for position, job in enumerate(workload.jobs)}
        for name in given.jobs:
            if name not in places:
                raise unknown_name("failures", name, places)
        self._of = {places[name]: fails for name, fails in given.jobs.items()}
        self._past: dict[int, list[PastTrial]] = {position: [] for position in self._of}
        self._retry, self._known = given.retry, given.experience

    def fails_in(self, job: int) -> float:
        """Return after how many seconds of work the next run of a job fails; infinity if it passes."""
        fails = self._of.get(job)
        at = len(self._past.get(job, ()))
        if fails is None or at >= len(fails.trials):
            return inf
        return fails.trials[at].milliseconds / MILLISECONDS_PER_SECOND

    def retries(self, job: int, *, gpus: int) -> bool:
        """Note that the run has failed, learn from it, and return whether the job runs again."""
        fails, past = self._of[job], self._past[job]
        trial = fails.trials[len(past)]
        if past:
            self._known = self._known.retried(past[-1].failure, passed=False)
        seconds = trial.milliseconds / MILLISECONDS_PER_SECOND
        past.append(PastTrial(failure=trial.failure, seconds=seconds, gpus=gpus))
        self._known = self._known.failed(past[-1])
        if len(past) == len(fails.trials) and not fails.passes:
            return False
        return self._retry.decide(past, gpus=gpus, value=None, experience=self._known).retry

    def passed(self, job: int) -> None:
        """Learn that the job has ended well."""
        past = self._past.get(job)
        if past:
            self._known = self._known.retried(past[-1].failure, passed=True)
