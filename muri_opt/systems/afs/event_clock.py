"""A small event clock: jobs arrive, hold the shares a rule gives them, and finish.

The rule is asked for all shares again, from scratch, at every arrival and completion (and when it asked to be woken).
Between two events shares are constant, so the clock jumps from event to event. It runs any rule, elastic or not, over
plain arrays; it knows nothing of nodes, tenants or rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from muri_opt.errors import InputError
from muri_opt.systems.curves import Ints

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """What a rule sees at an event: the jobs that have arrived and not finished, in order of arrival."""

    now: float
    jobs: Ints
    """Positions of the live jobs in the arrays the clock was given; equal arrivals keep that order."""
    remaining: Floats
    """Work left of each live job."""
    shares: Ints
    """GPUs each has held since the last event."""
    first_served: Floats
    """When each was first given a GPU; infinity for a job that never was."""


Rule = Callable[[Live], ArrayLike]
"""GPUs of every live job, in the order of ``Live.jobs``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockResult:
    """What happened to every job, in the order the jobs were given."""

    completions: Floats
    durations: Floats
    """Completion less arrival."""
    changes: Ints
    """How often the share of a job was set to another number of GPUs, its first one included."""
    events: int
    gpu_seconds: float
    """GPUs times the time they were held."""

    @property
    def mean_duration(self) -> float:
        """Return the average job completion time."""
        return float(self.durations.mean())


@dataclass(slots=True)
class _Clock:
    """The state between two events; arrays are indexed by the positions of the jobs."""

    arrivals: Floats
    speed: Floats
    cap: Ints
    gpus: int
    restart: Floats
    remaining: Floats
    shares: Ints = field(init=False)
    ready: Floats = field(init=False)
    first_served: Floats = field(init=False)
    completions: Floats = field(init=False)
    changes: Ints = field(init=False)
    gpu_seconds: float = 0.0

    def __post_init__(self) -> None:
        count = len(self.arrivals)
        self.shares, self.changes = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        self.ready = np.zeros(count)
        self.first_served, self.completions = np.full(count, np.inf), np.full(count, np.inf)

    def decide(self, now: float, live: Ints, rule: Rule) -> None:
        """Ask the rule and put its shares into force."""
        view = Live(
            now=now,
            jobs=live,
            remaining=self.remaining[live],
            shares=self.shares[live],
            first_served=self.first_served[live],
        )
        asked = np.asarray(rule(view), dtype=np.int64)
        if asked.shape != live.shape or (asked < 0).any() or (asked > self.cap[live]).any():
            raise InputError("shares", str(asked.tolist()), f"GPUs from 0 to the cap of each of {len(live)} jobs")
        if asked.sum() > self.gpus:
            raise InputError("shares", f"{asked.sum()} GPUs in all", f"at most {self.gpus}")
        changed = live[asked != self.shares[live]]
        self.shares[live] = asked
        self.changes[changed] += 1
        # A job that is still restarting forgets the older order: only the last one has to be waited for.
        self.ready[changed] = now + self.restart[changed]
        served = live[asked > 0]
        self.first_served[served] = np.minimum(self.first_served[served], now)

    def finish_times(self, now: float, live: Ints) -> Floats:
        """Return when each live job finishes if its share stays as it is; infinity without progress."""
        rate = self.speed[live, self.shares[live]]
        begins = np.maximum(now, self.ready[live])
        never = np.where(self.remaining[live] > 0, np.inf, 0.0)
        left = np.divide(self.remaining[live], rate, out=never, where=rate > 0)
        return np.asarray(begins + left)

    def advance(self, now: float, then: float, live: Ints, finish: Floats) -> Ints:
        """Let time pass until ``then`` and return the jobs that are still there."""
        self.gpu_seconds += float(self.shares[live].sum()) * (then - now)
        worked = np.maximum(0.0, then - np.maximum(now, self.ready[live]))
        rate = self.speed[live, self.shares[live]]
        self.remaining[live] = np.maximum(0.0, self.remaining[live] - rate * worked)
        done = live[finish <= then]
        self.remaining[done] = 0.0
        self.shares[done] = 0
        self.completions[done] = then
        return live[finish > then]


def run_clock(
    *,
    arrivals: ArrayLike,
    work: ArrayLike,
    speed: ArrayLike,
    cap: ArrayLike,
    rule: Rule,
    gpus: int,
    restart_seconds: ArrayLike = 0.0,
    wake: Callable[[float], float] | None = None,
) -> ClockResult:
    """Return what becomes of jobs that hold the shares of ``rule``.

    Job ``j`` arrives at ``arrivals[j]`` with ``work[j]`` to do and does ``speed[j, k]`` of it per second on ``k`` GPUs,
    ``k <= cap[j]``. The capacity of ``gpus`` holds at every instant: a rule that exceeds it or a cap is an error. With
    ``restart_seconds``, a job whose share changes makes no progress for that long; a newer change replaces one whose
    restart has not ended. ``wake(now)`` is the next moment, if earlier than the next arrival or completion, at which
    the rule wants to be asked again. A round in which no job would ever progress again is an error.

    >>> speed, cap = np.array([[0, 1, 2]]), np.array([2])
    >>> rule = ClockRules(speed=speed, cap=cap, gpus=2).srtf
    >>> run_clock(arrivals=[0], work=[8], speed=speed, cap=cap, rule=rule, gpus=2).durations
    array([4.])
    """
    begun = np.array(arrivals, dtype=np.float64)
    clock = _Clock(
        arrivals=begun,
        speed=np.array(speed, dtype=np.float64),
        cap=np.array(cap, dtype=np.int64),
        gpus=gpus,
        restart=np.broadcast_to(np.asarray(restart_seconds, dtype=np.float64), begun.shape),
        remaining=np.array(work, dtype=np.float64),
    )
    _check(clock)
    order = np.argsort(begun, kind="stable")
    live, arrived, events = order[:0], 0, 0
    now = float(begun[order[0]]) if len(order) else 0.0
    while arrived < len(order) or len(live):
        until = int(np.searchsorted(begun[order], now, side="right"))
        live, arrived = np.concatenate([live, order[arrived:until]]), until
        if len(live):
            clock.decide(now, live, rule)
            events += 1
        finish = clock.finish_times(now, live)
        then = min(float(finish.min(initial=np.inf)), float(begun[order[arrived]]) if arrived < len(order) else np.inf)
        if wake is not None and len(live):
            then = min(then, _later(wake(now), now))
        if not then < np.inf:
            raise InputError("shares", f"no progress of {len(live)} jobs after {now}", "GPUs for a job, now or later")
        live = clock.advance(now, then, live, finish)
        now = then
    return ClockResult(
        completions=clock.completions,
        durations=clock.completions - begun,
        changes=clock.changes,
        events=events,
        gpu_seconds=clock.gpu_seconds,
    )


def _check(clock: _Clock) -> None:
    count, width = len(clock.arrivals), clock.speed.shape[-1]
    for name, array, shape in (
        ("arrivals", clock.arrivals, (count,)),
        ("work", clock.remaining, (count,)),
        ("restart_seconds", clock.restart, (count,)),
        ("speed", clock.speed, (count, width)),
    ):
        if array.shape != shape or not np.isfinite(array).all() or (array < 0).any():
            raise InputError(name, f"{array.tolist()}", f"finite numbers of at least 0, of shape {shape}")
    if clock.cap.shape != (count,) or (clock.cap < 0).any() or (clock.cap >= width).any():
        raise InputError("cap", str(clock.cap.tolist()), f"{count} GPU counts of the speed table, 0 to {width - 1}")
    if clock.speed[:, :1].any():
        raise InputError("speed", "progress without GPUs", "0 in the first column")


def _later(moment: float, now: float) -> float:
    if not moment > now:
        raise InputError("wake", str(moment), f"a moment after {now}")
    return moment
