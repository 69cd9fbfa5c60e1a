"""A pipe by which a solver process learns that the process which started it is gone, however that one ended.

Nothing is ever written. The one end is held by the process that asks, the other by the solver process; when the first
is gone, by its own end or by a signal that nothing can catch, the kernel closes its end. On Linux the kernel then kills
the solver process by itself, even in the middle of compiled code that never returns to Python. (The signal on the death
of a parent, ``PR_SET_PDEATHSIG``, is for the thread that started the process: it would come whenever that thread ends.)
Elsewhere, and where some third process has inherited the first end, a thread of the solver process looks every half
second.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_LOOK_SECONDS = 0.5


class ParentPipe:
    """The end of the process that asks; closing it ends the other process."""

    def __init__(self) -> None:
        self._theirs, ours = (os.fdopen(end, mode, 0) for end, mode in zip(os.pipe(), ("rb", "wb"), strict=True))
        self._ours = ours

    @contextmanager
    def handed_over(self) -> Iterator[int]:
        """Lend the other end, to be passed to a new process; it is closed here afterwards."""
        with self._theirs:
            yield self._theirs.fileno()

    def close(self) -> None:
        """Close this end; closing it again does nothing."""
        self._ours.close()


def end_with(line: int) -> None:
    """Let this process end as soon as nobody holds the other end of a line, or the process that started it is gone."""
    threading.Thread(target=_watch, args=(line, os.getppid()), daemon=True).start()
    with suppress(ImportError, AttributeError, OSError):  # not on every system: the thread watches then
        from fcntl import F_GETFL, F_SETFL, F_SETOWN, F_SETSIG, fcntl

        fcntl(line, F_SETOWN, os.getpid())
        fcntl(line, F_SETSIG, signal.SIGKILL)
        fcntl(line, F_SETFL, fcntl(line, F_GETFL) | os.O_ASYNC)


def _watch(line: int, parent: int) -> None:
    """End this process when the line or the parent has ended; nothing is ever written, so there is only the end."""
    while os.getppid() == parent:
        if select.select([line], [], [], _LOOK_SECONDS)[0]:
            break
    os._exit(1)
