"""What a job asks beside amounts, for people: one line for each field of format 2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muri_opt.report.format import cut
from muri_opt.rounds import Job
from muri_opt.rounds.readable_time import duration, moment

_WIDTH = 60


def demand_lines(job: Job) -> Iterator[tuple[str, str]]:
    """Yield a label and a text for each demand; the text is empty where the job does not say it."""
    yield "priority", f"{job.priority:,}" if job.priority else ""
    yield "GPU types", _joined(job.gpu_types or (), " or ")
    yield "shape", _shape(job)
    yield "requires", _joined(job.requires, " and ")
    yield "excludes", _joined(job.excludes, " and ")
    yield "within", _within(job)
    yield "preemptible", _yes_or_no(job.preemptible)
    yield "movable", _yes_or_no(job.movable)
    yield "held", "" if job.held is None else cut(job.held, _WIDTH) or "without a reason"
    yield "not before", "" if job.not_before is None else moment(job.not_before)
    yield "deadline", "" if job.deadline is None else moment(job.deadline)
    yield "time limit", "" if job.time_limit_seconds is None else duration(job.time_limit_seconds)
    yield "model", cut(job.model or "", _WIDTH)


def _joined(names: Sequence[str], joint: str) -> str:
    return cut(joint.join(names), _WIDTH)


def _shape(job: Job) -> str:
    parts = []
    if job.nodes is not None:
        most = " or more" if job.nodes.most is None else f" to {job.nodes.most:,}"
        parts.append(f"{job.nodes.least:,}{most} nodes")
    return ", ".join([*parts, "as many GPUs on each node"] if job.even else parts)


def _within(job: Job) -> str:
    if job.within is None:
        return ""
    return f"one {cut(job.within.level, _WIDTH)}, {'required' if job.within.required else 'preferred'}"


def _yes_or_no(said: bool | None) -> str:
    return "" if said is None else "yes" if said else "no"
