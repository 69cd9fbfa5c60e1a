"""Times as people read them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

_MINUTE, _DAY = 60, 86_400
_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))
_DATES: Final = (946_684_800, 253_402_300_800)
"""Seconds from 1970 to the years 2000 and 10000: a moment in between is taken for a date."""


def duration(seconds: float, digits: int = 6) -> str:
    """Return a time in the units people use; parts of a second only below a minute, seconds only below a day.

    >>> duration(0.5), duration(90), duration(12_000), duration(200_000)
    ('0.5 s', '1 min 30 s', '3 h 20 min', '2 d 7 h 33 min')
    """
    sign, span = "-" * (seconds < 0), abs(seconds)
    if span < _MINUTE:
        text = f"{span:.{digits}f}"
        return sign + (text.rstrip("0").rstrip(".") if digits else text) + " s"
    left = round(span) if span < _DAY else _MINUTE * round(span / _MINUTE)
    parts = []
    for size, unit in _UNITS:
        number, left = divmod(left, size)
        parts += [f"{number:,} {unit}"] if number else []
    return sign + " ".join(parts)


def unit_of(seconds: float) -> tuple[int, str]:
    """Return the unit for a column of times whose largest is given: that of which it has at least two.

    >>> unit_of(90), unit_of(12_000)
    ((1, 's'), (3600, 'h'))
    """
    return next(((size, unit) for size, unit in _UNITS if seconds >= 2 * size), _UNITS[-1])


def moment(seconds: float) -> str:
    """Return a moment: its date where the seconds count from 1970, else how long after the start it is.

    >>> moment(7100), moment(1_767_323_045)
    ('1 h 58 min 20 s', '2026-01-02 03:04:05 UTC')
    """
    if _DATES[0] <= seconds < _DATES[1]:
        return f"{datetime.fromtimestamp(round(seconds), UTC):%Y-%m-%d %H:%M:%S} UTC"
    return duration(seconds)
