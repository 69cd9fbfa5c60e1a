"""Calls that run in a thread with a time limit; a thread whose call was in time runs the next one.

Starting a thread takes longer than many an allocator takes to decide.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue


class CallThread:
    """A thread for one call after another: :meth:`run` says whether a call was in time.

    After one that was not, nobody may use it again; it ends with that call.

    >>> thread = CallThread.idle()
    >>> thread.run(lambda: None, 60.0)
    True
    """

    _waiting: list[CallThread] = []  # noqa: RUF012 - of all callers
    """Those whose last call was in time."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Callable[[], None], threading.Lock]] = SimpleQueue()
        self._late = False
        self._thread = threading.Thread(target=self._serve, daemon=True, name="allocator under test")
        self._thread.start()

    @classmethod
    def idle(cls) -> CallThread:
        """Return a thread that nobody uses."""
        try:
            return cls._waiting.pop()
        except IndexError:
            return cls()

    @classmethod
    def forget(cls) -> None:
        """Forget all threads: a forked process has none of them."""
        cls._waiting.clear()

    def run(self, call: Callable[[], None], seconds: float) -> bool:
        """Return whether the call, which raises nothing but :class:`StopError`, was done after so many seconds."""
        done = threading.Lock()
        done.acquire()
        self._calls.put((call, done))
        if done.acquire(timeout=seconds):
            self._waiting.append(self)
            return True
        self._late = True
        self._calls.put((call, done))  # wakes it if it was done just now
        return False

    def stop(self) -> None:
        """Raise an error in a call that is late, which ends a loop in Python.

        A pending error of a thread that waits in other code keeps a traced interpreter of Python 3.11 (under a debugger
        or a measurement of coverage) from going on until that thread returns. There the thread is left behind.
        """
        if sys.gettrace() is None or sys.version_info >= (3, 12):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(self._thread.ident or 0), ctypes.py_object(StopError)
            )

    def _serve(self) -> None:
        try:
            while True:
                call, done = self._calls.get()
                if self._late:
                    return
                call()
                del call  # what it decided is not kept until the next one comes
                done.release()
        except StopError:
            return


class StopError(BaseException):
    """Ends an allocator that took too long; none of its own handlers of errors should catch it."""


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=CallThread.forget)
