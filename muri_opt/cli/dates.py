"""Moments on the command line: seconds, or dates as ISO 8601 writes them."""

from __future__ import annotations

from datetime import UTC, datetime

from muri_opt.errors import InputError


def seconds_of(option: str, text: str, epoch: datetime | None) -> float:
    """Return the moment in seconds from the ``epoch`` on, which dates need.

    Of a date with a zone the time in UTC counts where the epoch has no zone: clocks of traces say none.

    >>> from datetime import datetime
    >>> seconds_of("--at", "3600", None)
    3600.0
    >>> seconds_of("--at", "2017-10-09T08:00", datetime(2017, 10, 9, 7))
    3600.0
    """
    try:
        return float(text)
    except ValueError:
        pass
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(option, repr(text), "seconds, or a date such as 2017-10-09T08:00:00") from None
    if epoch is None:
        raise InputError(option, repr(text), "seconds: the file counts them itself, and has no dates")
    if date.tzinfo is not None and epoch.tzinfo is None:
        date = date.astimezone(UTC).replace(tzinfo=None)
    elif date.tzinfo is None and epoch.tzinfo is not None:
        date = date.replace(tzinfo=epoch.tzinfo)
    return (date - epoch).total_seconds()
