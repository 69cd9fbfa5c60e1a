"""A bar for long work, on a terminal only."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Final, Self, TextIO

_WIDTH: Final = 30
_CLEAR: Final = "\r\x1b[K"


class Bar:
    """A line on the standard error that says how much is over; gone when the work is, and nothing to a file or pipe."""

    def __init__(self, thing: str, stream: TextIO | None = None) -> None:
        target = sys.stderr if stream is None else stream
        self._stream = target if target is not None and target.isatty() else None
        self._thing = thing

    def __enter__(self) -> Self:
        return self

    def __call__(self, over: int, total: int) -> None:
        """Draw the bar."""
        filled = _WIDTH * over // max(1, total)
        self._write(f"{_CLEAR}[{'#' * filled}{'.' * (_WIDTH - filled)}] {over:,} of {total:,} {self._thing}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write(_CLEAR)

    def _write(self, text: str) -> None:
        if self._stream is not None:
            self._stream.write(text)
            self._stream.flush()
