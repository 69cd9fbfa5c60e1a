"""Time that passes for many jobs at once is that which passes for each of them."""

from __future__ import annotations

import random

import pytest

from muri_opt import Job
from muri_opt.rounds.quantities import MAX_GPU_SECONDS, MAX_SECONDS
from muri_opt.solve.session.passing_time import passing
from muri_opt.solve.session.state import _after


def drawn(draw: random.Random, name: str) -> Job:
    """Return a job that runs or waits and has had any amount of time, small, large, or nearly all there can be."""
    top = draw.choice((1.0, 1e5, MAX_SECONDS))
    runs = draw.random() < 0.5
    executed, waited = draw.uniform(0, top), draw.uniform(0, top)
    attained = draw.choice((None, draw.uniform(0, 1e6), MAX_GPU_SECONDS * draw.random()))
    gpus = draw.choice((1, 3, 8, 1_000_000))
    return Job(
        id=name,
        gpus=gpus,
        state="running" if runs else "waiting",
        placement={"n0": gpus} if runs else None,
        attained_gpu_seconds=attained,
        executed_seconds=executed,
        waiting_seconds=waited,
    )


@pytest.mark.parametrize("passed", [1, 333, 500, 300_000_000, 86_400_000_001, 1_999_999_999_999_999])
def test_many_jobs_have_had_what_each_alone_has_had(passed: int) -> None:
    draw = random.Random(passed)
    jobs = [drawn(draw, f"j{place}") for place in range(200)]
    alone = {job.id: _after(job, passed, 0, frozenset()) for job in jobs}
    then = passing(jobs, passed)
    assert {job.id: job for job in then} == alone
    assert len(then) == len(jobs)
    assert all(type(job.waiting_seconds) is float for job in then)


def test_jobs_are_left_as_they_were() -> None:
    job = Job(id="a", gpus=2, state="running", placement={"n0": 2}, executed_seconds=1.0, waiting_seconds=5.0)
    (later,) = passing([job], 2_000_000)
    assert (later.executed_seconds, later.attained_gpu_seconds, later.waiting_seconds) == (3.0, 4.0, 5.0)
    assert job.executed_seconds == 1.0
