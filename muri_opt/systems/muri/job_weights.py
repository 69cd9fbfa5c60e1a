"""What the objectives of the chapter *grouping* count of each job beside its stages: its weight and its time alone."""

from __future__ import annotations

import numpy as np

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND
from muri_opt.systems.completion import SECOND, Behind, completion_weights, service_left
from muri_opt.systems.muri.interleaving import alone_microseconds
from muri_opt.systems.orders import priority_order


def job_weights(round_: Round, objective: str, order: str) -> Ints:
    """Return what the work of each job weighs: by its rank, by its worth for completion times, or nothing.

    By ``progress`` the last job of the order has weight 1, the one before it 2, and so on. By ``completion`` a second
    of work alone is worth so many millionths of a job: jobs have the GPUs that they ask for and no others.
    """
    jobs = len(round_.jobs)
    weight = np.zeros(jobs, dtype=np.int64)
    if objective == "progress":
        weight[priority_order(round_, order)] = np.arange(jobs)[::-1] + 1
    if objective == "completion":
        return _worth(round_, order)
    return weight


def times_alone(round_: Round, objective: str) -> Ints:
    """Return the time of an iteration alone of each job, in microseconds; 0 where the objective does not look at it."""
    if objective == "efficiency":
        return np.zeros(len(round_.jobs), dtype=np.int64)
    return all_times_alone(round_)


@recalled
def all_times_alone(round_: Round) -> Ints:
    """Return the time of an iteration alone of each job, in microseconds."""
    seconds = [job.iteration_seconds for job in round_.jobs]
    if None in seconds:
        return np.array([alone_microseconds(job) for job in round_.jobs], dtype=np.int64)
    return np.rint(np.array(seconds, dtype=np.float64) * MICROSECONDS_PER_SECOND).astype(np.int64)  # as round() does


@recalled
def worth_order(round_: Round, order: str) -> list[int]:
    """Return the jobs by what their work is worth for a GPU, the most first, after their priority.

    Who is worth the same is served as the order says.
    """
    weight, gpus = _worth(round_, order).tolist(), np.asarray(round_.amounts.g).tolist()
    priority = round_.priorities.tolist()
    return sorted(priority_order(round_, order), key=lambda job: (-priority[job], -weight[job] / max(1, gpus[job])))


@recalled
def _worth(round_: Round, order: str) -> Ints:
    priority_order(round_, order)  # refuses a job that does not say what it is ranked by
    behind = Behind.by_attained(round_.jobs) if order == "las" else Behind.known(service_left(round_.jobs))
    gpus = np.asarray(round_.amounts.g)[:, None]
    return completion_weights(behind, np.full(gpus.shape, SECOND), gpus, round_.cluster.total_gpus)
