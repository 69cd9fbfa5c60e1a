"""Solvers that are killed or hang in the middle of a solve: the answer comes, verified and in time."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from handmade import round_of
from msgspec.structs import replace

from muri_opt import Limits, Result, solve_round, verify
from muri_opt.rounds import Stats
from muri_opt.rounds.generate.families import generate
from muri_opt.solve.exact import optimise
from muri_opt.solve.solvers import WorkerError, borrowed_worker, process as workers, stop_workers
from muri_opt.solve.solvers.process import Worker

DRAWN = generate("gangs", jobs=200, nodes=20, seed=1)
HARD = replace(DRAWN, jobs=tuple(replace(job, state="waiting", placement=None) for job in DRAWN.jobs))
POLICY = "max-min:nodes=fewest"
"""No solver proves the optimum of the hard round under this policy within seconds. Nobody runs in it, so that no second
stage follows, which would take as long as it is given."""
SMALL = round_of([4], [1, 4])
SOON = 120.0
"""Seconds within which a solve with a short limit ends on any machine, though its solver hangs for ever."""


@pytest.fixture
def warm() -> Iterator[Worker]:
    """The one idle worker, started, with all loaded that a program needs."""
    stop_workers()
    with borrowed_worker():
        pass
    ((_, worker),) = workers._idle
    assert solve_round(SMALL, POLICY, "exact@highs", Limits(seconds=60)).termination.reason == "OPTIMAL"
    assert worker.alive
    yield worker
    stop_workers()


def signalled_when_solving(monkeypatch: pytest.MonkeyPatch, signal_: signal.Signals) -> None:
    """Send a signal to the process that solves the program, once it has been at it for a while.

    What comes before the program may take as long as it does on a slow machine; the program has three seconds.
    """
    plain = Worker.call

    def call(worker: Worker, function: Callable[..., Any], *arguments: Any, seconds: float | None) -> Any:
        if function is optimise:
            seconds = 3.0
            threading.Timer(0.3, os.kill, (worker.pid, signal_)).start()
        return plain(worker, function, *arguments, seconds=seconds)

    monkeypatch.setattr(Worker, "call", call)


def timed(call: Callable[[], Result]) -> tuple[Result, float]:
    began = time.monotonic()
    return call(), time.monotonic() - began


def check_answer(result: Result) -> None:
    """The answer of the heuristic, or a better one, that passes the verifier."""
    assert verify(HARD, result) == result.certificate
    assert result.certificate.feasible
    heuristic = solve_round(HARD, POLICY, "heuristic")
    assert heuristic.value <= result.value <= result.bound <= heuristic.bound


@pytest.mark.parametrize(
    ("signal_", "limited_by", "words"),
    [(signal.SIGKILL, "FAULT", "ended with code -9"), (signal.SIGSTOP, "TIME", "did not answer within")],
)
def test_a_solver_killed_or_hung_in_the_middle_leaves_a_verified_answer_in_time(
    warm: Worker, monkeypatch: pytest.MonkeyPatch, signal_: signal.Signals, limited_by: str, words: str
) -> None:
    limit = 60.0
    with monkeypatch.context() as patched:
        signalled_when_solving(patched, signal_)
        result, seconds = timed(lambda: solve_round(HARD, POLICY, "auto", Limits(seconds=limit)))
    assert seconds < limit + SOON
    assert (result.termination.reason, result.termination.limit) == ("FEASIBLE", limited_by)
    assert words in result.termination.detail
    check_answer(result)
    assert not warm.alive
    again = solve_round(SMALL, "fifo:objective=weighted", "exact@highs", Limits(seconds=60))
    assert (again.value, again.termination.reason) == (4, "OPTIMAL")


def test_a_solver_that_hangs_before_the_call_leaves_a_verified_answer_in_time(warm: Worker) -> None:
    limit = 1.0
    os.kill(warm.pid, signal.SIGSTOP)
    result, seconds = timed(lambda: solve_round(HARD, POLICY, "auto", Limits(seconds=limit)))
    assert seconds < limit + SOON
    assert (result.termination.reason, result.termination.limit) == ("FEASIBLE", "TIME")
    check_answer(result)


def test_a_worker_killed_between_calls_is_replaced_silently(warm: Worker) -> None:
    os.kill(warm.pid, signal.SIGKILL)
    while warm.alive:
        time.sleep(0.01)
    result = solve_round(SMALL, "fifo:objective=weighted", "exact@highs", Limits(seconds=60))
    assert (result.value, result.termination.reason) == (4, "OPTIMAL")


@pytest.mark.parametrize("method", ["exact", "exact@highs"])
def test_exact_with_a_killed_solver_has_failed(warm: Worker, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    signalled_when_solving(monkeypatch, signal.SIGKILL)
    result = solve_round(HARD, POLICY, method, Limits(seconds=60))
    assert not warm.alive
    assert (result.termination.reason, result.termination.limit) == ("FAILED", None)
    assert result.termination.detail == "the solver process ended with code -9"
    assert (result.decision, result.value) == (None, None)
    assert not result.certificate.feasible
    assert result.certificate.violations == ()


def slow_to_start(monkeypatch: pytest.MonkeyPatch, wait: str) -> None:
    """Let every new process begin with a line of Python that waits."""
    monkeypatch.setattr(workers, "_BOOT", f"import os, time\n{wait}\n{workers._BOOT}")


def test_a_cold_worker_is_waited_for_beyond_the_limit_and_the_wait_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first call and the second give the same answer, though the process takes longer to start than they may."""
    stop_workers()
    limit = 2.0
    slow_to_start(monkeypatch, f"time.sleep({limit + 0.5})")
    first, second = (solve_round(SMALL, "fifo:objective=weighted", "auto", Limits(seconds=limit)) for _ in range(2))
    assert (first.value, first.termination.reason) == (4, "OPTIMAL")
    assert first.stats.startup_seconds >= limit > second.stats.startup_seconds
    assert replace(first, stats=Stats()) == replace(second, stats=Stats())
    stop_workers()


def test_a_process_that_stands_in_for_a_stopped_one_starts_within_the_limit(
    warm: Worker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever has called before counts on an answer in time, also while a new process starts."""
    told_to_start = tmp_path / "start"
    waits = f"os.path.exists({str(told_to_start)!r}) or time.sleep(0.01)"
    slow_to_start(monkeypatch, f"any({waits} for _ in range(6000))")
    with borrowed_worker() as worker:
        assert worker is warm
        with pytest.raises(WorkerError, match="was stopped"):
            worker.call(time.sleep, 600, seconds=0.1)
    result = solve_round(SMALL, "fifo:objective=weighted", "auto", Limits(seconds=2.0))
    assert (result.termination.reason, result.termination.limit) == ("FEASIBLE", "TIME")
    assert "still starting" in result.termination.detail
    assert (result.value, result.certificate.feasible) == (2, True)
    nothing = solve_round(SMALL, "fifo:objective=weighted", "exact@highs", Limits(seconds=0.5))
    assert (nothing.termination.reason, nothing.termination.limit) == ("NO_SOLUTION", "TIME")
    ((_, started),) = workers._idle
    told_to_start.touch()
    proved = solve_round(SMALL, "fifo:objective=weighted", "auto", Limits(seconds=60))
    assert (proved.value, proved.termination.reason) == (4, "OPTIMAL")
    assert [idle for _, idle in workers._idle] == [started]


def test_solves_in_several_threads_answer_as_one_after_another() -> None:
    rounds = [generate("tenants", jobs=12, nodes=2 + seed % 2, seed=seed) for seed in range(8)]

    def solved(at: int) -> Result:
        result = solve_round(rounds[at], "srtf:nodes=fewest", "auto", Limits(seconds=60))
        return replace(result, stats=Stats())

    serial = [solved(at) for at in range(len(rounds))]
    assert all(result.termination.reason == "OPTIMAL" for result in serial)
    with ThreadPoolExecutor(max_workers=4) as pool:
        assert list(pool.map(solved, range(len(rounds)))) == serial
    stop_workers()
