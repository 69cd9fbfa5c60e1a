"""What each change between two decisions gains, and each job of it, as bars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from muri_opt.report.format import count, integer
from muri_opt.report.round.job_chips import chip, chip_width, chips, plain_labels
from muri_opt.report.svg import FILL, INK, LINE, SOFT, element, fitted, rect, text, tooltip
from muri_opt.report.text.gap import largest_first, standing
from muri_opt.studies.explain import Change, Part, RoundGap

MOST_BARS = 12
"""Changes with a bar of their own; what the others gain is one bar."""
MOST_LINES = 24
"""Lines up to which the jobs of a change have bars too."""

_HIGH = 24.0
_NAMES = 470.0
_INDENT = 22.0
_LABEL = 110.0
_LOSS, _JOB_GAIN, _JOB_LOSS = "#c46a5a", "#b6c0ca", "#e5bcb3"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Detail:
    """One job of a change, or a tenant: what is said of it, and what it gains or loses."""

    job: str | None
    words: str
    gain: int


def gain_bars(gap: RoundGap, colours: Mapping[str, str], y: float, left: float, wide: float) -> tuple[float, list[str]]:
    """Return a bar per change with the colours of its jobs and what it gains, and where the next part begins."""
    parts = [text(left, y, f"What each change gains: {integer(gap.gap)} together", 15, font_weight="bold")]
    some = [change for change in gap.changes if change.gain] or list(gap.changes)
    most = MOST_BARS if len(some) > MOST_BARS + 1 else len(some)
    largest = {change.jobs for change in sorted(some, key=lambda change: -abs(change.gain))[:most]}
    shown = [change for change in gap.changes if change.jobs in largest]
    rest = [change for change in gap.changes if change.jobs not in largest]
    details = _details(shown)
    more = sum(change.gain for change in rest)
    inner = [detail.gain for mine in details for detail in mine]
    scale = _Scale([more, *(change.gain for change in shown), *inner], left + _NAMES, wide - left)
    y += 14
    for number, (change, mine) in enumerate(zip(shown, details, strict=True), 1):
        y, lines = _change(gap, change, mine, number, colours, scale, (left, y + _HIGH))
        parts += lines
    if rest:
        y += _HIGH
        words = f"{count(len(rest), 'more change')} of {count(sum(len(change.jobs) for change in rest), 'job')}"
        parts += [text(left + _INDENT, y, words, 12, fill=SOFT), *scale.bar(more, y)]
    return y, parts


class _Scale:
    """Where a gain begins and ends, losses to the left of the axis and gains to its right."""

    def __init__(self, gains: Sequence[int], left: float, right: float) -> None:
        low, high = min(0, *gains), max(0, *gains)
        self.space = right - left - _LABEL * (1 + (low < 0))
        self.span = max(1, high - low)
        self.axis = left + _LABEL * (low < 0) + self.space * (-low / self.span)

    def bar(self, gain: int, y: float, *, of_job: bool = False) -> list[str]:
        """Return the bar of a gain on the line ``y``, with its number at the end."""
        long = self.space * (abs(gain) / self.span)
        start = self.axis - long if gain < 0 else self.axis
        gained, lost = (_JOB_GAIN, _JOB_LOSS) if of_job else (FILL, _LOSS)
        x, anchor = (start - 6, "end") if gain < 0 else (start + long + 6, "start")
        number = f"{'+' * (gain > 0)}{integer(gain)}"
        return [
            rect(start, y - 10, long, 10 if of_job else 13, rx=2, fill=gained if gain >= 0 else lost),
            element("line", x1=self.axis, y1=y - 16, x2=self.axis, y2=y + 8, stroke=LINE),
            text(x, y, number, 11 if of_job else 12, text_anchor=anchor, fill=SOFT if of_job else INK),
        ]


def _details(changes: Sequence[Change]) -> list[list[_Detail]]:
    """Return what to say of the single jobs of each change, as long as there is room and no group has the value."""
    left = MOST_LINES - len(changes)
    found = []
    for change in changes:
        apart = all(len(part.jobs) <= 1 for part in (*change.first, *change.second))
        mine = list(_of_jobs(change)) if apart else []
        if len(mine) > max(1, left):
            mine = []
        left -= len(mine)
        found.append(mine)
    return found


def _of_jobs(change: Change) -> Iterator[_Detail]:
    """Yield the jobs of a change in which none share, those of the most GPUs first, then its tenants."""
    first, second = largest_first(change)
    for one, other in zip(*([part for part in parts if part.jobs] for parts in (first, second)), strict=True):
        words = f"{standing(one)} → {standing(other)}"
        yield _Detail(job=one.jobs[0], words=words, gain=other.value - one.value)
    over = [{part.tenant: part for part in parts if part.tenant is not None} for parts in (first, second)]
    for tenant in sorted(over[0].keys() | over[1].keys()):
        one, other = (side.get(tenant, Part(jobs=(), value=0, tenant=tenant)) for side in over)
        words = f"tenant {tenant}: {one.over_quota:,} → {other.over_quota:,} GPUs over quota"
        yield _Detail(job=None, words=words, gain=other.value - one.value)


def _change(
    gap: RoundGap,
    change: Change,
    details: Sequence[_Detail],
    number: int,
    colours: Mapping[str, str],
    scale: _Scale,
    corner: tuple[float, float],
) -> tuple[float, list[str]]:
    """Return the lines of one change: the number, its jobs with their colours, and the bars."""
    left, y = corner
    x, right = left + _INDENT, left + _NAMES - 12
    lines = [text(left, y, str(number), 12, fill=SOFT), *scale.bar(change.gain, y)]
    end = y
    labels = [fitted(detail.job, 150, 12) for detail in details if detail.job is not None]
    words_at = x + max(map(chip_width, labels), default=0.0)
    if len(details) == 1:
        lines += _detail(details[0], colours, x, y, words_at, right)
    elif details:
        lines.append(text(x, y, f"{count(len(change.jobs), 'job')} together", 12))
        for detail in details:
            end += _HIGH - 3
            lines += [*_detail(detail, colours, x, end, words_at, right), *scale.bar(detail.gain, end, of_job=True)]
    else:
        end, names = chips(plain_labels(change.jobs), colours, (x, y), right, 3)
        lines += names
    words = "; ".join(f"{job}: {gap.differences[job]}" for job in change.jobs)
    return end, [element("g", tooltip(words), *lines, kind="change")]


def _detail(
    detail: _Detail, colours: Mapping[str, str], x: float, y: float, words_at: float, right: float
) -> Iterator[str]:
    """Yield the mark of a job and what is said of it, in a column of its own; a tenant has no mark."""
    if detail.job is not None:
        yield chip(x, y, fitted(detail.job, 150, 12), colours[detail.job])
        x = words_at
    yield text(x, y, fitted(detail.words, right - x, 11.5), 12, fill=SOFT)
