"""Where the runs of a study are done: in processes of this machine, on a Ray cluster, here, or wherever one likes."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from importlib import import_module
from typing import Any, Final, Protocol, TypeVar

from muri_opt.errors import InputError, RefusalError, unknown_name
from muri_opt.rounds.quantities import whole
from muri_opt.solve.solvers.process import Worker
from muri_opt.systems.naming import attribute_at

T = TypeVar("T")
R = TypeVar("R")

MOST_PROCESSES: Final = 1000


def _cores() -> int:
    return os.cpu_count() or 1  # not every system says


class Executor(Protocol):
    """Does calls, ``slots`` of them at a time; closing it stops those under way."""

    slots: int

    def submit(self, function: Callable[[T], R], argument: T) -> Future[R]:
        """Return the future of a call; its function and its argument can be pickled."""
        ...

    def close(self) -> None:
        """Stop everything."""
        ...


class Processes:
    """Processes of this machine: the same kind that solvers run in.

    They are fresh interpreters that import this package only. Spawned processes of ``multiprocessing`` would import the
    caller's main module again, and a script without a main guard would start its study in each of them. A process ends
    by itself when this one is gone.
    """

    def __init__(self, jobs: int | None) -> None:
        self.slots = _cores() if jobs is None else jobs
        self._threads = ThreadPoolExecutor(self.slots)
        self._lock = threading.Lock()
        self._started: list[Worker] = []
        self._idle: list[Worker] = []
        self._closed = False

    def submit(self, function: Callable[[T], R], argument: T) -> Future[R]:
        """Return the future of a call in a process of its own; one that ran before is used again."""
        return self._threads.submit(self._call, function, argument)

    def close(self) -> None:
        """Kill all processes; calls under way end with an error."""
        with self._lock:
            self._closed = True
        for worker in self._started:
            if worker.alive:  # killed from outside: its connection must not be closed while a thread waits on it
                os.kill(worker.pid, signal.SIGKILL)
        self._threads.shutdown(cancel_futures=True)
        for worker in self._started:
            worker.stop()

    def _call(self, function: Callable[[T], R], argument: T) -> R:
        worker = self._taken()
        try:
            answer: R = worker.call(function, argument, seconds=None)
        finally:
            if worker.alive:
                self._idle.append(worker)
        return answer

    def _taken(self) -> Worker:
        with self._lock:
            if self._closed:
                raise CancelledError
            if self._idle:
                return self._idle.pop()
            self._started.append(Worker())
            return self._started[-1]


class Here:
    """The process that asks: one call after the other, each done when it is submitted."""

    def __init__(self, jobs: int | None) -> None:
        if jobs not in (None, 1):
            raise InputError("jobs", str(jobs), "1, or another engine: 'here' does one run at a time")
        self.slots = 1

    def submit(self, function: Callable[[T], R], argument: T) -> Future[R]:
        """Return the future of a call that is over."""
        future: Future[R] = Future()
        try:
            future.set_result(function(argument))
        except Exception as error:
            future.set_exception(error)
        return future

    def close(self) -> None:
        """Do nothing: nothing is ever under way."""


class RayCluster:
    """A Ray cluster, the one that runs already or a new one on this machine."""

    def __init__(self, jobs: int | None) -> None:
        try:
            self._ray: Any = import_module("ray")
        except ImportError:
            raise RefusalError(
                "engine", "'ray', and Ray is not installed", "'processes', or pip install 'muri-opt[ray]'"
            ) from None
        self._ours = not self._ray.is_initialized()
        if self._ours:
            self._ray.init(log_to_driver=False)
        self.slots = max(1, int(self._ray.cluster_resources().get("CPU", 1))) if jobs is None else jobs

    def submit(self, function: Callable[[T], R], argument: T) -> Future[R]:
        """Return the future of a call on one CPU of the cluster."""
        future: Future[R] = self._ray.remote(function).remote(argument).future()
        return future

    def close(self) -> None:
        """Leave the cluster, which ends the calls under way, if it was joined here."""
        if self._ours:
            self._ray.shutdown()


class Pool:
    """An executor of the standard library's kind, made by somebody else: a process pool, Dask's, one of a batch system.

    Runs are handed out ``jobs`` at a time, or as many as there are cores; how many of them it does at once is its own
    affair. Whoever made it shuts it down, unless it was made for this study alone.
    """

    def __init__(self, executor: futures.Executor, jobs: int | None, *, ours: bool) -> None:
        self.slots = _cores() if jobs is None else jobs
        self._executor = executor
        self._ours = ours

    def submit(self, function: Callable[[T], R], argument: T) -> Future[R]:
        """Return the future of a call, as the executor gives it."""
        return self._executor.submit(function, argument)

    def close(self) -> None:
        """Shut the executor down, and drop what has not begun, if it was made here."""
        if self._ours:
            self._executor.shutdown(cancel_futures=True)


Engine = str | futures.Executor
"""Where runs are done: a name of ``ENGINES``, ``module:attribute`` of a function that makes an executor, or one."""

ENGINES: Final[dict[str, Callable[[int | None], Executor]]] = {
    "processes": Processes,
    "ray": RayCluster,
    "here": Here,
}


def executor_of(engine: Engine, jobs: int | None = None) -> Executor:
    """Return where calls are done; ``jobs`` at a time, or as many as there are cores.

    >>> with ThreadPoolExecutor(2) as threads:
    ...     executor_of(threads, jobs=2).submit(abs, -3).result()
    3
    """
    at_a_time = None if jobs is None else whole("jobs", jobs, MOST_PROCESSES, 1)
    if isinstance(engine, futures.Executor):
        return Pool(engine, at_a_time, ours=False)
    if engine in ENGINES:
        return ENGINES[engine](at_a_time)
    if ":" not in engine:
        raise unknown_name("engine", engine, ENGINES)
    allowed = f"{', '.join(ENGINES)}, or module:attribute of a function that returns a concurrent.futures.Executor"
    make = attribute_at("engine", engine, allowed)
    made = make() if callable(make) else make
    if not isinstance(made, futures.Executor):
        raise InputError("engine", f"{engine!r}, which gives {type(made).__name__}", allowed)
    return Pool(made, at_a_time, ours=True)
