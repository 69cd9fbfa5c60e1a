"""An allocator in another process and any language: a round goes in as a line of JSON, a decision comes out as one.

The messages are those of ``muri-opt serve --stdio``: what answers ``solve`` there can be tested here.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from typing import IO, Any, Final

import msgspec

from muri_opt.errors import InputError
from muri_opt.rounds import Decision, Round, canonical_json
from muri_opt.testing.allocators import NoAnswerError, RefusedError, decision_from

MOST_BYTES: Final = 64 << 20
"""The longest line that is read, as ``muri-opt serve`` has it."""
REFUSED: Final = 422
"""The status of a problem by which a program declines a round."""
SHOWN: Final = 200
"""How many characters are told of a line, and how many bytes of what a program wrote to its standard error."""
_BLOCK: Final = 1 << 16


def from_command(command: str | Sequence[str], *, each_round: bool = False) -> Program:
    """Return the allocator of a program that reads rounds from its standard input and writes decisions.

    For each line ``{"id": 1, "do": "solve", "round": {...}}`` the program writes a line
    ``{"id": 1, "answer": {"j0": {"n0": 2}}}``, or the answer alone: the GPUs per node of each job that runs, a decision
    as ``from_dicts`` takes it, or a result as ``muri-opt serve`` writes it. With ``{"id": 1, "problem": {"status": 422,
    "detail": "..."}}`` it declines a round. A program that ends, answers anything else or too late is a finding; it
    is started again for the next round. With ``each_round`` every round has a process of its own, whose input ends
    after it. A text is split as a shell does it; no shell runs.

    >>> import sys
    >>> program = "import sys; [print('{}', flush=True) for line in sys.stdin]"
    >>> with from_command([sys.executable, "-c", program]) as starts_nobody:
    ...     starts_nobody(shipped_round("toy/two-gangs")).assignments
    ()
    """
    words = tuple(shlex.split(command) if isinstance(command, str) else command)
    if not words:
        raise InputError("command", "no words", "a program, and what it is given")
    return Program(words, each_round=each_round)


class Program:
    """A program as an allocator; ``close`` ends its process, and so does the end of ours.

    The first process is started at once, so that a command that cannot be run is no fault of a round.
    """

    def __init__(self, command: tuple[str, ...], *, each_round: bool) -> None:
        self.command = command
        self.each_round = each_round
        self._asked = 0
        self._process: _Process | None = _Process(command)
        self._ending = weakref.finalize(self, self._process.kill)

    def __call__(self, round_: Round) -> Decision:
        """Return what the program decides."""
        process = self._running()
        self._asked += 1
        message = {"id": self._asked, "do": "solve", "round": msgspec.Raw(canonical_json(round_))}
        try:
            line = process.ask(msgspec.json.encode(message), last=self.each_round)
        except NoAnswerError:
            self._end(process)
            raise
        if self.each_round:
            self._end(process)
        return answered(line, self._asked)

    def stop_call(self) -> None:
        """End the process, and with it the call that waits for its answer; the next call starts another process."""
        if self._process is not None:
            self._end(self._process)

    def close(self) -> None:
        """End the process."""
        self.stop_call()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _running(self) -> _Process:
        if self._process is None:
            self._process = _Process(self.command)
            self._ending = weakref.finalize(self, self._process.kill)
        return self._process

    def _end(self, process: _Process) -> None:
        """End a process; a call that was stopped may come here when the next one has a process already."""
        process.kill()
        if self._process is process:
            self._ending.detach()
            self._process = None


class _Process:
    """A process of the program, the lines it writes, and what it complains of."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - a pipe that nobody reads would fill up
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
                start_new_session=True,  # so that what it starts itself can be ended with it
            )
        except OSError as error:
            self._errors.close()
            found = f"{command[0]!r} ({error.strerror or error})"
            raise InputError("command", found, "a program that can be run") from None
        self._read = b""
        self._killed = False

    def ask(self, message: bytes, *, last: bool) -> bytes:
        """Write a line and return the line that answers it."""
        if self._read:
            raise NoAnswerError(f"wrote more than one line for a round: {_shown(self._read)}")
        source, target = self._process.stdin, self._process.stdout
        assert source is not None  # noqa: S101 - both are pipes
        assert target is not None  # noqa: S101
        try:
            _write(source, message + b"\n")
            if last:
                source.close()
        except OSError:
            pass  # it has closed its input; it may have answered before, or says why when it ends
        while b"\n" not in self._read:
            block = target.read(_BLOCK)
            if not block:
                raise NoAnswerError(self._ended())
            self._read += block
            if len(self._read) > MOST_BYTES:
                raise NoAnswerError(f"wrote a line of more than {MOST_BYTES:,} bytes")
        line, _, self._read = self._read.partition(b"\n")
        return line

    def kill(self) -> None:
        """End the process and all that it has started, once: its number may be that of another one later."""
        if self._killed:
            return
        self._killed = True
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (OSError, AttributeError):  # gone already, or a system without groups of processes
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._errors.close()

    def _ended(self) -> str:
        """Say how the process ended that answers no more."""
        try:
            code = self._process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            return "closed its output without an answer"
        if code < 0:
            return f"was ended by {signal.Signals(-code).name}"
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - SHOWN))
        lines = self._errors.read().decode(errors="replace").split("\n")
        said = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"ended with code {code} without an answer" + (f": {said}" if said else "")


def _write(target: IO[bytes], line: bytes) -> None:
    """Write all of a line: a pipe without a buffer may take a part of it."""
    left = memoryview(line)
    while left:
        left = left[target.write(left) :]


def answered(line: bytes, number: int) -> Decision:
    """Return the decision of a line, which answers the message of a number."""
    try:
        reply = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError):
        raise NoAnswerError(f"answered what is not JSON: {_shown(line)}") from None
    if not isinstance(reply, dict):
        raise NoAnswerError(f"answered {_shown(line)}, not an object")
    if reply.pop("id", number) != number:
        raise NoAnswerError(f"answered {_shown(line)}; the message had the id {number}")
    if "problem" in reply:
        raise _declined(reply["problem"])
    said = reply.get("answer", reply)
    if isinstance(said, Mapping):
        said = said.get("decision", said)
    try:
        return decision_from(said)
    except (InputError, msgspec.ValidationError) as error:
        raise NoAnswerError(f"answered {_shown(line)}, which is no decision: {error}") from None


def _declined(problem: Any) -> NoAnswerError:
    said = problem if isinstance(problem, Mapping) else {"detail": problem}
    if said.get("status") == REFUSED:
        return RefusedError(str(said.get("detail", "the program declines the round")))
    return NoAnswerError(f"answered the problem {said.get('status')}: {said.get('detail')}")


def _shown(line: bytes) -> str:
    text = line.decode(errors="replace").strip()
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "...")
