"""What answers messages, whichever way they come: it reads a message, answers it, and keeps the sessions."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

import msgspec

from muri_opt.cli.serve.messages import Asking, Message, Solve, Verify, WhatIf, Why
from muri_opt.cli.serve.problems import BAD_MESSAGE, NOT_FOUND, TOO_LARGE, Problem, RefusedMessage, problem_of
from muri_opt.cli.serve.session_messages import (
    Acknowledge,
    AddNode,
    Cancel,
    Close,
    Decide,
    DrainNode,
    Fail,
    Finish,
    Open,
    Progress,
    RemoveNode,
    SetPriority,
    State,
    Submit,
)
from muri_opt.errors import InputError
from muri_opt.rounds.decode_errors import wrong_value
from muri_opt.rounds.long_numbers import long_numbers
from muri_opt.rounds.repeated_keys import check_keys
from muri_opt.solve.session.journal import is_cut_off
from muri_opt.solve.session.session import Session

if TYPE_CHECKING:
    from muri_opt.rounds import Cluster, Limits

MOST_BYTES: Final = 64 << 20
MOST_JOBS: Final = 100_000
MOST_SESSIONS: Final = 16
ABOUT_ROUNDS: Final = (Solve, Verify, Why, WhatIf)
OF_SESSIONS: Final = (
    Open,
    Submit,
    Progress,
    Finish,
    Fail,
    Cancel,
    SetPriority,
    AddNode,
    DrainNode,
    RemoveNode,
    Decide,
    Acknowledge,
    State,
    Close,
)
MESSAGES: Final[dict[str, type[Message]]] = {
    str(kind.__struct_config__.tag): kind for kind in (*ABOUT_ROUNDS, *OF_SESSIONS)
}
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


class _Head(msgspec.Struct):
    """What is read of a message first."""

    do: str
    id: int | str | None = None


class Service:
    """Answers messages. ``journals`` is the folder of the sessions' journals; without one they are kept in memory.

    >>> Service().reply(b'{"do": "solve", "id": 7}').startswith(b'{"id":7,"problem":')
    True
    """

    def __init__(
        self, *, journals: Path | None = None, most_bytes: int = MOST_BYTES, most_jobs: int = MOST_JOBS
    ) -> None:
        self.journals, self.most_bytes, self.most_jobs = journals, most_bytes, most_jobs
        self._sessions: dict[str, Session] = {}
        self._lock = Lock()

    def reply(self, text: bytes) -> bytes:
        """Return the answer to the text of one message, or what is wrong, as one line of JSON without its end."""
        received = time.monotonic()
        head = _Head(do="")
        try:
            self.check_size(len(text))
            head = self._head(text)
            answer = self.read(head.do, text).answer(self, received)
            with long_numbers():
                return msgspec.json.encode({"id": head.id, "answer": answer})
        except (Exception, SystemExit) as error:  # whatever it is, the next message is answered
            return msgspec.json.encode({"id": head.id, "problem": problem_of(error)})

    def check_size(self, size: int) -> None:
        """Refuse a message of too many bytes."""
        if size > self.most_bytes:
            raise RefusedMessage(TOO_LARGE, f"{size:,} bytes; at most {self.most_bytes:,} are taken")

    def read(self, do: str, text: bytes) -> Message:
        """Return the message of a kind that a text holds."""
        kind = MESSAGES.get(do)
        if kind is None:
            raise RefusedMessage(NOT_FOUND, f"nothing is done by {do!r}; what can be asked: {', '.join(MESSAGES)}")
        try:
            message = msgspec.json.decode(text, type=kind)
            about = {"round": bytes(message.round)} if isinstance(message, (Asking, Verify)) else None
            check_keys(text, "message", about)  # the round is looked at where it is read
            return message
        except msgspec.ValidationError as error:
            raise wrong_value(error, text, kind, name="message") from None
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise RefusedMessage(BAD_MESSAGE, str(error)) from None

    def _head(self, text: bytes) -> _Head:
        try:
            return msgspec.json.decode(text, type=_Head)
        except msgspec.ValidationError as error:
            raise RefusedMessage(BAD_MESSAGE, f"{error}; a message says what to do, as in {_EXAMPLE}") from None
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise RefusedMessage(BAD_MESSAGE, str(error) or type(error).__name__) from None

    def open(
        self, name: str, cluster: Cluster, policy: str, method: str, limits: Limits, resources: tuple[str, ...]
    ) -> tuple[Session, bool]:
        """Return a session, new or resumed from its journal, and whether it was resumed."""
        if not _NAME.fullmatch(name):
            raise InputError("session", repr(name)[:80], "1 to 64 letters, digits, - and _")
        journal = None if self.journals is None else self.journals / f"{name}.jsonl"
        if name in self._sessions or _is_left(journal):
            return self.session(name), True
        begin = partial(Session, cluster, policy, method, limits, resources=resources, journal=journal)
        return self._begun(name, begin), False

    def _begun(self, name: str, begin: Callable[[], Session]) -> Session:
        with self._lock:
            if name not in self._sessions:
                if len(self._sessions) >= MOST_SESSIONS:
                    raise RefusedMessage(TOO_LARGE, f"{MOST_SESSIONS} sessions are open; close one")
                self._sessions[name] = begin()
            return self._sessions[name]

    def session(self, name: str) -> Session:
        """Return an open session, or one that a journal is left of: a process before this one had it."""
        with self._lock:
            found = self._sessions.get(name)
        if found is not None:
            return found
        journal = None if self.journals is None or not _NAME.fullmatch(name) else self.journals / f"{name}.jsonl"
        if journal is None or not _is_left(journal):
            raise RefusedMessage(NOT_FOUND, f"no session {name!r} is open; 'session/open' opens it")
        return self._begun(name, lambda: Session.resume(journal))

    def close(self, name: str) -> None:
        """Close a session."""
        session = self.session(name)
        with self._lock:
            self._sessions.pop(name, None)
        session.close()

    def close_all(self) -> None:
        """Close every session, so that nothing is lost when the process ends."""
        with self._lock:
            sessions = list(self._sessions.values())
            self._sessions.clear()
        for session in sessions:
            session.close()


def _is_left(journal: Path | None) -> bool:
    """Return whether a session has left a journal; one that was cut off as it was begun was answered to nobody."""
    return journal is not None and journal.exists() and not is_cut_off(journal)


_EXAMPLE: Final = '{"id": 1, "do": "solve", "round": {...}, "policy": "srtf"}'


def problem_line(problem: Problem) -> bytes:
    """Return a problem that belongs to no message as a line."""
    return msgspec.json.encode({"id": None, "problem": problem})
