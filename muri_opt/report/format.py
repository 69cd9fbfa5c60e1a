"""Names and numbers as people see them: printable, cut to a width, counted."""

from __future__ import annotations

import unicodedata

_MOST_DIGITS = 30


def printable(text: str) -> str:
    """Return ``text`` on one line with nothing in it that moves a cursor; such characters are written as escapes."""
    return "".join(mark if mark.isprintable() else mark.encode("unicode_escape").decode() for mark in text)


def width(text: str) -> int:
    """Return how many columns of a terminal the text takes: wide characters take two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def cut(text: str, columns: int) -> str:
    """Return the text made printable and cut to so many columns."""
    shown = printable(text)
    if width(shown) <= columns:
        return shown
    while shown and width(shown) > columns - 1:
        shown = shown[:-1]
    return shown + "…" if columns > 0 else ""


def count(number: int, thing: str) -> str:
    """Return ``1 job``, ``2 jobs``, ``1,000 jobs``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def amount(number: float, digits: int = 3) -> str:
    """Return a measured amount without needless digits: ``64``, ``0.5``, ``1,024``."""
    return f"{number:,.{digits}f}".rstrip("0").rstrip(".")


def integer(number: int | None) -> str:
    """Return a whole number in full, or as a power of two where nobody would read its digits."""
    if number is None:
        return "none"
    if abs(number).bit_length() <= _MOST_DIGITS * 10 // 3:
        return str(number)
    return f"about {'-' if number < 0 else ''}2^{abs(number).bit_length() - 1}"


def _columns(mark: str) -> int:
    return 0 if unicodedata.combining(mark) else 1 + (unicodedata.east_asian_width(mark) in "WF")
