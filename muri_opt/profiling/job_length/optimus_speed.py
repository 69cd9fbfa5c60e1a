"""Speed functions of Optimus: steps per second of a job with parameter servers and workers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from muri_opt.errors import InputError
from muri_opt.profiling.job_length.nonnegative_fit import MOST_COEFFICIENT, fit_times
from muri_opt.rounds.field_checks import check_kind, items
from muri_opt.rounds.quantities import MAX_COUNT, MAX_RATE, finite, whole

MOST_TASKS: Final = 1_000_000
_OF_SERVERS = "runs with several numbers of parameter servers"
_OF_WORKERS = "runs with several numbers of workers"
_OF_RATIO = "runs with several ratios of workers to parameter servers"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedPoint:
    """A measured speed: steps per second of all workers together."""

    ps: int
    workers: int
    speed: float

    def __post_init__(self) -> None:
        for name in ("ps", "workers"):
            object.__setattr__(self, name, whole(name, getattr(self, name), MOST_TASKS, 1))
        object.__setattr__(self, "speed", finite("speed", self.speed, MAX_RATE, positive=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class AsyncSpeed:
    """Asynchronous training: f(p, w) = w / (a + b w / p + c w + d p).

    The speed of a pair in ``measured`` is what was measured there, averaged if more than once.
    """

    COEFFICIENTS: ClassVar[dict[str, str]] = {
        "a": "runs with several numbers of workers and parameter servers",
        "b": _OF_RATIO,
        "c": _OF_WORKERS,
        "d": _OF_SERVERS,
    }

    a: float
    b: float
    c: float
    d: float
    measured: tuple[SpeedPoint, ...] = ()

    def __post_init__(self) -> None:
        _check(self)

    def speed(self, ps: int, workers: int) -> float:
        """Return the steps per second of all workers together."""
        p, w = _tasks(ps, workers)
        return _measured(self.measured, p, w) or w / (self.a + self.b * w / p + self.c * w + self.d * p)

    def seconds_per_step(self, ps: int, workers: int) -> float:
        """Return the seconds from one step of any worker to the next."""
        return 1 / self.speed(ps, workers)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncSpeed:
    """Synchronous training: f(p, w) = 1 / (a M / w + b + c w / p + d w + e p), with M the global ``batch``.

    The speed of a pair in ``measured`` is what was measured there, averaged if more than once.
    """

    COEFFICIENTS: ClassVar[dict[str, str]] = {
        "a": _OF_WORKERS,
        "b": "runs with several numbers of workers and parameter servers",
        "c": _OF_RATIO,
        "d": _OF_WORKERS,
        "e": _OF_SERVERS,
    }

    batch: int
    a: float
    b: float
    c: float
    d: float
    e: float
    measured: tuple[SpeedPoint, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "batch", whole("batch", self.batch, MAX_COUNT, 1))
        _check(self)

    def speed(self, ps: int, workers: int) -> float:
        """Return the steps per second; a step is one of all workers together."""
        p, w = _tasks(ps, workers)
        seconds = self.a * self.batch / w + self.b + self.c * w / p + self.d * w + self.e * p
        return _measured(self.measured, p, w) or 1 / seconds

    def seconds_per_step(self, ps: int, workers: int) -> float:
        """Return the seconds of a step."""
        return 1 / self.speed(ps, workers)


def fit_async(points: Iterable[SpeedPoint], *, fixed: Mapping[str, float] | None = None) -> AsyncSpeed:
    """Return the speed function nearest to the points: least squared error of w / f, no coefficient negative.

    At least four points, less those in ``fixed``; points that leave a coefficient open are refused by its name. The
    points are kept, and what was measured is not computed.
    """
    p, w, speeds, held = _points(points)
    amounts = np.stack([np.ones(p.size), w / p, w, p], axis=1)
    return AsyncSpeed(**fit_times(AsyncSpeed.COEFFICIENTS, amounts, w / speeds, fixed), measured=held)


def fit_sync(points: Iterable[SpeedPoint], *, batch: int, fixed: Mapping[str, float] | None = None) -> SyncSpeed:
    """Return the speed function nearest to the points: least squared error of 1 / f, no coefficient negative.

    At least five points, less those in ``fixed``; points that leave a coefficient open are refused by its name. The
    points are kept, and what was measured is not computed.
    """
    p, w, speeds, held = _points(points)
    images = whole("batch", batch, MAX_COUNT, 1)
    amounts = np.stack([images / w, np.ones(p.size), w / p, w, p], axis=1)
    return SyncSpeed(**fit_times(SyncSpeed.COEFFICIENTS, amounts, 1 / speeds, fixed), batch=images, measured=held)


def _points(points: Iterable[SpeedPoint]) -> tuple[Any, Any, Any, tuple[SpeedPoint, ...]]:
    held = items("samples", points)
    if not held:
        raise InputError("samples", "none", "at least one sample")
    for position, point in enumerate(held):
        check_kind(f"samples[{position}]", point, SpeedPoint)
    p, w, speeds = (np.array([getattr(point, name) for point in held], float) for name in ("ps", "workers", "speed"))
    return p, w, speeds, held


def _check(owner: AsyncSpeed | SyncSpeed) -> None:
    """Check coefficients and measured pairs; all amounts are above 0, so one coefficient above 0 makes all times so."""
    for name in owner.COEFFICIENTS:
        object.__setattr__(owner, name, finite(name, getattr(owner, name), MOST_COEFFICIENT))
    if not any(getattr(owner, name) for name in owner.COEFFICIENTS):
        raise InputError("coefficients", "nothing but 0", "at least one above 0")
    held = items("measured", owner.measured)
    for position, point in enumerate(held):
        check_kind(f"measured[{position}]", point, SpeedPoint)
    object.__setattr__(owner, "measured", held)


def _tasks(ps: Any, workers: Any) -> tuple[int, int]:
    return whole("ps", ps, MOST_TASKS, 1), whole("workers", workers, MOST_TASKS, 1)


def _measured(points: tuple[SpeedPoint, ...], ps: int, workers: int) -> float | None:
    """Return the mean speed measured with the pair, if it was."""
    found = [point.speed for point in points if (point.ps, point.workers) == (ps, workers)]
    return sum(found) / len(found) if found else None
