"""Times written as text: whole seconds of a clock without a zone, and the words for no time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from muri_opt.errors import InputError
from muri_opt.rounds.error_text import shown

FIRST_YEAR: Final = 1990
LAST_YEAR: Final = 2049
ALLOWED: Final = f"a time such as '2017-10-09 07:01:55', from {FIRST_YEAR} to {LAST_YEAR}"
# Sixty years are less than the longest time of a round.
_ORIGIN: Final = datetime(FIRST_YEAR, 1, 1)  # a clock without a zone is all the traces have
_ORIGIN_DAY: Final = _ORIGIN.toordinal()
_NOTHING: Final = frozenset(("", "none", "null", "nan", "nat", "na", "unknown"))
_DASHES_AND_COLONS: Final = "-- ::"


def is_nothing(text: str) -> bool:
    """Return whether a cell holds nothing, or a word that a program wrote for it."""
    return not text or text.lower() in _NOTHING


def clock_seconds(field: str, text: str | None) -> float | None:
    """Return the seconds from the first of January of the first year, ``None`` for no time, or refuse the text."""
    if text is None or is_nothing(text):
        return None
    # Python reads many other ways to write a time, such as weeks and zones.
    if len(text) == len("2017-10-09 07:01:55") and text[4::3] == _DASHES_AND_COLONS:
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            pass
        else:
            if FIRST_YEAR <= time.year <= LAST_YEAR:
                days = time.toordinal() - _ORIGIN_DAY
                return float(days * 86_400 + time.hour * 3600 + time.minute * 60 + time.second)
    raise InputError(field, shown(text), f"{ALLOWED}, or None")


def clock_time(seconds: float) -> datetime:
    """Return the time that so many seconds stand for."""
    return _ORIGIN + timedelta(seconds=seconds)
