"""Every decision about deadlines, tried out: the definitions in words of their own, shared with nothing."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from asked_brute_force import Split, _allowed, _fits, _held, _is_below, _lost

from muri_opt import Job, Round

INTERVAL = 4
"""Seconds after which the rounds are decided again."""


def deadline_decisions(round_: Round) -> Iterator[tuple[int, dict[str, Split]]]:
    """Yield every allowed decision, as GPUs per node of the jobs that run, with its value: the sum of its jobs'."""
    ways = [_worths(round_, job) for job in round_.jobs]

    def from_job(place: int, worth: int, runs: dict[str, Split], free: Split) -> Iterator[tuple[int, dict[str, Split]]]:
        if place == len(ways):
            yield worth, runs
            return
        for split, more in ways[place]:
            if split is None:
                yield from from_job(place + 1, worth, runs, free)
                continue
            left = tuple(has - takes for has, takes in zip(free, split, strict=True))
            after = {**runs, round_.jobs[place].id: split}
            if min(left) >= 0 and _fits(round_, after) and _within_quotas(round_, after):
                yield from from_job(place + 1, worth + more, after, left)

    return from_job(0, 0, {}, tuple(node.gpus for node in round_.cluster.nodes))


def _worths(round_: Round, job: Job) -> list[tuple[Split | None, int]]:
    """Return every way to run of a job, with its value; ways of one size are worth the same, but for staying."""
    known: dict[tuple[int, bool], int] = {}
    found: list[tuple[Split | None, int]] = []
    for split in _ways(round_, job):
        if split is None:
            found.append((None, 0))
            continue
        key = sum(split), _stays(round_, job, split)
        if key not in known:
            known[key] = value(round_, {job.id: split})
        found.append((split, known[key]))
    return found


def value(round_: Round, runs: dict[str, Split]) -> int:
    """Return the value: of each priority, the highest first, four digits in a number that has room for each."""
    total = 0
    for priority in sorted({job.priority for job in round_.jobs}, reverse=True):
        jobs = [job for job in round_.jobs if job.priority == priority]
        dated = sorted((job for job in jobs if job.deadline is not None), key=lambda job: (job.deadline, job.submitted))
        kept = [job for job in dated if job.id in runs and _in_time(round_, job, runs[job.id])]
        points = range(len(dated), 0, -1)
        digits = (
            (sum(_lost_by_waiting(round_, job) for job in kept), len(dated)),
            (len(kept), len(dated)),
            (sum(point for point, job in zip(points, dated, strict=True) if job in kept), sum(points)),
            (
                sum(_speed(round_, job, runs[job.id]) for job in jobs if job.id in runs),
                sum(max((int(1000 * _rate(job, size)) for size in _sizes(round_, job)), default=0) for job in jobs),
            ),
        )
        for digit, most in digits:
            total = total * (most + 1) + digit
    return total


def _ways(round_: Round, job: Job) -> list[Split | None]:
    nodes = round_.cluster.nodes
    held = _held(round_, job)
    runs = job.state == "running" and not _lost(round_, job)
    pinned = job.preemptible is False and job.state == "running"
    movable = not runs or (job.preemptible is not False if job.movable is None else job.movable)
    kept_back = not runs and (job.held is not None or (job.not_before or 0.0) > round_.now)
    ways: list[Split | None] = [] if pinned else [None]
    for split in product(*(range(node.gpus + 1) for node in nodes)):
        if sum(split) not in _sizes(round_, job) or (pinned and sum(split) != sum(held)):
            continue
        starts = movable and not kept_back and _allowed(round_, job, split)
        if starts or (runs and split == held):
            ways.append(split)
    return ways


def _sizes(round_: Round, job: Job) -> list[int]:
    if job.scaling is None:
        return [job.gpus]
    return list(range(1, min(max(job.scaling), sum(node.gpus for node in round_.cluster.nodes)) + 1))


def _rate(job: Job, size: int) -> Fraction:
    """Return the speed against one GPU; between two entries of a table the time of an iteration is on a line."""
    if job.scaling is None:
        return Fraction(size)
    return _throughput(job, size) / _throughput(job, 1)


def _throughput(job: Job, size: int) -> Fraction:
    table = {gpus: Fraction(rate) for gpus, rate in job.scaling.items()}
    if size in table:
        return table[size]
    below, above = max(gpus for gpus in table if gpus < size), min(gpus for gpus in table if gpus > size)
    part = Fraction(size - below, above - below)
    exact = 1 / ((1 - part) / table[below] + part / table[above])
    digits = 9 if max(table.values()) < Fraction(2**30, 10**9) else 8  # a table keeps as many as fit a word
    return Fraction(int(exact * 10**digits), 10**digits)


def _seconds(job: Job, size: int) -> Fraction:
    if job.scaling is not None:
        one = 1 / _throughput(job, size)
        if job.iteration_seconds is not None:
            one = Fraction(job.iteration_seconds) * _throughput(job, job.gpus) / _throughput(job, size)
        return job.remaining_iterations * one
    if job.remaining_iterations is not None:
        return job.remaining_iterations * Fraction(job.iteration_seconds)
    return Fraction(job.time_limit_seconds - (job.executed_seconds if job.state == "running" else 0.0))


def _restart(job: Job) -> Fraction:
    return Fraction(job.restart_seconds or 0) if job.state == "running" else Fraction(0)


def _stays(round_: Round, job: Job, split: Split) -> bool:
    return job.state == "running" and not _lost(round_, job) and split == _held(round_, job)


def _in_time(round_: Round, job: Job, split: Split) -> bool:
    if job.deadline < round_.now:
        return False
    idle = 0 if _stays(round_, job, split) else _restart(job)
    # Times are whole microseconds, the rest of one is not counted.
    return idle + Fraction(int(_seconds(job, sum(split)) * 10**6), 10**6) <= job.deadline - round_.now


def _lost_by_waiting(round_: Round, job: Job) -> bool:
    fastest = min(_seconds(job, size) for size in _sizes(round_, job))
    return INTERVAL + _restart(job) + Fraction(int(fastest * 10**6), 10**6) > job.deadline - round_.now


def _speed(round_: Round, job: Job, split: Split) -> int:
    idle = 0 if _stays(round_, job, split) else min(_restart(job), INTERVAL)
    return int(int(1000 * _rate(job, sum(split))) * (INTERVAL - idle) / INTERVAL)


def _within_quotas(round_: Round, runs: dict[str, Split]) -> bool:
    for tenant in round_.cluster.tenants:
        mine = [job for job in round_.jobs if _is_below(round_, job.tenant, tenant.id)]
        has = sum(sum(runs[job.id]) for job in mine if job.id in runs)
        pinned = [job for job in mine if job.preemptible is False and job.state == "running"]
        stays = sum(sum(job.placement.values()) for job in pinned)
        if tenant.quota_gpus is not None and has > max(tenant.quota_gpus, stays):
            return False
    return True
