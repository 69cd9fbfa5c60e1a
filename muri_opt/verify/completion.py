"""What work is worth for completion times, by the verifier's own arithmetic.

A second of work of a job costs, at the price of GPUs at the job's end, at least (1 + lambda k) t(k) for some number k
of GPUs, t(k) being how long it takes there, and lambda the jobs with more service left for each GPU of the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muri_opt.errors import InputError
from muri_opt.rounds import Job
from muri_opt.verify.amounts import micro


def worth_of_work(service: Sequence[int], seconds: Sequence[Mapping[int, int]], gpus: int) -> list[int]:
    """Return what a second of each job's work is worth, in millionths of a job, rounded down.

    ``seconds[j]`` are the microseconds that it takes by the number of GPUs; a job that can have none is worth nothing.
    """
    last = {amount: place for place, amount in enumerate(sorted(service))}
    whole, found = max(1, gpus), []
    for amount, times in zip(service, seconds, strict=True):
        longer = len(service) - 1 - last[amount]
        found.append(min((time * (whole + longer * k) for k, time in times.items()), default=0) // whole)
    return found


def left_over(job: Job) -> int:
    """Return the service that a job has left with the GPUs it asks for."""
    if job.remaining_iterations is None or job.iteration_seconds is None:
        field = "remaining_iterations" if job.remaining_iterations is None else "iteration_seconds"
        raise InputError(f"job {job.id!r}.{field}", "nothing", "a number: work is worth more, the less of it is left")
    return job.remaining_iterations * micro(job.iteration_seconds) * max(job.gpus, 1)


def had(job: Job) -> int:
    """Return the service that a job has had."""
    if job.attained_gpu_seconds is None:
        raise InputError(f"job {job.id!r}.attained_gpu_seconds", "nothing", "a number: jobs are ranked by it")
    return round(job.attained_gpu_seconds * 1000)
