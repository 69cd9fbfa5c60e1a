"""What work is worth for completion times, by the verifier's own arithmetic.

A second of work of a job costs, at the price of GPUs at the job's end, at least (1 + lambda k) t(k) for some number k
of GPUs, t(k) being how long it takes there, and lambda the jobs with more service left for each GPU of the cluster,
or those that likely have more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from muri_opt.errors import InputError
from muri_opt.rounds import Job
from muri_opt.verify.amounts import micro


def worth_of_work(behind: tuple[int, Sequence[int]], seconds: Sequence[Mapping[int, int]], gpus: int) -> list[int]:
    """Return what a second of each job's work is worth, in millionths of a job, rounded down.

    ``behind`` are the parts of a job and how many of them are behind each, as :func:`behind_known` and
    :func:`behind_guessed` say; ``seconds[j]`` the microseconds that it takes by the number of GPUs: a job that can have
    none is worth nothing.
    """
    parts, longer = behind
    whole, found = parts * max(1, gpus), []
    for others, times in zip(longer, seconds, strict=True):
        found.append(min((time * (whole + others * k) for k, time in times.items()), default=0) // whole)
    return found


def behind_known(service: Sequence[int]) -> tuple[int, list[int]]:
    """Return 1, and how many jobs have more service left than each."""
    last = {amount: place for place, amount in enumerate(sorted(service))}
    return 1, [len(service) - 1 - last[amount] for amount in service]


def behind_guessed(jobs: Sequence[Job], expected: Sequence[int]) -> tuple[int, list[int]]:
    """Return 1000, and how many thousandths of jobs likely need more than each: they expect so many milliseconds.

    A job that expects x is in so many thousandths behind one that expects y as x / (x + y) says, rounded down; x is no
    less than a second, nor than a restart with the GPUs asked for, in its first four binary digits.
    """
    least = [max(1000, round((job.restart_seconds or 0.0) * job.gpus * 1000)) for job in jobs]
    guesses = [_cut(max(pair)) for pair in zip(least, expected, strict=True)]
    how_many = Counter(guesses)
    behind = {mine: sum(1000 * x // (x + mine) * count for x, count in how_many.items()) - 500 for mine in how_many}
    return 1000, [behind[mine] for mine in guesses]


def _cut(amount: int) -> int:
    """Return the largest number that is no more, and of which only the first four binary digits are not 0."""
    step = 1
    while amount // step >= 16:
        step *= 2
    return amount - amount % step


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
