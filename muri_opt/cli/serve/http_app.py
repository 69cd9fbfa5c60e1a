"""The messages over HTTP: a path each, problems as RFC 9457 has them, and what operators ask of a server."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from muri_opt.cli.serve.messages import MOST_DEADLINE
from muri_opt.cli.serve.metrics import CountedAnswer, Metrics
from muri_opt.cli.serve.openapi import openapi
from muri_opt.cli.serve.problems import (
    BAD_MESSAGE,
    BUSY,
    DIED,
    NOT_FOUND,
    NOT_READY,
    TITLES,
    TOO_LARGE,
    TOO_SLOW,
    UNAUTHORISED,
    WRONG_METHOD,
    Problem,
    RefusedMessage,
    problem_of,
)
from muri_opt.cli.serve.service import ABOUT_ROUNDS, MESSAGES, MOST_BYTES
from muri_opt.cli.serve.workers import Pool, Worker, WorkerBegins, WorkerDied
from muri_opt.errors import InputError
from muri_opt.rounds.error_text import shortened

BODY_SECONDS: Final = 30.0
"""A body that takes longer to arrive is refused: a slow client must not hold a connection for ever."""
MOST_SECONDS: Final = 60.0
"""How long a message without a deadline may hold its slot."""
HEADER: Final = "X-Deadline-Seconds"
FIELD: Final = "deadline_seconds"
MOST_WAITING: Final = 64
"""Messages of sessions that may wait for their turn."""
MOST_SHOWN: Final = 1000
"""Bytes of a value that are looked at to show it."""
_ROUND_MESSAGES: Final = frozenset(str(kind.__struct_config__.tag) for kind in ABOUT_ROUNDS)
_WITH_DEADLINE: Final = frozenset(do for do, kind in MESSAGES.items() if FIELD in kind.__struct_fields__)
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a server is run. Without a ``token`` everybody is answered, which is for the own machine only."""

    slots: int = 2
    token: str | None = None
    journals: str | None = None
    most_bytes: int = MOST_BYTES


class _Reply(msgspec.Struct):
    """A reply of a worker: an answer or a problem."""

    answer: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    problem: Problem | None = None


class Server:
    """Routes of one server, its workers and what it has counted."""

    def __init__(self, settings: Settings) -> None:
        options = () if settings.journals is None else ("--journals", settings.journals)
        self.settings, self.metrics, self.pool = settings, Metrics(), Pool(settings.slots, options)
        self._openapi = msgspec.json.encode(openapi())

    def app(self) -> Starlette:
        """Return the application."""
        routes = [
            Route("/v1/{do:path}", self.message, methods=["POST"]),
            Route("/healthz", self.healthy),
            Route("/readyz", self.ready),
            Route("/metrics", self.counts),
            Route("/openapi.json", self.describe),
        ]
        handlers: Any = {HTTPException: _not_routed}
        return Starlette(routes=routes, lifespan=self._lifespan, exception_handlers=handlers)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        beginning = asyncio.create_task(self.pool.begin())
        yield
        await beginning
        await self.pool.end()

    async def message(self, request: Request) -> Response:
        """Answer one message."""
        received = time.monotonic()
        do = request.path_params["do"]
        known = do if do in MESSAGES else "unknown"
        told = None
        try:
            self._admit(request)
            _check_known(do)
            response, told = await self._answered(do, await self._body(request), request, received)
        except RefusedMessage as refused:
            response = _problem(refused.status, str(refused))
        except InputError as error:
            response = _refusal(problem_of(error))
        except ClientDisconnect:
            response = _problem(TOO_SLOW, "the client has gone")
        self.metrics.count(known, response.status_code, time.monotonic() - received, told)
        return response

    async def _answered(
        self, do: str, body: bytes, request: Request, received: float
    ) -> tuple[Response, CountedAnswer | None]:
        line, deadline = _line(do, body, request.headers.get(HEADER), received)
        reply = msgspec.json.decode(await self._asked(do, line, deadline), type=_Reply)
        if reply.problem is not None:
            return _refusal(reply.problem), None
        answer = bytes(reply.answer) if isinstance(reply.answer, msgspec.Raw) else b"null"
        told = msgspec.json.decode(answer, type=CountedAnswer) if do == "solve" else None
        return _response(200, answer), told

    async def _asked(self, do: str, line: bytes, deadline: float | None) -> bytes:
        pool = self.pool
        if do not in _ROUND_MESSAGES:
            if pool.waiting >= MOST_WAITING:
                raise RefusedMessage(BUSY, f"{MOST_WAITING} messages of sessions wait for their turn")
            pool.waiting += 1
            try:
                return await _turn(pool.sessions, line, deadline)
            finally:
                pool.waiting -= 1
        worker = pool.free()
        if worker is None and not any(one.ready.is_set() for one in pool.rounds):
            raise RefusedMessage(NOT_READY, "the solvers are being started")
        if worker is None:
            raise RefusedMessage(BUSY, f"all {self.settings.slots} slots are taken")
        return await _turn(worker, line, deadline)

    def _admit(self, request: Request) -> None:
        """Refuse a request without the token, in the same time whatever it has instead."""
        if self.settings.token is None:
            return
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self.settings.token}".encode()):
            raise RefusedMessage(UNAUTHORISED, "the header 'Authorization: Bearer ...' with the token of this server")

    async def _body(self, request: Request) -> bytes:
        most = self.settings.most_bytes
        refusal = RefusedMessage(TOO_LARGE, f"a body of more than {most:,} bytes")
        said = request.headers.get("content-length", "0")
        if said.isdecimal() and int(said) > most:
            raise refusal
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for part in request.stream():
                    body += part
                    if len(body) > most:
                        raise refusal
        except TimeoutError:
            raise RefusedMessage(TOO_SLOW, f"a body is waited for {BODY_SECONDS:g} s") from None
        return bytes(body)

    async def healthy(self, request: Request) -> Response:
        """Say that the process is there."""
        return Response("ok\n", media_type="text/plain")

    async def ready(self, request: Request) -> Response:
        """Say whether every solver is warm."""
        if self.pool.ready:
            return Response("ready\n", media_type="text/plain")
        return _problem(NOT_READY, "the solvers are being started")

    async def counts(self, request: Request) -> Response:
        """Return what was counted."""
        pool = self.pool
        restarts = sum(worker.restarts for worker in pool.all)
        text = self.metrics.text(slots=len(pool.rounds), busy=pool.busy, restarts=restarts)
        return Response(text, media_type="text/plain; version=0.0.4")

    async def describe(self, request: Request) -> Response:
        """Return the description of the interface."""
        return _response(200, self._openapi)


def _check_known(do: str) -> None:
    if do not in MESSAGES:
        raise RefusedMessage(NOT_FOUND, f"nothing is done by {do[:80]!r}; what can be asked: {', '.join(MESSAGES)}")


async def _turn(worker: Worker, line: bytes, deadline: float | None) -> bytes:
    async with worker.turn:
        try:
            return await worker.ask(line, MOST_SECONDS if deadline is None else max(0.0, deadline))
        except WorkerBegins as begins:
            raise RefusedMessage(NOT_READY, f"{begins}; ask again") from None
        except WorkerDied as died:
            raise RefusedMessage(DIED, f"{died}; 'session/state' says whether an event was kept") from None


def _line(do: str, body: bytes, header: str | None, received: float) -> tuple[bytes, float | None]:
    """Return the line for a worker, with the time that is left until the deadline of the header or the field.

    Messages that have no deadline pass over the header.
    """
    said = None if header is None else _seconds(HEADER, header.encode())
    try:
        fields = _FIELDS.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RefusedMessage(BAD_MESSAGE, f"{error}; the body is one JSON object") from None
    allowed = f"{do!r}, as the path says, or no such field"
    if "do" in fields and _read("do", bytes(fields["do"]), str, allowed) != do:
        raise InputError("do", _shown(bytes(fields["do"])), allowed)
    changed: dict[str, Any] = {**fields, "do": do}
    left = None
    if do in _WITH_DEADLINE:
        left = said if said is not None else _seconds(FIELD, bytes(fields.get(FIELD, b"null")))
    if left is not None:
        left = max(0.0, left - (time.monotonic() - received))
        changed[FIELD] = left
    line = msgspec.json.encode(changed)
    if line.count(b":") != body.count(b":") + len(changed.keys() - fields.keys()):
        line = b'{"do":"%b",%b' % (do.encode(), body.strip()[1:])  # a key is there twice: the worker says which
    # A newline inside the text would end the line: JSON allows it between words only, so that it can be a blank.
    return line.replace(b"\n", b" ").replace(b"\r", b" ") + b"\n", left


def _seconds(name: str, text: bytes) -> float | None:
    """Return the seconds until a deadline, or refuse what is no such number; a field may be ``null``."""
    allowed = f"a number of seconds from 0 to {MOST_DEADLINE:,.0f}"
    found: float | None = _read(name, text, float if name == HEADER else float | None, allowed)
    if found is not None and not 0 <= found <= MOST_DEADLINE:
        raise InputError(name, _shown(text), allowed)
    return found


def _read(name: str, text: bytes, kind: Any, allowed: str) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise InputError(name, _shown(text), allowed) from None


def _shown(text: bytes) -> str:
    return shortened(text[:MOST_SHOWN].decode(errors="replace")) or "nothing"


def _response(status: int, body: bytes, *, problem: bool = False) -> Response:
    headers = {"retry-after": "1"} if status in (BUSY, NOT_READY, DIED) else {}
    kind = "application/problem+json" if problem else "application/json"
    return Response(body, status_code=status, headers=headers, media_type=kind)


def _refusal(problem: Problem) -> Response:
    return _response(problem.status, msgspec.json.encode(problem), problem=True)


def _problem(status: int, detail: str) -> Response:
    return _refusal(Problem(title=TITLES[status], status=status, detail=detail))


async def _not_routed(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else NOT_FOUND
    if status == WRONG_METHOD:
        response = _problem(WRONG_METHOD, "messages are sent by POST, all else is asked by GET")
        response.headers["allow"] = "POST" if request.url.path.startswith("/v1/") else "GET, HEAD"
        return response
    return _problem(NOT_FOUND, f"nothing is at {request.url.path[:100]!r}; messages are at /v1/, such as /v1/solve")
