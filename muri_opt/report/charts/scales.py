"""Axes of charts: units of time, round marks on straight and on logarithmic axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from math import floor, log10
from typing import Final

from muri_opt.report.format import amount


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of time: its length in seconds, its name, its sign."""

    seconds: float
    name: str
    sign: str

    def shown(self, seconds: float) -> str:
        """Return a time in this unit, to the hundredth, without its name."""
        return f"{seconds / self.seconds:,.2f}"


_UNITS: Final = (
    Unit(86400.0, "days", "d"),
    Unit(3600.0, "hours", "h"),
    Unit(60.0, "minutes", "min"),
    Unit(1.0, "seconds", "s"),
)
_COARSE: Final = (1.0, 10.0, 60.0, 600.0, 3600.0, 36000.0)
_FINE: Final = (*(1.0, 2.0, 5.0, 10.0, 30.0), *(60.0, 120.0, 300.0, 600.0, 1800.0), *(3600.0, 7200.0, 18000.0, 43200.0))
_MOST_TICKS: Final = 9


def time_unit(span: float) -> Unit:
    """Return the largest unit of which the span has at least two."""
    return next((unit for unit in _UNITS if span >= 2 * unit.seconds), _UNITS[-1])


def duration(seconds: float) -> str:
    """Return a time with its unit, as short as it reads well: ``1 min``, ``2.5 h``, ``0.034 s``."""
    unit = next((unit for unit in _UNITS if seconds >= unit.seconds), _UNITS[-1])
    shown = amount(float(f"{seconds:.2g}"), 9) if seconds < 1 else amount(seconds / unit.seconds, 1)
    return f"{shown} {unit.sign}"


def ticks(top: float, most: int) -> list[float]:
    """Return round numbers from 0 to ``top``, at most so many steps; 0 alone where there is nothing to mark."""
    if top <= 0:
        return [0.0]
    rough = top / most
    power = 10.0 ** floor(log10(rough))
    step = power * next((step for step in (1.0, 2.0, 5.0) if power * step >= rough * (1 - 1e-9)), 10.0)
    return [step * mark for mark in range(int(top / step * (1 + 1e-9)) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return times people have words for that enclose two positive times: many where they are close, else few.

    Below a second there are powers of ten only; fine marks beside them would crowd at one end.
    """
    fine = _enclosing(_FINE, low, high)
    return fine if len(fine) <= _MOST_TICKS and fine[0] >= 1 else _enclosing(_COARSE, low, high)


def power_ticks(high: float) -> list[float]:
    """Return round numbers from 1 to at least ``high``: 1, 2, 5, 10 where these are few, else powers of ten."""
    powers = next(power for power in count(1) if 10.0**power >= high)
    fine = [step * 10.0**power for power in range(powers + 1) for step in (1.0, 2.0, 5.0)]
    needed = max(2, 1 + sum(mark < high for mark in fine))
    if needed <= _MOST_TICKS:
        return fine[:needed]
    every = -(-powers // _MOST_TICKS)
    return [10.0**power for power in range(0, powers + every, every)]


def _enclosing(marks: tuple[float, ...], low: float, high: float) -> list[float]:
    source = _all_marks(marks)
    found = [next(source)]
    while len(found) < 2 or found[-1] < high:
        mark = next(source)
        found = [mark] if mark <= low else [*found, mark]
    return found


def _all_marks(marks: tuple[float, ...]) -> Iterator[float]:
    """Yield the marks with tenths of seconds before and days behind them."""
    yield from (1e-5, 1e-4, 0.001, 0.01, 0.1)
    yield from marks
    days = 86400.0
    while True:
        yield days
        days *= 10


def straight(low: float, high: float, begin: float, end: float) -> Callable[[float], float]:
    """Return where values lie on an axis from ``begin`` to ``end``; all at its beginning where the span is nothing."""
    stretch = (end - begin) / (high - low) if high > low else 0.0
    return lambda value: begin + (value - low) * stretch


def logarithmic(low: float, high: float, begin: float, end: float) -> Callable[[float], float]:
    """Return where positive values lie on a logarithmic axis."""
    place = straight(log10(low), log10(high), begin, end)
    return lambda value: place(log10(value))
