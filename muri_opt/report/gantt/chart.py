"""What a Gantt chart of an interleaved group shows, whatever it is drawn with: rows, bars, words, ticks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, log10

from muri_opt.errors import InputError
from muri_opt.report.format import amount, printable
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND, microseconds
from muri_opt.systems.muri.interleaving import Bar, Interleaving, Timeline, slot_count, timeline

PERIODS = 2
"""A picture shows two periods, the second one pale: what runs past the end of the first is seen to go on."""

_FOUR = ("storage", "cpu", "gpu", "network")
_THREE = ("data", "gpu", "network")
_UNITS = ((10.0, 1.0, "s"), (0.01, 1e3, "ms"), (0.0, 1e6, "µs"))
_STEPS = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of bars: a resource or, where two jobs may use it at once, one half of its jobs (``first`` or not)."""

    resource: str
    first: bool
    bars: tuple[Bar, ...]
    busy: float

    def pieces(self, period: float, periods: int) -> Iterator[tuple[Bar, float, float]]:
        """Yield each bar of some length with where it begins and ends in so many periods, cut at both ends."""
        length = microseconds(period)  # whole numbers: a bar that ends with the period leaves nothing for the next
        for turn in range(-1, periods):  # a bar that begins in the period before may reach into the first
            for bar in self.bars:
                start = microseconds(bar.start_seconds) + turn * length
                left, right = max(0, start), min(start + microseconds(bar.seconds), periods * length)
                if left < right:
                    yield bar, left / MICROSECONDS_PER_SECOND, right / MICROSECONDS_PER_SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A group, its interleaving and when its stages run, with the names to show."""

    names: tuple[str, ...]
    resources: tuple[str, ...]
    stages: tuple[tuple[float, ...], ...]
    interleaving: Interleaving
    timeline: Timeline

    @classmethod
    def of(
        cls,
        stage_seconds: Sequence[Sequence[float]],
        interleaving: Interleaving,
        names: Sequence[str],
        resources: Sequence[str] | None,
    ) -> Chart:
        """Return the chart of a group, or refuse names that do not fit it."""
        times = timeline(stage_seconds, interleaving)
        jobs, kinds = len(stage_seconds), len(stage_seconds[0])
        usual = {3: _THREE, 4: _FOUR}.get(kinds, tuple(f"resource {r + 1}" for r in range(kinds)))
        chosen = usual if resources is None else tuple(resources)
        for field, found, needed in (("names", names, jobs), ("resources", chosen, kinds)):
            if len(found) != needed:
                raise InputError(field, f"{len(found)} names", f"{needed}, one for each")
        bars = {(bar.job, bar.stage): bar.seconds for bar in times.bars}
        return cls(
            names=tuple(map(printable, names)),
            resources=tuple(map(printable, chosen)),
            stages=tuple(tuple(bars[job, stage] for stage in range(kinds)) for job in range(jobs)),
            interleaving=interleaving,
            timeline=times,
        )

    @property
    def period(self) -> float:
        """Seconds of the period that is drawn."""
        return self.timeline.period_seconds

    def rows(self) -> list[Row]:
        """Return the rows from the first resource to the last."""
        rows = []
        for stage, resource in enumerate(self.resources):
            bars = [bar for bar in self.timeline.bars if bar.stage == stage]
            # With more slots than stages the first stage has two slots: jobs in neighbouring slots overlap there.
            overlap = stage == 0 and self._slots() > len(self.resources)
            halves = [[bar for bar in bars if self.interleaving.slots[bar.job] % 2 == half] for half in (0, 1)]
            for number, part in enumerate([half for half in halves if half] if overlap else [bars]):
                busy = sum(bar.seconds for bar in part) / self.period if self.period else 0.0
                rows.append(Row(resource=resource, first=number == 0, bars=tuple(part), busy=busy))
        return rows

    def title(self) -> str:
        """Return who shares."""
        return " + ".join(self.names)

    def subtitles(self) -> tuple[str, str]:
        """Return what the interleaving is worth, and against what."""
        found, total = self.interleaving, sum(map(sum, self.stages))
        worth = f"period {self.time(found.period_seconds)}, efficiency {100 * found.efficiency:.1f} %"
        if not self.period:
            against = "all stage times are 0"
        elif self.period != found.period_seconds:
            against = f"drawn as the slots settle, with a period of {self.time(self.period)}"
        elif len(self.names) == 1:
            against = "one job, with nobody to share with"
        else:
            against = f"one after the other {self.time(total)}, {total / self.period:.2f} times as long"
        return f"pattern {found.pattern}: {worth}", against

    def unit(self) -> tuple[float, str]:
        """Return how many units a second has and what one is called, so that the period reads well."""
        return next((per_second, name) for least, per_second, name in _UNITS if self.period >= least)

    def number(self, seconds: float) -> str:
        """Return a time in the unit of the chart, without the unit."""
        return amount(seconds * self.unit()[0])

    def time(self, seconds: float) -> str:
        """Return a time in the unit of the chart."""
        return f"{self.number(seconds)} {self.unit()[1]}"

    def ticks(self, span: float, most: int) -> list[float]:
        """Return round times from 0 on, at most so many steps apart, that mark a span."""
        if span <= 0:
            return [0.0]
        rough = span / most
        power = 10.0 ** floor(log10(rough))
        step = power * next(step for step in _STEPS if power * step >= rough * (1 - 1e-9))
        return [step * mark for mark in range(int(span / step * (1 + 1e-9)) + 1)]

    def story(self, bar: Bar) -> str:
        """Return what a bar shows, in words."""
        end = self.time(bar.start_seconds + bar.seconds)
        what = f"{self.names[bar.job]}: {self.resources[bar.stage]} {self.time(bar.seconds)}"
        return f"{what}, from {self.time(bar.start_seconds)} to {end} of the period"

    def slot_spans(self) -> list[tuple[float, float]]:
        """Return begin and end of each slot."""
        starts = self.timeline.slot_seconds
        return list(zip(starts, (*starts[1:], self.period), strict=True))

    def _slots(self) -> int:
        return slot_count(self.interleaving.pattern, len(self.resources))
