"""What went wrong, for programs: a status as in HTTP and, for bad input, the field, what was found and is allowed."""

from __future__ import annotations

from typing import Final

import msgspec

from muri_opt.errors import InputError, NoAnswer

BAD_MESSAGE: Final = 400
UNAUTHORISED: Final = 401
NOT_FOUND: Final = 404
WRONG_METHOD: Final = 405
TOO_SLOW: Final = 408
TOO_LARGE: Final = 413
BAD_INPUT: Final = 422
BUSY: Final = 429
FAILED: Final = 500
DIED: Final = 502
NOT_READY: Final = 503
NO_ROOM: Final = 507
TITLES: Final = {
    BAD_MESSAGE: "the message cannot be read",
    UNAUTHORISED: "a token is needed",
    NOT_FOUND: "there is no such thing",
    WRONG_METHOD: "this path is not asked so",
    TOO_SLOW: "the body took too long to arrive",
    TOO_LARGE: "the message is too large",
    BAD_INPUT: "the input is refused",
    BUSY: "every slot is taken",
    FAILED: "an error of the server",
    DIED: "the worker of this message ended",
    NOT_READY: "no answer: not in time, none is possible, or not ready yet",
    NO_ROOM: "the journal cannot be written",
}


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer that is none, as RFC 9457 has it (``application/problem+json``)."""

    title: str
    status: int
    detail: str
    field: str | None = None
    found: str | None = None
    allowed: str | None = None


class RefusedMessage(Exception):  # noqa: N818 - what is raised is a refusal
    """A message that is refused before or beside its work."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


def problem_of(error: BaseException) -> Problem:
    """Return what a client is told of an error; of one that should not be, no more than its kind.

    >>> problem_of(InputError("now", "-1", "at least 0")).field
    'now'
    """
    if isinstance(error, InputError):
        told = {"field": error.field, "found": error.found, "allowed": error.allowed}
        return Problem(title=TITLES[BAD_INPUT], status=BAD_INPUT, detail=str(error), **told)
    status, detail = FAILED, type(error).__name__
    if isinstance(error, RefusedMessage):
        status, detail = error.status, str(error)
    elif isinstance(error, NoAnswer):
        status, detail = NOT_READY, str(error)
    elif isinstance(error, OSError):
        status, detail = NO_ROOM, error.strerror or detail
    return Problem(title=TITLES[status], status=status, detail=detail)
