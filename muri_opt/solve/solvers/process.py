"""A solver process kept warm between calls, that can be stopped at any moment.

A solver that hangs or crashes takes only this process with it. The process is started from scratch,
never forked, and speaks pickles over a socket pair. What a solver prints goes nowhere. It ends with the process that
started it, whatever ends that one (:mod:`muri_opt.solve.solvers.parent_pipe`).

A limit in seconds is for the work that a process does, not for its start: a caller waits for a new process as long as
that takes, up to ``START_SECONDS``, and its own limit begins then. Only a process that stands in for one that was
stopped starts within the caller's limit: whoever has a process running counts on being answered in time.
"""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from weakref import WeakSet

from muri_opt.errors import InputError
from muri_opt.rounds import Round
from muri_opt.solve.solvers.parent_pipe import ParentPipe, end_with
from muri_opt.solve.solvers.registry import FIRST_BACKEND, backend_named
from muri_opt.solve.solvers.round_transfer import Receiver, Sender

START_SECONDS = 120.0
"""After which a process that has not started is stopped: it hangs. A loaded machine needs many times the usual one."""
GRACE_SECONDS = 0.25
"""How much longer than its own limit a process may take before it is stopped."""
PATIENCE_SECONDS = 30.0
"""After which a process that was left to read a round is stopped: it hangs."""
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Sums of floats that several threads share out depend on how many there are; solvers make their own threads."""
_BOOT = "import sys; from muri_opt.solve.solvers.process import serve; serve(*map(int, sys.argv[1:]))"


class WorkerError(RuntimeError):
    """No answer: the process died or never started (a ``fault``), or was not done in time and stopped, or is busy.

    A process that is busy with its start or with reading a round is left to finish.
    """

    def __init__(self, detail: str, *, fault: bool) -> None:
        super().__init__(detail)
        self.fault = fault


class Worker:
    """One solver process: call functions in it, with a deadline. ``spare`` is one that stands in for a stopped one."""

    def __init__(self, *, spare: bool = False) -> None:
        ours, theirs = socket.socketpair()
        self._parent_pipe = ParentPipe()
        with theirs, self._parent_pipe.handed_over() as line:
            package = Path(__file__).resolve().parents[3]
            path = os.pathsep.join([str(package), *(entry for entry in sys.path if entry)])
            self._process = subprocess.Popen(
                [sys.executable, "-c", _BOOT, str(theirs.fileno()), str(line)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno(), line],
                env={**os.environ, "PYTHONPATH": path, **_ONE_THREAD},
            )
        self._connection = Connection(ours.detach())
        self._sender = Sender()
        self._spare = spare
        self._born = time.monotonic()
        self._started = False
        self._done: set[tuple[Callable[..., Any], tuple[Any, ...]]] = set()
        self._last: _Exchange | None = None
        self._prepared: tuple[Callable[..., Any], tuple[Any, ...]] | None = None
        _all.add(self)

    @property
    def pid(self) -> int:
        """Process id of the solver process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def load(self, function: Callable[..., Any], *arguments: Any, seconds: float | None) -> float:
        """Run a function that loads something, once in the life of the process; return the seconds beyond the limit.

        Start and loading take as long as they take, and come on top of the caller's limit. In a spare process they
        take ``seconds`` at most and nothing comes on top; one that is not done by then is left to finish.
        """
        if self._started and (function, arguments) in self._done:
            return 0.0
        began = time.monotonic()
        exchange = self._exchange(function, arguments, seconds if self._spare else START_SECONDS)
        if exchange.is_alive():
            raise WorkerError(
                f"the solver process was still loading after {time.monotonic() - began:.3g} s", fault=False
            )
        self._answer(exchange)
        self._done.add((function, arguments))
        return 0.0 if self._spare else time.monotonic() - began

    def call(self, function: Callable[..., Any], *arguments: Any, seconds: float | None) -> Any:
        """Return ``function(*arguments)`` as run in the process; stop it and raise when time is up or it dies."""
        exchange = self._exchange(function, arguments, seconds)
        if exchange.is_alive():
            self.stop()
            raise WorkerError(f"the solver process did not answer within {seconds:.3g} s and was stopped", fault=False)
        return self._answer(exchange)

    def prepare(self, function: Callable[..., Any], round_: Round, *arguments: Any, seconds: float | None) -> None:
        """Run a function of a round for what the process keeps of it, unless that was the last it was prepared with.

        When time is up, raise and leave the process to finish. So a process that is new to a large round will know it
        some rounds later, however short their limits are.
        """
        if self._sender.last is round_ and self._prepared == (function, arguments):
            return
        exchange = self._exchange(function, (round_, *arguments), seconds)
        self._prepared = (function, arguments)
        if exchange.is_alive():
            raise WorkerError(f"the solver process was still reading the round after {seconds:.3g} s", fault=False)
        self._answer(exchange)

    def _exchange(self, function: Callable[..., Any], arguments: tuple[Any, ...], seconds: float | None) -> _Exchange:
        """Return the exchange of a call, over or out of time; the start, and what was left to finish, come first."""
        began = time.monotonic()
        if not self._started:
            self._wait_for_start(seconds)
        if not self._spare:
            began = time.monotonic()
        end = None if seconds is None else began + max(0.0, seconds)
        self._wait_for_the_last(end)
        self._last = _Exchange(self._connection, (function, self._sender.pack(arguments)))
        self._last.over(end)
        return self._last

    def _wait_for_start(self, seconds: float | None) -> None:
        """Wait until the process has said that it is ready; a spare one that is not in time is left to start."""
        patience = max(0.0, self._born + START_SECONDS - time.monotonic())
        in_time = self._spare and seconds is not None and seconds < patience
        if not self._connection.poll(seconds if in_time else patience):
            if in_time:
                raise WorkerError(f"the solver process was still starting after {seconds:.3g} s", fault=False)
            self.stop()
            raise WorkerError(f"the solver process did not start within {START_SECONDS:.3g} s", fault=True)
        try:
            self._started = bool(self._connection.recv())
        except (EOFError, OSError):
            raise self._ended() from None

    def _wait_for_the_last(self, end: float | None) -> None:
        """Wait until the last call is over; one that was left to finish and does not is stopped in the end."""
        last = self._last
        if last is not None and not last.over(end):
            if time.monotonic() - last.began > PATIENCE_SECONDS:
                self.stop()
            raise WorkerError("the solver process was still reading a round before", fault=False)

    def _answer(self, exchange: _Exchange) -> Any:
        if exchange.answer is None:
            raise self._ended()
        answer, error = exchange.answer
        if isinstance(error, InputError):
            raise error
        if error is not None:
            raise WorkerError(f"the solver raised {type(error).__name__}: {error}", fault=True)
        return answer

    def _ended(self) -> WorkerError:
        self.stop()
        return WorkerError(f"the solver process ended with code {self._process.returncode}", fault=True)

    def stop(self) -> None:
        """Kill the process and wait until it is gone."""
        self._process.kill()
        self._process.wait()
        if self._last is not None:
            self._last.join()  # its other end is gone; a connection must not be closed while a thread uses it
        self.let_go()

    def let_go(self) -> None:
        """Close what this process holds of it; the process ends if nobody else holds it."""
        self._connection.close()
        self._parent_pipe.close()


class _Exchange(threading.Thread):
    """A call and its answer, in a thread of its own because sending, too, blocks when the process does not read."""

    def __init__(self, connection: Connection[Any, Any], request: tuple[Callable[..., Any], tuple[Any, ...]]) -> None:
        super().__init__(daemon=True)
        self._connection, self._request = connection, request
        self.began = time.monotonic()
        self.answer: tuple[Any, Exception | None] | None = None
        self.start()

    def run(self) -> None:
        """Send the call and wait for the answer; there is none where the process has ended."""
        with suppress(EOFError, OSError):
            self._connection.send(self._request)
            self.answer = self._connection.recv()

    def over(self, end: float | None) -> bool:
        """Wait for the answer until that moment; return whether the exchange is over."""
        self.join(None if end is None else max(0.0, end - time.monotonic()))
        return not self.is_alive()


_idle: list[tuple[int, Worker]] = []
"""Workers nobody uses now, each with the id of the process that started it: a fork must not use its parent's."""
_all: WeakSet[Worker] = WeakSet()
"""All workers there are, idle or lent."""
_lock = threading.Lock()


@contextmanager
def borrowed_worker() -> Iterator[Worker]:
    """Lend an idle worker, or a new one; it returns to the idle ones afterwards.

    One that was stopped is replaced at once: the new process loads its solver while nobody waits for it.
    """
    worker = _take()
    try:
        yield worker
    finally:
        if not worker.alive:
            worker.stop()
            worker = Worker(spare=True)
        with _lock:
            _idle.append((os.getpid(), worker))


def stop_workers() -> None:
    """Stop the idle workers of this process."""
    with _lock:
        mine = [worker for owner, worker in _idle if owner == os.getpid()]
        _idle.clear()
    for worker in mine:
        worker.stop()


def _take() -> Worker:
    with _lock:
        while _idle:
            owner, worker = _idle.pop()
            if owner == os.getpid():
                if worker.alive:
                    return worker
                worker.stop()
    return Worker()


def _forget_all() -> None:
    """Let go of the workers of the process that this one was forked from: they must not outlive it because of us."""
    global _lock  # a thread that is not here may hold the one of the other process
    _lock = threading.Lock()
    _idle.clear()
    for worker in [*_all]:
        worker.let_go()


atexit.register(stop_workers)
os.register_at_fork(after_in_child=_forget_all)


def serve(descriptor: int, line: int) -> None:
    """Run in the worker: answer calls until the other end is closed."""
    end_with(line)
    connection, receiver = Connection(descriptor), Receiver()
    backend_named(FIRST_BACKEND).version()  # loads the solver every round needs first, before the first call
    with suppress(EOFError, OSError):
        connection.send(True)
        while True:
            function, arguments = connection.recv()
            connection.send(_answer(function, receiver.unpack(arguments)))


def _answer(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, Exception | None]:
    try:
        return function(*arguments), None
    except Exception as error:  # whatever a solver raises is the caller's to judge
        return None, error
