"""The lower part of the picture: who waits for what, and what the marks mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from muri_opt.report.format import count
from muri_opt.report.round.change_marks import ChangeMarks
from muri_opt.report.svg import FILL, INK, LINE, SOFT, distinct_colours, element, fitted, rect, text, tooltip, wrapped
from muri_opt.rounds import Decision, Round, Waiting, WaitingReason

_MOST_LISTED = 8
_LINE = 20.0
_TOLD = 15.0
_MOST_LINES = 3
_NAME_WIDTH = 180.0
_GPUS_WIDTH = 76.0
_TENANT_WIDTH = 96.0

_MEANING = {
    WaitingReason.CAPACITY: "more GPUs than there are, or than are free",
    WaitingReason.QUOTA: "more GPUs than its tenant may still use",
    WaitingReason.FRAGMENTATION: "enough GPUs are free, but not where it could use them",
    WaitingReason.PRIORITY: "it would fit, but the decision keeps the room free",
    WaitingReason.BACKOFF: "it was tried for a while and is left alone for a while",
    WaitingReason.STOPPED: "it runs now, and what it holds goes to others",
    WaitingReason.HELD: "it is held until somebody releases it",
    WaitingReason.NOT_BEFORE: "it is to begin later",
}


def waiting_list(
    round_: Round,
    drawn: Decision,
    marks: ChangeMarks,
    colours: Mapping[str, str],
    y: float,
    left: float,
    wide: float,
) -> tuple[float, list[str]]:
    """Return the waiting jobs by reason, and where the next part begins."""
    waiting = len(round_.jobs) - len(drawn.running)
    groups = [(reason, [wait for wait in drawn.waiting if wait.reason == reason]) for reason in WaitingReason]
    tenants = any(job.tenant is not None for job in round_.jobs)
    parts = [text(left, y, f"Waiting: {count(waiting, 'job')}", 15, font_weight="bold")]
    for reason, waits in groups:
        if not waits:
            continue
        y += 28
        parts.append(text(left, y, f"{reason}: {count(len(waits), 'job')}", 12.5, font_weight="bold"))
        parts.append(text(left + _NAME_WIDTH, y, _MEANING[reason], 12, fill=SOFT))
        for wait in waits[:_MOST_LISTED]:
            y += _LINE
            at = left + _NAME_WIDTH + _GPUS_WIDTH + _TENANT_WIDTH * tenants
            told = wrapped(wait.detail, wide - left - at, 11.5, _MOST_LINES)
            detail = [text(at, y + _TOLD * line, words, 12, fill=SOFT) for line, words in enumerate(told)]
            parts.append(_waiting_job(round_, wait, colours[wait.job], y, left, detail))
            parts += marks.of_job(wait.job, left - 4, y, 12)
            y += _TOLD * (len(told) - 1)
        if len(waits) > _MOST_LISTED:
            y += _LINE
            parts.append(text(left + 18, y, f"and {len(waits) - _MOST_LISTED:,} more", 12, fill=SOFT))
    return y, parts


def legend(drawn: Decision, bars: bool, y: float, left: float, wide: float) -> tuple[float, list[str]]:
    """Return what the marks mean, and where the picture ends."""
    parts = [element("line", x1=left, y1=y - 8, x2=wide - left, y2=y - 8, stroke=LINE)]
    x, y = left, y + 16
    for mark, words in _marks(drawn, bars, y):
        parts += [element("g", mark, transform=f"translate({x:g} 0)"), text(x + 30, y, words, 11.5, fill=SOFT)]
        x += 30 + 6.1 * len(words) + 30
    return y, parts


def _waiting_job(round_: Round, wait: Waiting, colour: str, y: float, left: float, detail: Iterable[str]) -> str:
    job = round_.jobs[round_.job_index[wait.job]]
    at = left + _NAME_WIDTH + _GPUS_WIDTH
    tenant = [] if job.tenant is None else [text(at, y, fitted(job.tenant, _TENANT_WIDTH - 12, 12), 12)]
    return element(
        "g",
        tooltip(f"{wait.job}: {wait.detail}; remedy: {wait.remedy}"),
        rect(left, y - 10, 12, 12, rx=3, fill=colour, stroke="#000000", stroke_opacity=0.25),
        text(left + 18, y, fitted(wait.job, _NAME_WIDTH - 24, 12), 12),
        text(left + _NAME_WIDTH, y, count(job.gpus, "GPU"), 12),
        *tenant,
        *detail,
        kind="waiting",
    )


def _marks(drawn: Decision, bars: bool, y: float) -> Iterator[tuple[str, str]]:
    colours = distinct_colours(("first", "second"))
    job = rect(0, y - 11, 22, 14, rx=3, fill=colours[0], stroke="#000000", stroke_opacity=0.25)
    yield job, "a job"
    if any(len(assignment.jobs) > 1 for assignment in drawn.assignments):
        lanes = [rect(0, y - 11 + 7 * lane, 22, 7, fill=colours[lane], stroke=INK) for lane in (0, 1)]
        yield element("g", *lanes), "jobs interleaved on the same GPUs"
    yield rect(0, y - 11, 22, 14, rx=3, fill="url(#free)", stroke=LINE, stroke_dasharray="3 3"), "free GPUs"
    if bars:
        yield rect(0, y - 9, 22, 10, rx=3, fill=FILL), "CPUs and memory in use"
