"""Whoever wants to see how a solve goes on: what it does, and the value and bound it has so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What a solve does now, and what it has so far."""

    doing: str
    value: int | None = None
    bound: int | None = None


Watcher = Callable[[Sight], None]
_WATCHER: Final[ContextVar[Watcher | None]] = ContextVar("watcher", default=None)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Let the watcher see every solve in the block, in the thread that solves; it must not take long.

    >>> seen = []
    >>> with watched(seen.append):
    ...     result = solve_round(shipped_round("toy/eight-gangs"), "srtf")
    >>> seen[0].doing, seen[-1].value == result.value
    ('algorithm', True)
    """
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def tell(doing: str, value: int | None, bound: int | None) -> None:
    """Tell the watcher, if there is one."""
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher(Sight(doing=doing, value=value, bound=bound))
