"""Stage times of a training loop, measured where it runs: what a job has to say to share GPUs.

Four lines in the loop of any framework::

    timer = StageTimer()
    for batch in batches:
        with timer.stage("storage"):
            raw = read(batch)
        with timer.stage("cpu"):
            images = decode(raw)
        with timer.stage("gpu"):
            loss = step(images)
        with timer.stage("network"):
            exchange(gradients)
    print(timer.json(model="resnet50"))

Work on a GPU is only begun when a line of Python ends. So where PyTorch is loaded and has begun to use CUDA, the timer
waits for the device at both ends of a stage; it never imports PyTorch itself. Other frameworks give a ``synchronise``.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from muri_opt.errors import InputError, unknown_name
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND, whole
from muri_opt.rounds.round import DEFAULT_RESOURCES

MOST_ITERATIONS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How the times of a stage differ from iteration to iteration: a tenth is shorter than ``low``, a tenth longer.

    >>> Spread(low=0.9, median=1.0, high=1.3).high
    1.3
    """

    low: float
    median: float
    high: float


class StageTimer:
    """Times the stages of iterations; ``warm_up`` iterations at first do not count, and ``iterations`` are enough.

    An iteration begins with the stage that came first of all, whenever another stage was between; a loop that comes
    back to its first stage within an iteration says where one begins with :meth:`iteration`. A stage that is entered
    several times in an iteration has the sum. After so many iterations the timer does nothing more, and does not wait
    for the device any more: it may stay in the loop.

    >>> ticks = iter([0.0, 0.2, 0.2, 0.5, 0.6, 0.8, 0.8, 1.1, 1.2, 1.4, 1.4, 1.7])
    >>> timer = StageTimer(("data", "gpu"), warm_up=0, clock=lambda: next(ticks))
    >>> for _ in range(3):
    ...     with timer.stage("data"):
    ...         pass  # read a batch
    ...     with timer.stage("gpu"):
    ...         pass  # train on it
    >>> timer.stage_seconds, timer.iteration_seconds
    ((0.2, 0.3), 0.6)
    >>> timer.json(model="mlp")
    '{"stage_seconds": [0.2, 0.3], "iteration_seconds": 0.6, "model": "mlp"}'
    """

    def __init__(
        self,
        resources: Sequence[str] = DEFAULT_RESOURCES,
        *,
        warm_up: int = 2,
        iterations: int = 100,
        clock: Callable[[], float] = time.perf_counter,
        synchronise: Callable[[], None] | None = None,
    ) -> None:
        self.resources = tuple(resources)
        self._warm_up = whole("warm_up", warm_up, MOST_ITERATIONS)
        self._most = whole("iterations", iterations, MOST_ITERATIONS, least=1)
        self._clock, self._synchronise = clock, _wait_for_cuda if synchronise is None else synchronise
        self._done: list[_Iteration] = []
        self._open: _Iteration | None = None
        self._inside: str | None = None
        self._told = False  # whether the loop says itself where an iteration begins

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what is inside as a stage, by the name of the resource that it uses."""
        if name not in self.resources:
            raise unknown_name("stage", name, self.resources)
        if self._inside is not None:
            raise InputError("stage", f"{name!r} inside of {self._inside!r}", "one stage after another")
        if self.is_over:
            yield
            return
        self._synchronise()
        began = self._clock()
        if not self._told and (self._open is None or self._open.begins_again_with(name)):
            self._close(began)
            self._open = _Iteration(began)
        self._inside = name
        try:
            yield
            self._synchronise()
            if self._open is not None:
                self._open.stages.append((name, began, self._clock()))
        except BaseException:
            self._open = None  # part of an iteration would count as a short one
            raise
        finally:
            self._inside = None

    @contextmanager
    def iteration(self) -> Iterator[None]:
        """Say that what is inside is one iteration."""
        if self._inside is not None:
            raise InputError("iteration", f"one inside of the stage {self._inside!r}", "stages inside of an iteration")
        self._told = True
        if self.is_over:
            yield
            return
        self._synchronise()
        self._open = _Iteration(self._clock())
        yield
        if self._open is not None:
            self._synchronise()
            self._close(self._clock())

    @property
    def is_over(self) -> bool:
        """Whether all iterations that were asked for have been timed."""
        return len(self._done) >= self._warm_up + self._most

    @property
    def counted(self) -> int:
        """How many iterations count."""
        return len(self._counted())

    @property
    def stage_seconds(self) -> tuple[float, ...]:
        """The median time of each stage, in the order of the resources; 0 for one that the loop does not have."""
        return tuple(spread.median for spread in self.spread)

    @property
    def spread(self) -> tuple[Spread, ...]:
        """How the times of each stage differ."""
        times = np.array([one.seconds(self.resources) for one in self._counted()])
        low, median, high = np.percentile(times, (10, 50, 90), axis=0)
        return tuple(
            Spread(low=_snapped(below), median=_snapped(middle), high=_snapped(above))
            for below, middle, above in zip(low, median, high, strict=True)
        )

    @property
    def iteration_seconds(self) -> float:
        """The median time from the begin of an iteration to the begin of the next, what is in no stage included."""
        return _snapped(float(np.median([one.length for one in self._counted()])))

    def fragment(self, **fields: object) -> dict[str, object]:
        """Return the fields of a job that were measured, as a round has them, and others that are given."""
        return {"stage_seconds": list(self.stage_seconds), "iteration_seconds": self.iteration_seconds, **fields}

    def json(self, **fields: object) -> str:
        """Return the same as JSON, to be put into a job of a round."""
        return json.dumps(self.fragment(**fields))

    def _counted(self) -> list[_Iteration]:
        """Return the iterations that count; the one under way does if it has had as many stages as the one before."""
        whole_ones = self._done[self._warm_up :]
        last = self._open
        if last is not None and self._done and not self.is_over and len(self._done) >= self._warm_up:
            complete = len(last.stages) == len(self._done[-1].stages) and self._inside is None
            whole_ones = [*whole_ones, last] if complete and not self._told else whole_ones
        if not whole_ones:
            found = f"{len(self._done)} iterations, of which {self._warm_up} warm up"
            raise InputError("stage times", found, "at least one more whole iteration")
        return whole_ones

    def _close(self, now: float) -> None:
        if self._open is not None:
            self._open.end = now
            self._done.append(self._open)
        self._open = None


class _Iteration:
    """When an iteration and its stages began and ended."""

    def __init__(self, began: float) -> None:
        self.began = began
        self.end: float | None = None
        self.stages: list[tuple[str, float, float]] = []

    def begins_again_with(self, name: str) -> bool:
        """Return whether a stage is the first one again, after another."""
        return bool(self.stages) and self.stages[0][0] == name and self.stages[-1][0] != name

    @property
    def length(self) -> float:
        """Seconds from its begin to that of the next, or to the end of its last stage."""
        return (self.stages[-1][2] if self.end is None else self.end) - self.began

    def seconds(self, resources: Sequence[str]) -> list[float]:
        """Return the time in stages of each resource."""
        return [sum(end - began for name, began, end in self.stages if name == resource) for resource in resources]


def _snapped(seconds: float) -> float:
    """Return whole microseconds, as a round has them."""
    return round(float(seconds) * MICROSECONDS_PER_SECOND) / MICROSECONDS_PER_SECOND


def _wait_for_cuda() -> None:
    """Wait until the GPU has done what it was given, if somebody has loaded PyTorch and uses CUDA."""
    torch: Any = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is not None and cuda.is_available() and cuda.is_initialized():
        cuda.synchronize()
