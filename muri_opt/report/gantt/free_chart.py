"""A group that runs freely: it has no slots, so what is shown is how busy each resource is, by whom, and all rates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from muri_opt.report.format import amount, cut, printable, width
from muri_opt.report.gantt.groups_svg import Block, Lane
from muri_opt.report.svg import SOFT, distinct_colours, document, element, fitted, rect, text, tooltip
from muri_opt.report.tables import table
from muri_opt.rounds import Job

_NAME = 24
_COLUMNS = 80
MARGIN = 28.0
_WIDE, _LEFT, _TOP, _ROW, _GAP = 1080.0, 128.0, 128.0, 44.0, 12.0
_RIGHT = _WIDE - 28.0 - 160.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A resource: the part of the time that each job uses it, of what all have together if it is ``own``."""

    resource: str
    own: bool
    parts: tuple[float, ...]

    @property
    def busy(self) -> str:
        """How much of it is in use, in words; measured rates may say more than the stages can."""
        return f"{100 * sum(self.parts):.0f} % busy" + ", each its own" * self.own

    @property
    def drawn(self) -> tuple[float, ...]:
        """The parts as they are drawn: no more than all of the time."""
        return tuple(part / max(1.0, sum(self.parts)) for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeChart:
    """Names and rates of jobs that share freely, how long an iteration takes alone, and who uses what."""

    names: tuple[str, ...]
    rates: tuple[float, ...]
    alone: tuple[float, ...]
    rows: tuple[Row, ...]

    @classmethod
    def of(cls, jobs: Sequence[Job], rates: Sequence[float], resources: Sequence[str], own: Sequence[str]) -> FreeChart:
        """Return the chart of jobs at their rates; ``own`` are the resources of which each has its own part."""
        rows = []
        for at, resource in enumerate(resources):
            mine = resource in own
            used = [
                rate * (job.stage_seconds or ())[at] / max(1e-6, sum(job.stage_seconds or ()))
                for job, rate in zip(jobs, rates, strict=True)
            ]
            parts = tuple(part / len(jobs) if mine else part for part in used)
            rows.append(Row(resource=printable(resource), own=mine, parts=parts))
        return cls(
            names=tuple(printable(job.id) for job in jobs),
            rates=tuple(rates),
            alone=tuple(job.iteration_seconds or sum(job.stage_seconds or ()) for job in jobs),
            rows=tuple(rows),
        )

    @property
    def title(self) -> str:
        """Who shares."""
        return " + ".join(self.names)

    @property
    def subtitles(self) -> tuple[str, str]:
        """How they run, and what that is worth."""
        together = f"together they do {sum(self.rates):.2f} times what one of them does alone"
        return "running freely: no slots and no period, each job at a rate of its own", together

    def _told(self, job: int) -> tuple[str, str, str]:
        """Return the rate of a job, how long an iteration takes, and how long alone."""
        now, alone = (
            f"{amount(round(1000 * time, 1))} ms" for time in (self.alone[job] / self.rates[job], self.alone[job])
        )
        return f"{100 * self.rates[job]:.1f} %", now, alone

    def as_text(self) -> str:
        """Return the chart for a terminal: a letter for each job, a line for each resource."""
        margin = max(width(cut(row.resource, _NAME)) for row in self.rows) + 2
        wide = _COLUMNS - margin - max(len(row.busy) for row in self.rows) - 2
        lines = [cut(self.title, _COLUMNS), *self.subtitles, ""]
        for row in self.rows:
            name = cut(row.resource, _NAME)
            cells = "".join(
                ascii_uppercase[job] * (round(wide * sum(row.drawn[: job + 1])) - round(wide * sum(row.drawn[:job])))
                for job in range(len(self.names))
            )
            lines.append(name + " " * (margin - width(name)) + cells.ljust(wide, "·") + "  " + row.busy)
        head = ("", "job", "rate", "an iteration takes", "alone")
        body = [(ascii_uppercase[job], cut(name, _NAME), *self._told(job)) for job, name in enumerate(self.names)]
        return "\n".join([*lines, "", *table(head, body, right=range(2, len(head)))]) + "\n"

    def as_svg(self) -> str:
        """Return the chart as SVG text, with a tooltip on every bar."""
        colours, wide = distinct_colours(self.names), _WIDE - 2 * MARGIN
        parts = [text(MARGIN, 44, fitted(self.title, wide, 22), 22, font_weight="bold")]
        parts += [text(MARGIN, 68 + 20 * at, line, 13, fill=SOFT) for at, line in enumerate(self.subtitles)]
        for place, row in enumerate(self.rows):
            parts += _lane(self.names, row, colours, _TOP + place * (_ROW + _GAP))
        y = _TOP + len(self.rows) * (_ROW + _GAP) + 20
        for job, key in enumerate(self._keys()):
            frame: dict[str, Any] = {"fill": colours[job], "stroke": "#000000", "stroke_opacity": 0.25}
            parts += [rect(MARGIN, y + 24 * job, 20, 13, **frame), text(MARGIN + 30, y + 11 + 24 * job, key, 12)]
        return document(_WIDE, y + 24 * len(self.names) + MARGIN, self.title, parts)

    def block(self) -> Block:
        """Return the group as one of many in a picture."""
        lanes = []
        for row in self.rows:
            ends = [sum(row.drawn[: job + 1]) for job in range(len(self.names))]
            begins = [0.0, *ends[:-1]]
            pieces = tuple((job, begins[job], ends[job]) for job in range(len(self.names)) if row.drawn[job] > 0)
            lanes.append(Lane(resource=row.resource, pieces=pieces, busy=sum(row.parts)))
        rates = ", ".join(f"{100 * rate:.0f} %" for rate in self.rates)
        return Block(
            names=self.names, runs=f"free, at {rates}", efficiency=sum(self.rates) / len(self.rows), lanes=tuple(lanes)
        )

    def _keys(self) -> list[str]:
        told = [(name, *self._told(job)) for job, name in enumerate(self.names)]
        return [
            f"{name}: {rate} of its speed alone; an iteration {now} instead of {alone}"
            for name, rate, now, alone in told
        ]


def _lane(names: Sequence[str], row: Row, colours: Sequence[str], y: float) -> Iterator[str]:
    """Yield a resource: its ground, and a bar for each job, as long as the part of the time that it uses it."""
    middle = y + _ROW / 2 + 4
    yield text(MARGIN, middle, fitted(row.resource, _LEFT - MARGIN - 8, 12), 12, font_weight="bold")
    ground = rect(_LEFT, y, _RIGHT - _LEFT, _ROW, fill="url(#free)")
    yield element("g", tooltip(f"{row.resource}: {row.busy}"), ground, kind="lane")
    yield text(_RIGHT + 10, middle, row.busy, 11.5, fill=SOFT)
    x = _LEFT
    for job, (part, drawn) in enumerate(zip(row.parts, row.drawn, strict=True)):
        wide = (_RIGHT - _LEFT) * drawn
        if wide <= 0:
            continue
        frame: dict[str, Any] = {"fill": colours[job], "stroke": "#000000", "stroke_opacity": 0.25}
        story = f"{names[job]}: {row.resource} {100 * part:.1f} % of the time"
        label = fitted(names[job], wide - 9, 12)
        bar = rect(x, y, wide, _ROW, **frame)
        yield element("g", tooltip(story), bar, *([text(x + 5, y + 26, label, 12)] if label else []), kind="bar")
        x += wide
