"""When each stage of an interleaved group runs: one period in steady state, with nothing left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from muri_opt.errors import InputError
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND
from muri_opt.systems.muri.interleaving.authors_pattern import SLOTS, data_times, short_times, steady_periods
from muri_opt.systems.muri.interleaving.best_order import Interleaving, checked_group, period_of
from muri_opt.systems.muri.interleaving.patterns import pattern_named


class Bar(NamedTuple):
    """Stage ``stage`` of the job at position ``job`` runs for ``seconds`` from ``start_seconds`` on, once a period.

    >>> group = [[1, 2], [2, 1]]
    >>> timeline(group, best_period(group)).bars[0]
    Bar(job=0, stage=0, start_seconds=0.0, seconds=1.0)
    """

    job: int
    stage: int
    start_seconds: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """One period: when its slots begin and when each stage runs.

    A bar may run on past the end of the period, that is into the beginning of the next. The period is the steady one of
    the slots; the estimate of ``muri-4slot`` can be shorter, as it is taken before the slots have settled.

    >>> group = [[1, 2], [2, 1]]
    >>> timeline(group, best_period(group)).slot_seconds
    (0.0, 1.0)
    """

    period_seconds: float
    slot_seconds: tuple[float, ...]
    bars: tuple[Bar, ...]


def timeline(stage_seconds: Sequence[Sequence[float]], interleaving: Interleaving) -> Timeline:
    """Return when the stages of a group run under its interleaving; every stage begins with its slot.

    >>> group = [[1, 2], [2, 1]]
    >>> timeline(group, best_period(group)).period_seconds
    3.0
    """
    if period_of(stage_seconds, interleaving.slots, interleaving.pattern) != interleaving:
        allowed = "the interleaving of these stage times"
        raise InputError("interleaving", f"another period than slots {interleaving.slots} have", allowed)
    rule = pattern_named(interleaving.pattern)
    stages, slots = checked_group(stage_seconds, rule)
    times: list[list[int]] = stages.tolist()
    if rule.slots is None:
        ends = _cyclic_ends(times, interleaving.slots, slots)
        delays = tuple(range(slots))
    else:
        ends = _settled_ends(times, interleaving.slots)
        delays = (0, 2, 3)  # data begins in the job's own slot and has two of them
    starts = (0, *ends[:-1])
    bars = tuple(
        Bar(job, stage, _seconds(starts[(slot + delays[stage]) % slots]), _seconds(time))
        for job, slot in enumerate(interleaving.slots)
        for stage, time in enumerate(times[job])
    )
    return Timeline(period_seconds=_seconds(ends[-1]), slot_seconds=tuple(map(_seconds, starts)), bars=bars)


def _cyclic_ends(times: list[list[int]], slots: tuple[int, ...], number: int) -> list[int]:
    lengths = (
        max(time[(slot - seat) % number] for seat, time in zip(slots, times, strict=True)) for slot in range(number)
    )
    return list(accumulate(lengths))


def _settled_ends(times: list[list[int]], slots: tuple[int, ...]) -> list[int]:
    """Return the earliest ends of the four slots that the next round repeats, one period later.

    A slot waits for its network and GPU stages and for the data begun one slot before. Data begun in the last slot
    holds up the first slot of the next round, and through it the others; there is no third turn, as no chain of stages
    that leads back to the same slot is longer than the period.
    """
    seated = dict(zip(slots, times, strict=True))
    seats = [seated.get(slot) for slot in range(SLOTS)]
    period = int(steady_periods(seats))
    data, short = data_times(seats), [int(time) for time in short_times(seats)]
    first = short[0]
    for _ in range(2):
        second = max(first + short[1], data[0])
        third = max(second + short[2], first + data[1])
        first = max(first, third + data[3] - period)
    return [first, second, third, period]


def _seconds(microseconds: int) -> float:
    return microseconds / MICROSECONDS_PER_SECOND
