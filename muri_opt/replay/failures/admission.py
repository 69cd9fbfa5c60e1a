"""Failures as decisions of a round: who is not retried, and who runs on one GPU first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from muri_opt.errors import InputError
from muri_opt.replay.failures.attempts import PastTrial
from muri_opt.replay.failures.rules import FailureRules
from muri_opt.rounds.error_text import listed, shown
from muri_opt.rounds.field_checks import check_kind, items, pairs
from muri_opt.rounds.job import Job
from muri_opt.rounds.quantities import (
    MIB_PER_GIB,
    MICROSECONDS_PER_SECOND,
    MILLI_PER_CPU,
    MILLISECONDS_PER_SECOND,
    mebibytes,
    microseconds,
    milli_cpus,
)
from muri_opt.rounds.round import Round

_MICROSECONDS: Final = MICROSECONDS_PER_SECOND // MILLISECONDS_PER_SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """A job that asks for one GPU, to be stopped after ``seconds`` if it has not failed by then."""

    job: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A job that is not retried, why, and the GPU seconds one more run was expected to lose."""

    job: str
    reason: str
    saved_gpu_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried:
    """A failed job that stays in the round, and why."""

    job: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The round to solve, and how it differs from the one that was given; ids stay as they are."""

    round: Round
    pre_run: tuple[Ahead, ...]
    refused: tuple[Refused, ...]
    retried: tuple[Retried, ...]


def admit(round_: Round, histories: Mapping[str, Sequence[PastTrial]], rules: FailureRules) -> Admission:
    """Return the round without the jobs not worth a retry, and with jobs that never ran asking for one GPU.

    ``histories`` holds the failed trials of jobs of the round by id, in their order. Running jobs are not touched. A
    waiting job with failed trials is the retry rule's; one of several GPUs that never ran is the pre-run's.
    """
    past = _checked(round_, histories, rules)
    kept: list[Job] = []
    ahead: list[Ahead] = []
    refused: list[Refused] = []
    retried: list[Retried] = []
    for job in round_.jobs:
        trials = past.get(job.id, ())
        if job.state == "running":
            kept.append(job)
        elif trials:
            verdict = rules.retry.decide(trials, gpus=max(job.gpus, 1), value=_value(job), experience=rules.experience)
            if verdict.retry:
                kept.append(job)
                retried.append(Retried(job=job.id, reason=verdict.reason))
            else:
                saved = round(verdict.expected_loss) / MILLISECONDS_PER_SECOND
                refused.append(Refused(job=job.id, reason=verdict.reason, saved_gpu_seconds=saved))
        else:
            length = 0 if rules.pre_run is None or _has_run(job) else rules.pre_run.length(job.gpus)
            small = _on_one_gpu(job, length) if length else None
            kept.append(small or job)
            if small:
                ahead.append(Ahead(job=job.id, seconds=length / MILLISECONDS_PER_SECOND))
    return Admission(
        round=msgspec.structs.replace(round_, jobs=tuple(kept)),
        pre_run=tuple(ahead),
        refused=tuple(refused),
        retried=tuple(retried),
    )


def _checked(
    round_: Round, histories: Mapping[str, Sequence[PastTrial]], rules: FailureRules
) -> dict[str, tuple[PastTrial, ...]]:
    """Return the histories as tuples, or refuse the first fault: an unknown job, no trial, an unknown class."""
    past: dict[str, tuple[PastTrial, ...]] = {}
    for job, trials in pairs("histories", histories):
        field = f"histories[{shown(job)}]"
        if job not in round_.job_index:
            raise InputError(field, "a job that is not in the round", f"a job of the round: {listed(round_.job_index)}")
        past[job] = items(field, trials)
        for position, trial in enumerate(past[job]):
            check_kind(f"{field}[{position}]", trial, PastTrial)
            try:
                rules.experience.table.find(trial.failure)
            except InputError as error:
                raise error.inside(f"{field}[{position}]") from None
    return past


def _has_run(job: Job) -> bool:
    return bool(job.executed_seconds or job.attained_gpu_seconds or job.restarts)


def _value(job: Job) -> int | None:
    """Return the GPU-milliseconds the job still needs, if it says so."""
    if job.remaining_iterations is None or job.iteration_seconds is None:
        return None
    return max(job.gpus, 1) * (job.remaining_iterations * microseconds(job.iteration_seconds) // _MICROSECONDS)


def _on_one_gpu(job: Job, length: int) -> Job | None:
    """Return the job as it asks for its pre-run, or None if it has plans or a scaling table and none for one GPU.

    CPUs and memory are its share of one GPU, rounded up. It makes no promise, and has at most the iterations left that
    would fit into the pre-run, so that rules which look at the remaining time see a short job.
    """
    plans = None if job.plans is None else tuple(plan for plan in job.plans if plan.gpus == 1)
    scaling = None if job.scaling is None else {size: rate for size, rate in job.scaling.items() if size == 1}
    if (job.plans and not plans) or scaling == {}:
        return None
    changes: dict[str, Any] = {"gpus": 1, "plans": plans, "scaling": scaling, "guarantee": None}
    changes |= {"plan": None, "placement": None}
    if job.cpus is not None:
        changes["cpus"] = -(-milli_cpus(job.cpus) // job.gpus) / MILLI_PER_CPU
    if job.memory_gib is not None:
        changes["memory_gib"] = -(-mebibytes(job.memory_gib) // job.gpus) / MIB_PER_GIB
    if job.remaining_iterations is not None and job.iteration_seconds:
        fitting = -(-length * _MICROSECONDS // microseconds(job.iteration_seconds))
        changes["remaining_iterations"] = min(job.remaining_iterations, fitting)
    return msgspec.structs.replace(job, **changes)
