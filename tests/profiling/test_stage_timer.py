"""Stage times of a loop: by a clock that the test turns, by real sleeps, and with a framework that works beside it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from muri_opt import InputError, Job
from muri_opt.profiling import StageTimer

FOUR = ("storage", "cpu", "gpu", "network")


class Clock:
    """Time that passes only where the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def turned(timer: StageTimer, clock: Clock, *times: float, between: float = 0.0) -> None:
    """Go through one iteration, of so many seconds in each stage, and some after the last of them."""
    for name, seconds in zip(timer.resources, times, strict=False):
        with timer.stage(name):
            clock.now += seconds
    clock.now += between


def timed(*resources: str, **settings: int) -> tuple[StageTimer, Clock]:
    clock = Clock()
    return StageTimer(resources or FOUR, clock=clock, **{"warm_up": 0, **settings}), clock


def test_medians_spread_and_what_is_in_no_stage() -> None:
    timer, clock = timed()
    for extra in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 30):
        turned(timer, clock, 0.5, 0.25, 1.0 + extra / 100, 0.125, between=0.0625)
    assert timer.stage_seconds == (0.5, 0.25, 1.05, 0.125)
    assert timer.iteration_seconds == pytest.approx(0.5 + 0.25 + 1.05 + 0.125 + 0.0625)
    assert [(one.low, one.high) for one in timer.spread][:2] == [(0.5, 0.5), (0.25, 0.25)]
    assert (timer.spread[2].low, timer.spread[2].median, timer.spread[2].high) == (1.01, 1.05, 1.09)
    assert timer.counted == 11


def test_the_fragment_is_part_of_a_job() -> None:
    timer, clock = timed()
    for _ in range(3):
        turned(timer, clock, 0.1, 0.2, 0.3, 0.4)
    fields = json.loads(timer.json(model="mlp"))
    job = Job(id="j", gpus=1, **fields)
    assert (job.stage_seconds, job.iteration_seconds, job.model) == ((0.1, 0.2, 0.3, 0.4), 1.0, "mlp")


def test_warming_up_does_not_count_and_after_enough_nothing_is_timed() -> None:
    timer, clock = timed(warm_up=2, iterations=3)
    waits = 0

    def synchronise() -> None:
        nonlocal waits
        waits += 1

    timer._synchronise = synchronise
    for turn in range(20):
        turned(timer, clock, *(1.0 if 2 <= turn < 5 else 50.0 for _ in FOUR))
    assert timer.stage_seconds == (1.0,) * 4
    assert (timer.counted, timer.is_over) == (3, True)
    assert waits == 5 * 8 + 2  # the first stage of the sixth iteration ends the fifth, and the timer is over


def test_stages_that_come_several_times_and_iterations_that_are_told() -> None:
    timer, clock = timed("data", "gpu")
    for _ in range(4):
        with timer.iteration():
            for _ in range(3):
                turned(timer, clock, 0.5, 0.25)
    assert (timer.stage_seconds, timer.iteration_seconds, timer.counted) == ((1.5, 0.75), 2.25, 4)
    twice, clock = timed("data", "gpu")
    for _ in range(4):
        with twice.stage("data"):
            clock.now += 1.0
        turned(twice, clock, 1.0, 0.5)
    assert (twice.stage_seconds, twice.counted) == ((2.0, 0.5), 4)


def test_an_iteration_that_fails_or_has_not_ended_does_not_count() -> None:
    timer, clock = timed()
    turned(timer, clock, 1.0, 1.0, 1.0, 1.0)
    clock.now += 77.0
    with pytest.raises(ZeroDivisionError), timer.stage("storage"):
        _ = 1 / 0
    turned(timer, clock, 1.0, 1.0, 1.0, 1.0)
    turned(timer, clock, 9.0, 9.0)
    assert (timer.stage_seconds, timer.counted) == ((1.0,) * 4, 2)


def test_what_makes_no_sense_is_refused() -> None:
    timer, _ = timed()
    with pytest.raises(InputError, match="did you mean 'gpu'"), timer.stage("gpus"):
        pass
    with pytest.raises(InputError, match="'cpu' inside of 'gpu'"), timer.stage("gpu"), timer.stage("cpu"):
        pass
    with pytest.raises(InputError, match="one more whole iteration"):
        _ = StageTimer().stage_seconds
    with pytest.raises(InputError, match="warm_up"):
        StageTimer(warm_up=-1)


def test_real_sleeps_are_met_within_two_per_cent() -> None:
    timer, known = StageTimer(warm_up=1), []
    for _ in range(12):
        row = []
        for name, seconds in zip(FOUR, (0.006, 0.004, 0.01, 0.005), strict=True):
            with timer.stage(name):
                began = time.perf_counter()
                time.sleep(seconds)
                row.append(time.perf_counter() - began)  # what the machine made of the sleep
        known.append(row)
    assert np.abs(np.array(timer.stage_seconds) / np.median(known[1:], axis=0) - 1).max() < 0.02


def test_a_gpu_is_waited_for_at_both_ends_where_torch_uses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    waits: list[float] = []

    def synchronize() -> None:
        waits.append(clock.now)
        clock.now = max(clock.now, busy)

    busy = 0.0
    cuda = SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True, synchronize=synchronize)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    timer = StageTimer(("gpu", "network"), warm_up=0, clock=clock)
    for _ in range(2):
        with timer.stage("gpu"):
            busy = clock.now + 0.25  # given to the device, and back at once
        with timer.stage("network"):
            clock.now += 0.5
    assert timer.stage_seconds == (0.25, 0.5)
    assert len(waits) == 8
    cuda.is_initialized = lambda: False
    with timer.stage("gpu"):
        busy = clock.now + 0.25
    assert len(waits) == 8


def test_torch_is_not_imported() -> None:
    code = """
import sys
from muri_opt.profiling import StageTimer
timer = StageTimer()
with timer.stage("gpu"):
    pass
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
