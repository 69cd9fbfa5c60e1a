"""The solver process itself: calls, errors, deadlines and its end."""

from __future__ import annotations

import operator
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from muri_opt import InputError, Round, policy_from, solve_round
from muri_opt.rounds.generate.families import generate
from muri_opt.solve.exact import optimise, prepare, relax_within
from muri_opt.solve.loading import load_backend, load_program
from muri_opt.solve.solvers import WorkerError, borrowed_worker, process as workers, stop_workers
from muri_opt.solve.solvers.process import Worker

FIRST = generate("gangs", jobs=2, nodes=1, seed=1)


@pytest.fixture
def worker() -> Iterator[Worker]:
    process = Worker()
    yield process
    if process.alive:
        process.stop()


def slowly(_: Round, seconds: float) -> None:
    time.sleep(seconds)


def leaving(_: Round, code: int) -> None:
    os._exit(code)


def noting_nothing() -> None:
    pass


def writing(path: str) -> None:
    with Path(path).open("a") as file:
        file.write("x")


def noting(round_: Round, path: str) -> None:
    with Path(path).open("a") as file:
        file.write(round_.fingerprint)


def gone(pid: int) -> bool:
    """Return whether a process has ended; one that nobody collects counts too."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] == "Z"


def wait_until_gone(pid: int) -> None:
    end = time.monotonic() + 600
    while not gone(pid):
        assert time.monotonic() < end, f"process {pid} goes on"
        time.sleep(0.05)


def test_a_call_runs_in_the_other_process(worker: Worker) -> None:
    assert worker.call(operator.add, 2, 3, seconds=None) == 5
    assert worker.call(os.getpid, seconds=60) == worker.pid != os.getpid()


def test_bad_input_comes_back_as_it_is(worker: Worker) -> None:
    with pytest.raises(InputError, match="did you mean 'fifo'"):
        worker.call(policy_from, "fifi", seconds=60)
    assert worker.call(operator.add, 2, 3, seconds=60) == 5


def test_any_other_error_is_a_fault_of_the_solver(worker: Worker) -> None:
    with pytest.raises(WorkerError, match="the solver raised ZeroDivisionError: division by zero") as failed:
        worker.call(operator.truediv, 1, 0, seconds=60)
    assert failed.value.fault
    assert worker.alive
    assert worker.call(operator.add, 2, 3, seconds=60) == 5


def test_a_process_that_ends_is_a_fault(worker: Worker) -> None:
    with pytest.raises(WorkerError, match="ended with code 7") as failed:
        worker.call(os._exit, 7, seconds=60)
    assert failed.value.fault
    assert not worker.alive


def test_a_process_that_dies_at_the_start_is_a_fault(worker: Worker) -> None:
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(WorkerError, match="ended with code -9") as failed:
        worker.call(operator.add, 2, 3, seconds=60)
    assert failed.value.fault


def test_a_call_beyond_its_time_is_stopped(worker: Worker) -> None:
    assert worker.call(operator.add, 2, 3, seconds=60) == 5
    with pytest.raises(WorkerError, match=r"did not answer within 0\.1 s and was stopped") as failed:
        worker.call(time.sleep, 600, seconds=0.1)
    assert not failed.value.fault
    assert not worker.alive


def test_a_process_that_reads_nothing_is_stopped(worker: Worker) -> None:
    """More than any pipe holds is sent to a process that hangs: sending must not wait for ever either."""
    assert worker.call(len, b"", seconds=60) == 0
    os.kill(worker.pid, signal.SIGSTOP)
    with pytest.raises(WorkerError, match="was stopped"):
        worker.call(len, bytes(10**7), seconds=0.2)
    assert not worker.alive


def test_the_start_of_a_process_is_not_charged_to_the_first_call(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that takes longer to start than the limit of its first call: the limit begins when it is ready."""
    plain = worker._wait_for_start

    def after_a_while(seconds: float | None) -> None:
        time.sleep(3)
        plain(seconds)

    monkeypatch.setattr(worker, "_wait_for_start", after_a_while)
    assert worker.call(operator.add, 2, 3, seconds=2.5) == 5


def test_a_process_that_stands_in_for_another_starts_within_the_limit_or_is_left_to_start() -> None:
    spare = Worker(spare=True)
    try:
        with pytest.raises(WorkerError, match="still starting") as failed:
            spare.call(operator.add, 2, 3, seconds=0.0)
        assert not failed.value.fault
        assert spare.alive
        assert spare.call(operator.add, 2, 3, seconds=60) == 5
        assert spare.load(noting_nothing, seconds=60) == 0.0
    finally:
        spare.stop()


def test_a_process_that_never_starts_is_stopped(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "START_SECONDS", 0.0)
    with pytest.raises(WorkerError, match="did not start within 0 s") as failed:
        worker.call(operator.add, 2, 3, seconds=60)
    assert failed.value.fault
    assert not worker.alive


def test_what_is_loaded_once_is_not_loaded_again(worker: Worker, tmp_path: Path) -> None:
    one, other = (str(tmp_path / name) for name in ("one", "other"))
    beyond = [worker.load(writing, path, seconds=0.0) for path in (one, one, other, one)]
    assert (Path(one).read_text(), Path(other).read_text()) == ("x", "x")
    assert [spent > 0 for spent in beyond] == [True, False, True, False]
    with pytest.raises(WorkerError, match="the solver raised ZeroDivisionError"):
        worker.load(operator.truediv, 1, 0, seconds=None)


def test_a_process_that_prepares_is_left_to_finish(worker: Worker) -> None:
    worker.prepare(operator.is_, FIRST, None, seconds=60)
    with pytest.raises(WorkerError, match=r"still reading the round after 0\.1 s") as late:
        worker.prepare(slowly, FIRST, 5.0, seconds=0.1)
    with pytest.raises(WorkerError, match="still reading a round before") as busy:
        worker.call(operator.add, 2, 3, seconds=0.1)
    assert (late.value.fault, busy.value.fault) == (False, False)
    assert worker.call(operator.add, 2, 3, seconds=60) == 5


def test_a_process_that_never_ends_to_prepare_is_stopped(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    worker.prepare(operator.is_, FIRST, None, seconds=60)
    with pytest.raises(WorkerError, match="still reading the round"):
        worker.prepare(slowly, FIRST, 600.0, seconds=0.1)
    monkeypatch.setattr(workers, "PATIENCE_SECONDS", 0.0)
    with pytest.raises(WorkerError, match="still reading a round before"):
        worker.call(operator.add, 2, 3, seconds=0.1)
    assert not worker.alive


def test_preparing_can_fail_like_a_call(worker: Worker) -> None:
    with pytest.raises(InputError, match="did you mean 'fifo'"):
        worker.prepare(solve_round, FIRST, "fifi", seconds=60)
    with pytest.raises(WorkerError, match="ended with code 7") as failed:
        worker.prepare(leaving, FIRST, 7, seconds=60)
    assert failed.value.fault


def test_a_round_is_read_once_for_each_way_to_read_it(worker: Worker, tmp_path: Path) -> None:
    first, second = (generate("plans", jobs=4, nodes=2, seed=seed) for seed in (1, 2))
    one, other = (str(tmp_path / name) for name in ("one", "other"))
    for round_, path in ((first, one), (first, one), (first, other), (second, other), (second, other), (first, other)):
        worker.prepare(noting, round_, path, seconds=60)
    assert Path(one).read_text() == first.fingerprint
    assert Path(other).read_text() == first.fingerprint + second.fingerprint + first.fingerprint


def test_a_solve_reads_its_round_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_workers()
    sent: list[object] = []
    plain = Worker._exchange

    def exchange(worker: Worker, function: object, *rest: object) -> object:
        sent.append(function)
        return plain(worker, function, *rest)

    monkeypatch.setattr(Worker, "_exchange", exchange)
    solve_round(generate("plans", jobs=12, nodes=2, seed=1), "rubick", "exact@highs")
    assert sent == [load_program, load_backend, prepare, relax_within, optimise]


def test_a_borrowed_worker_is_lent_again() -> None:
    stop_workers()
    with borrowed_worker():
        pass
    with borrowed_worker() as first:
        first_pid = first.call(os.getpid, seconds=60)
        with borrowed_worker() as second:
            assert second.pid != first_pid
    with borrowed_worker() as again:
        assert again.pid in (first_pid, second.pid)
    stop_workers()
    assert gone(first_pid)
    assert gone(second.pid)


def test_a_dead_worker_is_not_lent() -> None:
    stop_workers()
    with borrowed_worker() as first:
        first.call(operator.add, 2, 3, seconds=60)
    os.kill(first.pid, signal.SIGKILL)
    while first.alive:
        time.sleep(0.01)
    with borrowed_worker() as second:
        assert second is not first
        assert second.call(operator.add, 2, 3, seconds=60) == 5
    assert [worker for _, worker in workers._idle] == [second]


def test_a_worker_that_was_stopped_is_replaced_at_once() -> None:
    stop_workers()
    with borrowed_worker() as first:
        first.call(operator.add, 2, 3, seconds=60)
        with pytest.raises(WorkerError, match="was stopped"):
            first.call(time.sleep, 60, seconds=0.1)
    ((_, second),) = workers._idle
    assert second is not first
    assert gone(first.pid)
    assert second.call(operator.add, 2, 3, seconds=60) == 5


ORPHAN = """
import os, sys, time
from muri_opt.solve.solvers import borrowed_worker
with borrowed_worker() as worker:
    print(worker.call(os.getpid, seconds=60), flush=True)
    worker.call(time.sleep, float(sys.argv[1]), seconds=None)
    time.sleep(600)
"""


@pytest.mark.parametrize("busy", ["600", "0"])
def test_a_worker_ends_with_its_parent(busy: str) -> None:
    """Busy or idle, no solver process is left behind when the process that started it is killed."""
    with subprocess.Popen([sys.executable, "-c", ORPHAN, busy], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert not gone(pid)
        parent.kill()
    wait_until_gone(pid)


STUCK = """
import itertools, os, threading, time
from muri_opt.solve.solvers.process import Worker
def ask():
    worker = Worker()
    print(worker.call(os.getpid, seconds=60), flush=True)
    threading.Thread(target=worker.call, args=(sum, itertools.repeat(1)), kwargs={"seconds": None}).start()
threading.Thread(target=ask).start()
"""


def test_a_worker_in_compiled_code_ends_with_its_parent_and_not_with_the_thread_that_started_it() -> None:
    """It adds ones for ever and lets no other thread of its own run; the thread that asked for it has long ended."""
    stuck = STUCK if sys.platform == "linux" else STUCK.replace("sum, itertools.repeat(1)", "time.sleep, 600")
    with subprocess.Popen([sys.executable, "-c", stuck], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        time.sleep(1)
        assert not gone(pid)
        parent.kill()
    wait_until_gone(pid)


WITHOUT_SIGNAL = """
import os, time
from muri_opt.solve.solvers import parent_pipe
read, write = os.pipe()
child = os.fork()
if child == 0:
    os.close(write)
    parent_pipe.os.O_ASYNC = 0
    parent_pipe.end_with(read)
    time.sleep(600)
os.close(read)
print(child, flush=True)
time.sleep(0.2)
assert os.waitpid(child, os.WNOHANG) == (0, 0)
os.close(write)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_where_the_kernel_sends_no_signal_a_thread_sees_the_end() -> None:
    told = subprocess.run([sys.executable, "-c", WITHOUT_SIGNAL], capture_output=True, text=True, check=True)
    assert told.stdout.splitlines()[1:] == ["1"]


HEIR = """
import os, sys, time
from muri_opt.solve.solvers import borrowed_worker
with borrowed_worker() as worker:
    print(worker.call(os.getpid, seconds=60), flush=True)
    heir = os.fork()
    if heir:
        print(heir, flush=True)
    time.sleep(600)
"""


def test_a_worker_ends_though_a_fork_of_its_parent_goes_on() -> None:
    with subprocess.Popen([sys.executable, "-c", HEIR], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid, heir = int(parent.stdout.readline()), int(parent.stdout.readline())
        parent.kill()
        parent.wait()
        try:
            wait_until_gone(pid)
            assert not gone(heir)
        finally:
            os.kill(heir, signal.SIGKILL)


def descriptors() -> int:
    return len([*Path("/proc/self/fd").iterdir()]) if Path("/proc/self/fd").exists() else 0


def test_calls_and_workers_that_are_stopped_or_die_leave_no_descriptor() -> None:
    stop_workers()
    before = descriptors()
    for _ in range(2):
        with borrowed_worker() as worker:
            for number in range(500):
                assert worker.call(operator.add, number, 1, seconds=60) == number + 1
            os.kill(worker.pid, signal.SIGKILL)
            with pytest.raises(WorkerError, match="ended with code -9"):
                worker.call(operator.add, 1, 1, seconds=60)
        with borrowed_worker() as worker:
            assert worker.call(operator.add, 1, 1, seconds=60) == 2
            with pytest.raises(WorkerError, match="was stopped"):
                worker.call(time.sleep, 60, seconds=0.01)
    stop_workers()
    assert descriptors() == before


FORK = """
import os, sys
from muri_opt import Cluster, Job, Node, Round, solve_round
round_ = Round(
    cluster=Cluster(nodes=(Node(id="n", gpus=4),)),
    jobs=(Job(id="a", gpus=1, submitted=0.0), Job(id="b", gpus=4, submitted=1.0)),
)
def solved():
    result = solve_round(round_, "fifo:objective=weighted", "exact@highs")
    return f"{result.value} {result.termination.reason}"
print("before", solved(), flush=True)
child = os.fork()
if child == 0:
    print("child", solved(), flush=True)
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print("parent", solved(), flush=True)
"""


def test_a_forked_process_gets_a_worker_of_its_own() -> None:
    told = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True, timeout=900)
    assert told.stdout.splitlines() == ["before 4 OPTIMAL", "child 4 OPTIMAL", "parent 4 OPTIMAL"]
