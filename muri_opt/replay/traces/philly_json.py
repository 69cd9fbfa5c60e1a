"""Philly's ``cluster_job_log``: a JSON list of jobs with their attempts and machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from muri_opt.errors import InputError
from muri_opt.replay.traces.attempts import left_out, run_time
from muri_opt.replay.traces.jobs import Attempt, Status, TraceJob
from muri_opt.replay.traces.json_errors import wrong_json
from muri_opt.replay.traces.skipped_rows import ReadReport, Tally
from muri_opt.replay.traces.timestamps import clock_seconds, is_nothing
from muri_opt.rounds.error_text import shortened
from muri_opt.rounds.quantities import MAX_GPUS

_STATUS: Final[Mapping[str, Status]] = {"Pass": "passed", "Killed": "killed", "Failed": "failed"}


# Records of strings have no cycles: the garbage collector need not look at them, which halves the time to read.
class _Detail(msgspec.Struct, gc=False):
    ip: str
    gpus: tuple[str, ...]


class _Attempt(msgspec.Struct, gc=False):
    start_time: str | None
    end_time: str | None
    detail: tuple[_Detail, ...]


class _Job(msgspec.Struct, gc=False):
    jobid: str
    submitted_time: str | None
    attempts: tuple[_Attempt, ...]
    status: str | None
    vc: str | None = None
    user: str | None = None


_DECODER: Final = msgspec.json.Decoder(list[_Job])


def philly_jobs(text: str, machines: Mapping[str, int] | None) -> tuple[list[TraceJob], ReadReport]:
    """Return the jobs of a log in the order of the file; ``machines`` are the GPUs of those listed, if a list is given.

    The GPUs of a job are those of its first attempt, its duration is its last end minus its first start. A last attempt
    without an end is still running.
    """
    try:
        found = _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise wrong_json(error, text) from None
    tally, seen, jobs = Tally(), set[str](), []
    for number, raw in enumerate(found, start=1):
        if not raw.jobid:
            raise InputError(f"job {number}.jobid", "''", "a name")
        if raw.jobid in seen:
            tally.add("duplicate-id", _place(number, raw))
            continue
        seen.add(raw.jobid)
        job = _job(number, raw, machines, tally)
        if job is not None:
            jobs.append(job)
    return jobs, tally.report(len(jobs))


def _job(number: int, raw: _Job, machines: Mapping[str, int] | None, tally: Tally) -> TraceJob | None:
    """Return the job, or count why it is left out."""
    place = _place(number, raw)
    try:
        submitted = clock_seconds("submitted_time", raw.submitted_time)
        attempts = _attempts(place, raw, machines, tally)
        gpus = sum(_held(raw.attempts[0]).values()) if raw.attempts else 0
    except InputError as error:
        raise error.inside(place) from None
    if gpus > MAX_GPUS:
        raise InputError(f"{place}.attempts[0]", f"{gpus:,} GPUs", f"at most {MAX_GPUS:,} GPUs")
    reason = left_out(submitted, attempts) or ("" if gpus else "no-gpu")
    if reason or submitted is None:
        tally.add(reason, place)
        return None
    return TraceJob(
        id=raw.jobid,
        submitted=submitted,
        gpus=gpus,
        tenant=None if raw.vc is None or is_nothing(raw.vc) else raw.vc,
        user=None if raw.user is None or is_nothing(raw.user) else raw.user,
        status=_status(place, raw, attempts, tally),
        attempts=attempts,
        duration=run_time(attempts),
    )


def _attempts(place: str, raw: _Job, machines: Mapping[str, int] | None, tally: Tally) -> tuple[Attempt, ...]:
    """Return the attempts that have a start."""
    kept: list[Attempt] = []
    last = len(raw.attempts) - 1
    open_end = False
    for position, attempt in enumerate(raw.attempts):
        start = clock_seconds(f"attempts[{position}].start_time", attempt.start_time)
        end = clock_seconds(f"attempts[{position}].end_time", attempt.end_time)
        if start is None:
            tally.add("attempt-without-start", place)
            continue
        if end is None and position < last:
            tally.add("attempt-without-end", place)
        open_end = end is None and position == last
        kept.append(Attempt(start=start, end=end, placement=_placement(place, attempt, machines, tally)))
    while kept and kept[-1].end is None and not open_end:
        kept.pop()  # later attempts have no start: to keep this one would say that the job is still running
    return tuple(kept)


def _placement(place: str, attempt: _Attempt, machines: Mapping[str, int] | None, tally: Tally) -> dict[str, int]:
    """Return the GPUs per machine, none where a machine is not listed or too small."""
    held = _held(attempt)
    if sum(held.values()) < sum(len(part.gpus) for part in attempt.detail):
        tally.add("repeated-gpu", place)
    if machines is not None:
        for name, gpus in held.items():
            if name not in machines or gpus > machines[name]:
                reason = "too-few-gpus" if name in machines else "unlisted-machine"
                tally.add(reason, f"{place} on {shortened(name)}")
                return {}
    return held


def _held(attempt: _Attempt) -> dict[str, int]:
    """Return the GPUs per machine; one that is named twice counts once."""
    if len(attempt.detail) == 1:  # nearly all of them
        only = attempt.detail[0]
        return {only.ip: len(set(only.gpus))} if only.gpus else {}
    names: dict[str, set[str]] = {}
    for part in attempt.detail:
        names.setdefault(part.ip, set()).update(part.gpus)
    return {machine: len(gpus) for machine, gpus in names.items() if gpus}


def _status(place: str, raw: _Job, attempts: tuple[Attempt, ...], tally: Tally) -> Status:
    if raw.status not in _STATUS:
        tally.add("unknown-status", place)
    if attempts[-1].end is None:
        return "running"
    return _STATUS.get(raw.status or "", "unknown")


def _place(number: int, raw: _Job) -> str:
    return f"job {number} ({shortened(raw.jobid)})"
