"""Worker processes behind the HTTP server: each answers JSON lines, one at a time, and is begun anew when it dies.

A slot is a worker. A message either has a free slot at once or is refused: there is no queue in which deadlines pass.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

MOST_REPLY: Final = 1 << 30
GRACE_SECONDS: Final = 5.0
"""How long after its deadline a message is waited for before its worker is taken for dead."""
READY: Final = b'{"do": ""}\n'
"""A message that every worker answers as soon as it has loaded what it needs."""


class WorkerDied(Exception):  # noqa: N818 - what happened
    """The process of a message ended before it answered, or was stopped because it did not answer."""


class WorkerBegins(Exception):  # noqa: N818 - what happens
    """The process of a message is being started: nothing was done with the message."""


class Worker:
    """One process. ``restarts`` counts how often it had to be begun anew."""

    def __init__(self, options: Sequence[str] = ()) -> None:
        self._command = (sys.executable, "-m", "muri_opt", "serve", "--stdio", *options)
        self._process: asyncio.subprocess.Process | None = None
        self.ready = asyncio.Event()
        self.restarts = 0
        self.turn = asyncio.Lock()

    async def begin(self) -> None:
        """Start the process, and wait until it is warm."""
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            *self._command, stdin=pipe, stdout=pipe, limit=MOST_REPLY, start_new_session=True
        )
        await self._exchange(self._process, READY)
        self.ready.set()

    async def ask(self, line: bytes, seconds: float) -> bytes:
        """Return the reply to a line within some seconds; a process that dies or takes too long is begun anew."""
        process = self._process
        if process is None or not self.ready.is_set():
            raise WorkerBegins("the worker is being started")
        try:
            return await asyncio.wait_for(self._exchange(process, line), seconds + GRACE_SECONDS)
        except (TimeoutError, WorkerDied, ConnectionError) as error:
            self._begin_anew()
            raise WorkerDied("the worker ended before it answered") from error
        except asyncio.CancelledError:  # the client has gone: what it asked for must not answer the next one
            self._begin_anew()
            raise

    async def end(self) -> None:
        """Let the process end by itself, and see that it does."""
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), GRACE_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()

    def _begin_anew(self) -> None:
        self.ready.clear()
        self.restarts += 1
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
        self._beginning = asyncio.get_running_loop().create_task(self.begin())

    @staticmethod
    async def _exchange(process: asyncio.subprocess.Process, line: bytes) -> bytes:
        source, target = process.stdout, process.stdin
        if source is None or target is None:
            raise WorkerDied("the worker has no streams")
        target.write(line)
        await target.drain()
        reply = await source.readline()
        if not reply.endswith(b"\n"):
            raise WorkerDied("the worker ended before it answered")
        return reply


class Pool:
    """``slots`` workers for messages about rounds, and one for all sessions, whose messages come one after another."""

    def __init__(self, slots: int, options: Sequence[str] = ()) -> None:
        self.rounds = [Worker() for _ in range(slots)]
        self.sessions = Worker(options)
        self.waiting = 0

    @property
    def all(self) -> list[Worker]:
        """Every worker."""
        return [*self.rounds, self.sessions]

    @property
    def ready(self) -> bool:
        """Whether every worker is warm."""
        return all(worker.ready.is_set() for worker in self.all)

    @property
    def busy(self) -> int:
        """How many slots are taken."""
        return sum(worker.turn.locked() for worker in self.rounds)

    def free(self) -> Worker | None:
        """Return a worker that could answer a message about a round at once."""
        idle = (worker for worker in self.rounds if worker.ready.is_set() and not worker.turn.locked())
        return next(idle, None)

    async def begin(self) -> None:
        """Start all workers."""
        await asyncio.gather(*(worker.begin() for worker in self.all))

    async def end(self) -> None:
        """End all workers."""
        await asyncio.gather(*(worker.end() for worker in self.all))
