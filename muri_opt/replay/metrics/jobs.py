"""What can be said of each job of a replay: how long it waited, how much it was slowed down, how fair that is."""

from __future__ import annotations

import numpy as np

from muri_opt.errors import InputError
from muri_opt.replay.outcome import Floats, JobOutcomes, Outcome


def waiting_seconds(jobs: JobOutcomes) -> Floats:
    """Return the seconds each job was without GPUs between its submission and its end."""
    return np.asarray(jobs.fairness + jobs.fragmentation + jobs.capacity)


def slowdown(jobs: JobOutcomes) -> Floats:
    """Return the completion time over the time alone on the GPUs asked for; an elastic job may be below 1."""
    return np.asarray(jobs.completion / jobs.ideal)


def contention(jobs: JobOutcomes) -> Floats:
    """Return how many jobs, itself included, were there on average while each job was.

    Exact: between two events the number is constant, and its integral is a straight line.
    """
    moments = np.concatenate([jobs.submitted, jobs.ended])
    steps = np.repeat((1.0, -1.0), len(jobs.ids))
    order = np.argsort(moments, kind="stable")
    moments, present = moments[order], np.cumsum(steps[order])
    area = np.concatenate([[0.0], np.cumsum(present[:-1] * np.diff(moments))]) if len(moments) else moments
    span = jobs.completion
    shared = np.interp(jobs.ended, moments, area) - np.interp(jobs.submitted, moments, area) if len(span) else span
    return np.divide(shared, span, out=np.ones(len(span)), where=span > 0)


def finish_time_fairness(outcome: Outcome) -> Floats:
    """Return Themis' rho: the completion time over that on an equal share of the cluster, had the job it all the time.

    The share is 1/n of the GPUs, n the contention. A job that asks for more is slowed down in proportion.
    """
    jobs = outcome.jobs
    cut = np.maximum(1.0, jobs.gpus * contention(jobs) / outcome.total_gpus)
    return np.asarray(jobs.completion / (jobs.ideal * cut))


def job_table(outcome: Outcome) -> dict[str, list[str | None] | list[float] | list[int]]:
    """Return the jobs as columns of equal length, for a file."""
    jobs = checked(outcome).jobs
    return {
        "id": list(jobs.ids),
        "tenant": list(jobs.tenants),
        "gpus": jobs.gpus.tolist(),
        "submitted": jobs.submitted.tolist(),
        "started": jobs.started.tolist(),
        "ended": jobs.ended.tolist(),
        "completion": jobs.completion.tolist(),
        "ideal": jobs.ideal.tolist(),
        "held": jobs.held.tolist(),
        "waiting": waiting_seconds(jobs).tolist(),
        "fairness": jobs.fairness.tolist(),
        "fragmentation": jobs.fragmentation.tolist(),
        "capacity": jobs.capacity.tolist(),
        "slowdown": slowdown(jobs).tolist(),
        "rho": finish_time_fairness(outcome).tolist(),
        "gpu_seconds": jobs.gpu_seconds.tolist(),
        "lost": jobs.lost.tolist(),
        "failed": jobs.failed.tolist(),
        "restarts": jobs.restarts.tolist(),
        "preemptions": jobs.preemptions.tolist(),
        "migrations": jobs.migrations.tolist(),
    }


def checked(outcome: Outcome) -> Outcome:
    """Return the outcome, or refuse one in which a job has not ended: its completion time is not known."""
    open_ = np.flatnonzero(~np.isfinite(outcome.jobs.ended))
    if len(open_):
        first = int(open_[0])
        where = f"outcome.jobs.ended[{first}] ({outcome.jobs.ids[first]!r})"
        raise InputError(where, str(outcome.jobs.ended[first]), "the second at which the job ended")
    return outcome
