"""Rules about failures compared on the same jobs with the same failures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from muri_opt.errors import InputError
from muri_opt.replay.failures.attempts import JobFailures
from muri_opt.replay.failures.cluster_run import ClusterJob, ClusterRun, run_cluster
from muri_opt.replay.failures.rules import FailureRules
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.field_checks import check_kind, check_unique, pairs
from muri_opt.rounds.quantities import MAX_GPUS, whole

POOL_GPUS = 1
"""GPUs of the pre-run pool, unless said otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleReport:
    """What one set of rules did; GPU times in GPU-milliseconds, other times in milliseconds.

    ``saved`` is what failures and pre-runs cost less than under the first rules, ``mean_completion`` the mean time from
    submission to the end of the jobs that passed, ``mean_common`` that of the jobs that passed under all rules, and
    ``mean_notice`` the mean time from submission to the first failure of the jobs that had one.
    """

    name: str
    passed: int
    given_up: int
    withdrawn: int
    failed_trials: int
    caught: int
    used: int
    useful: int
    lost: int
    pre_run: int
    saved: int
    makespan: int
    mean_completion: Fraction | None
    mean_common: Fraction | None
    mean_notice: Fraction | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureReport:
    """The rules side by side, the first being what the others are held against."""

    jobs: int
    gpus: int
    pool_gpus: int
    rules: tuple[RuleReport, ...]


def simulate(
    jobs: Sequence[ClusterJob],
    failures: Sequence[JobFailures],
    rules: Mapping[str, FailureRules],
    gpus: int,
    pool_gpus: int = POOL_GPUS,
) -> FailureReport:
    """Return how each set of rules fares on a cluster of ``gpus`` GPUs, first come, first served.

    ``failures`` has one entry a job. Where there is a pre-run, ``pool_gpus`` of the GPUs are set aside for it.
    """
    whole("gpus", gpus, MAX_GPUS, 1)
    whole("pool_gpus", pool_gpus, MAX_GPUS, 1)
    _check(jobs, failures, rules, gpus, pool_gpus)
    runs = {name: run_cluster(jobs, failures, chosen, gpus=gpus, pool_gpus=pool_gpus) for name, chosen in rules.items()}
    common = [at for at in range(len(jobs)) if all(run.ends[at].ending == "passed" for run in runs.values())]
    first = next(iter(runs.values()))
    reports = tuple(_report(name, run, first, jobs, common) for name, run in runs.items())
    return FailureReport(jobs=len(jobs), gpus=gpus, pool_gpus=pool_gpus, rules=reports)


def _report(name: str, run: ClusterRun, first: ClusterRun, jobs: Sequence[ClusterJob], common: list[int]) -> RuleReport:
    took = [end.at - job.submitted for job, end in zip(jobs, run.ends, strict=True)]
    endings = [end.ending for end in run.ends]
    seen = [(job, end.first_failure) for job, end in zip(jobs, run.ends, strict=True)]
    return RuleReport(
        name=name,
        passed=endings.count("passed"),
        given_up=endings.count("given up"),
        withdrawn=endings.count("withdrawn"),
        failed_trials=run.failed_trials,
        caught=run.caught,
        used=run.used,
        useful=run.useful,
        lost=run.lost,
        pre_run=run.pre_run,
        saved=first.lost + first.pre_run - run.lost - run.pre_run,
        makespan=run.makespan,
        mean_completion=_mean(time for time, ending in zip(took, endings, strict=True) if ending == "passed"),
        mean_common=_mean(took[at] for at in common),
        mean_notice=_mean(at - job.submitted for job, at in seen if at is not None),
    )


def _mean(times: Iterable[int]) -> Fraction | None:
    every = list(times)
    return Fraction(sum(every), len(every)) if every else None


def _check(
    jobs: Sequence[ClusterJob],
    failures: Sequence[JobFailures],
    rules: Mapping[str, FailureRules],
    gpus: int,
    pool_gpus: int,
) -> None:
    """Refuse what cannot be played: rows that do not match, jobs that never fit, failures nobody knows."""
    if len(failures) != len(jobs):
        raise InputError("failures", f"{len(failures)} for {len(jobs)} jobs", "one entry a job")
    if not rules:
        raise InputError("rules", "none", "at least one set of rules")
    for name, chosen in pairs("rules", rules):
        check_kind(f"rules[{shown(name)}]", chosen, FailureRules)
    for position, (job, failing) in enumerate(zip(jobs, failures, strict=True)):
        check_kind(f"jobs[{position}]", job, ClusterJob)
        check_kind(f"failures[{position}]", failing, JobFailures)
    check_unique("jobs", [job.id for job in jobs])
    room = gpus - (pool_gpus if any(chosen.pre_run is not None for chosen in rules.values()) else 0)
    for position, (job, failing) in enumerate(zip(jobs, failures, strict=True)):
        if job.gpus > room:
            raise InputError(f"jobs[{position}].gpus", str(job.gpus), f"at most {room}, which gangs can have")
        for at, trial in enumerate(failing.trials):
            field = f"failures[{position}].trials[{at}]"
            if trial.milliseconds > job.milliseconds:
                allowed = f"at most the job's {job.milliseconds} milliseconds"
                raise InputError(f"{field}.milliseconds", str(trial.milliseconds), allowed)
            for chosen in rules.values():
                if trial.failure not in chosen.experience.table.places:
                    raise InputError(f"{field}.failure", shown(trial.failure), "a class of the rules' table")
