"""Names of jobs with their colours, set in lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muri_opt.report.format import width
from muri_opt.report.svg import SOFT, element, fitted, rect, text

LINE_HEIGHT = 20.0

_MARK = 17.0
_GAP = 14.0
_MORE = 80.0
_LONGEST = 150.0


def chip(x: float, y: float, label: str, colour: str) -> str:
    """Return a coloured mark with a label."""
    mark = rect(x, y - 10, 12, 12, rx=3, fill=colour, stroke="#000000", stroke_opacity=0.25)
    return element("g", mark, text(x + _MARK, y, label, 12), kind="chip")


def chips(
    labels: Mapping[str, str], colours: Mapping[str, str], corner: tuple[float, float], right: float, lines: int
) -> tuple[float, list[str]]:
    """Return the labels of jobs in at most so many lines, the rest counted, and the base line of the last one."""
    left, y = corner
    x, parts = left, list[str]()
    jobs = list(labels)
    for place, job in enumerate(jobs):
        label = fitted(labels[job], _LONGEST, 12)
        long = chip_width(label)
        last, end = lines == 1, right - _MORE * (place + 1 < len(jobs) and lines == 1)
        if x + long > end and last:
            parts.append(text(x, y, f"and {len(jobs) - place:,} more", 12, fill=SOFT))
            break
        if x + long > end:
            x, y, lines = left, y + LINE_HEIGHT, lines - 1
        parts.append(chip(x, y, label, colours[job]))
        x += long
    return y, parts


def chip_width(label: str) -> float:
    """Return how much room a mark and its label take."""
    return _MARK + 7.2 * width(label) + _GAP


def plain_labels(jobs: Sequence[str]) -> dict[str, str]:
    """Return each job under its own name."""
    return {job: job for job in jobs}
