"""How long work goes on, on a terminal only: a bar for many steps, a line for one solve."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TextIO

if TYPE_CHECKING:
    from muri_opt.solve.watching import Sight

_WIDTH: Final = 30
_CLEAR: Final = "\r\x1b[K"
_FIRST_SECONDS: Final = 1.0
"""A solve that is over by then shows no line."""
_EVERY_SECONDS: Final = 0.5


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


class SolveLine:
    """A line on the standard error that says what a solve does, its value, bound and gap so far, and the seconds."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._began = time.monotonic()
        self._sight: Sight | None = None

    def see(self, sight: Sight) -> None:
        """Keep what the solve tells of itself."""
        self._sight = sight

    def text(self) -> str:
        """Return the line as it is now.

        >>> import io
        >>> SolveLine(io.StringIO()).text()
        '0 s: starting'
        """
        from muri_opt.rounds import relative_gap
        from muri_opt.rounds.percent import percent
        from muri_opt.rounds.readable_time import duration

        spent, sight = duration(time.monotonic() - self._began, 0), self._sight
        if sight is None:
            return f"{spent}: starting"
        known = (("value", sight.value), ("bound", sight.bound))
        parts = [f"{label} {number:,}" for label, number in known if number is not None]
        if sight.value is not None and sight.bound is not None:
            parts.append(f"gap {percent(relative_gap(sight.value, sight.bound))}")
        return f"{spent}: {', '.join([*parts, sight.doing])}"

    def draw_until(self, over: Event) -> None:
        """Draw the line again and again until the event is set, and clear it."""
        if over.wait(_FIRST_SECONDS):
            return
        while True:
            columns = shutil.get_terminal_size().columns
            self._stream.write(_CLEAR + self.text()[: columns - 1])
            self._stream.flush()
            if over.wait(_EVERY_SECONDS):
                break
        self._stream.write(_CLEAR)
        self._stream.flush()


@contextmanager
def solve_line(stream: TextIO | None = None) -> Iterator[None]:
    """Show how the solve in the block goes on, if the standard error is a terminal."""
    target = sys.stderr if stream is None else stream
    if target is None or not target.isatty():
        yield
        return
    from muri_opt.solve.watching import watched

    line, over = SolveLine(target), Event()
    drawing = Thread(target=line.draw_until, args=(over,), daemon=True)
    drawing.start()
    try:
        with watched(line.see):
            yield
    finally:
        over.set()
        drawing.join()
