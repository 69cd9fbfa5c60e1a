"""Values of thousands of digits, which results have where many priorities outweigh each other, in texts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from math import isinf
from threading import Lock
from typing import Final, NoReturn, TypeVar

Kind = TypeVar("Kind")
MOST_DIGITS: Final = 1 << 17
"""Of a number in a text: some 30,000 jobs, each of a priority of its own. Reading one takes a fifth of a second."""


class _Limit:
    """The limit that Python has for all threads: raised while any of them is inside, then as it was."""

    def __init__(self) -> None:
        self._lock, self._inside, self._before = Lock(), 0, 0

    def raised(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = sys.get_int_max_str_digits()
                if 0 < self._before < MOST_DIGITS:  # 0 is no limit
                    sys.set_int_max_str_digits(MOST_DIGITS)
            self._inside += 1

    def lowered(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                sys.set_int_max_str_digits(self._before)


_LIMIT: Final = _Limit()
_LONG: Final = "[0-9]{4300}"
"""What msgspec reads no numbers from."""


@contextmanager
def long_numbers() -> Iterator[None]:
    """Let numbers of up to ``MOST_DIGITS`` digits be written and read, which Python refuses beyond 4,300.

    >>> with long_numbers():
    ...     len(str(10**5_000))
    5001
    """
    _LIMIT.raised()
    try:
        yield
    finally:
        _LIMIT.lowered()


def decoded(text: bytes | str, kind: type[Kind]) -> Kind:
    """Return what a JSON text holds, which may have long numbers; raise what msgspec does, or a ``ValueError``."""
    import json
    import re

    import msgspec  # here, as the command line comes to its help without it

    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError:
        said = text if isinstance(text, str) else text.decode()
        if not re.search(_LONG, said):
            raise
    with long_numbers():
        told = json.loads(said, parse_constant=_no_number, parse_float=_finite)
        return msgspec.convert(told, type=kind, str_keys=True)


def _no_number(said: str) -> NoReturn:
    raise ValueError(f"{said} is no number of JSON")


def _finite(said: str) -> float:
    found = float(said)
    if isinf(found):
        raise ValueError(f"{said} is out of range")
    return found
