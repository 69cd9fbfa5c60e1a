"""A round as it is and as it would be, and why one job waits: as text for people, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from muri_opt.replay.what_if.start_times import StartTimes
from muri_opt.replay.what_if.what_if import WhatIf
from muri_opt.report.format import count, cut, integer, printable
from muri_opt.report.tables import indented, shortened, table
from muri_opt.report.text.result import header, labelled, nodes_text, waiting_lines
from muri_opt.report.text.round import job_text
from muri_opt.rounds import Job, Result, Waiting
from muri_opt.rounds.percent import percent
from muri_opt.rounds.readable_time import duration

FORMAT = "muri-opt/what-if/1"
WHY_FORMAT = "muri-opt/why/1"
_NAME = 32


def what_if_text(found: WhatIf, *, whole: bool = False) -> str:
    """Return who starts, who no longer runs, who still waits and why, and both values with their bounds."""
    lines = [header(found.round_before), f"then {header(found.round_after)}", ""]
    lines += [*_names("starts", _places(found.after, found.starts), whole), ""]
    lines += [*_names("no longer runs", [(job, "") for job in found.waits], whole), ""]
    if found.after.decision is not None:
        lines += [*waiting_lines(found.still_waiting, whole=whole), ""]
    lines += [*table(("", "now", "then"), _figures(found), right=(1, 2)), ""]
    lines += labelled([("policy", f"{found.before.policy}, method {found.before.method}"), ("value in", _unit(found))])
    if found.starts_before is not None and found.starts_after is not None:
        lines += ["", *_times(found.starts_before, found.starts_after, whole)]
    return "\n".join(lines) + "\n"


def what_if_json(found: WhatIf) -> str:
    """Return the same as JSON."""
    return _indented(what_if_content(found))


def what_if_content(found: WhatIf) -> dict[str, Any]:
    """Return what the JSON is made of."""
    content: dict[str, Any] = {
        "format": FORMAT,
        "policy": found.before.policy,
        "method": found.before.method,
        "fingerprints": {"now": found.round_before.fingerprint, "then": found.round_after.fingerprint},
        "starts": dict(_assigned(found.after, found.starts)),
        "no_longer_runs": found.waits,
        "still_waiting": found.still_waiting,
        "now": _outcome(found.before),
        "then": _outcome(found.after),
    }
    if found.starts_before is not None and found.starts_after is not None:
        content["start_times"] = {"now": found.starts_before, "then": found.starts_after}
    return content


def why_text(job: Job, result: Result, starts: StartTimes | None) -> str:
    """Return what is known of a job, why it runs or waits, and when it would start."""
    text = job_text(job, result.decision)
    if starts is None or not _waits(job, result):
        return text
    pairs = [("would start", _start_words(job, starts)), *(("assuming", words) for words in starts.assumed)]
    return text + "\n".join(labelled(pairs)) + "\n"


def why_json(job: Job, result: Result, starts: StartTimes | None) -> str:
    """Return the same as JSON; ``waiting`` is ``null`` for a job that runs."""
    return _indented(why_content(job, result, starts))


def why_content(job: Job, result: Result, starts: StartTimes | None) -> dict[str, Any]:
    """Return what the JSON is made of."""
    content: dict[str, Any] = {
        "format": WHY_FORMAT,
        "job": job.id,
        "policy": result.policy,
        "gpus": dict(_assigned(result, (job.id,))).get(job.id),
        "waiting": _waits(job, result),
    }
    if starts is not None and content["waiting"] is not None:
        content |= {"starts_in_seconds": starts.seconds.get(job.id), "assumed": starts.assumed}
    return content


def _waits(job: Job, result: Result) -> Waiting | None:
    waiting = () if result.decision is None else result.decision.waiting
    return next((wait for wait in waiting if wait.job == job.id), None)


def _start_words(job: Job, starts: StartTimes) -> str:
    seconds = starts.seconds.get(job.id)
    if seconds is not None:
        return f"in {duration(seconds, 1)}"
    return f"not known: {starts.stopped or 'the job is held'}"


def _assigned(result: Result, jobs: Sequence[str]) -> list[tuple[str, Mapping[str, int]]]:
    """Return the GPUs per node of some jobs, in the order of the decision."""
    assignments = () if result.decision is None else result.decision.assignments
    wanted = set(jobs)
    return [(job, one.gpus) for one in assignments for job in one.jobs if job in wanted]


def _places(result: Result, jobs: Sequence[str]) -> list[tuple[str, str]]:
    return [(job, nodes_text(gpus)) for job, gpus in _assigned(result, jobs)]


def _unit(found: WhatIf) -> str:
    return printable(found.before.value_unit)


def _names(title: str, rows: Sequence[tuple[str, str]], whole: bool) -> list[str]:
    if not rows:
        return [f"{title}: none"]
    kept, rest = shortened(rows, whole=whole)
    lines = table(("job", "nodes"), [(cut(job, _NAME), nodes) for job, nodes in kept])
    if not any(nodes for _, nodes in rows):
        lines = [cut(job, _NAME) for job, _ in kept]
    return [f"{title}: {count(len(rows), 'job')}", *indented([*lines, *rest])]


def _figures(found: WhatIf) -> list[tuple[str, str, str]]:
    sides = (found.before, found.after)
    rounds = (found.round_before, found.round_after)
    running = [0 if side.decision is None else len(side.decision.running) for side in sides]
    rows = [
        ("jobs that run", *(f"{number:,}" for number in running)),
        ("GPUs there are", *(f"{one.cluster.total_gpus:,}" for one in rounds)),
        ("value", *(integer(side.value) for side in sides)),
        ("bound", *(integer(side.bound) for side in sides)),
        ("gap", *(percent(side.gap) for side in sides)),
        ("termination", *(str(side.termination.reason) for side in sides)),
    ]
    return [(label, now, then) for label, now, then in rows]


def _times(now: StartTimes, then: StartTimes, whole: bool) -> list[str]:
    both = {**now.seconds, **then.seconds}
    jobs = [job for job in both if now.seconds.get(job) or then.seconds.get(job)]
    kept, rest = shortened(jobs, whole=whole)
    rows = [(cut(job, _NAME), _when(now, job), _when(then, job)) for job in kept]
    lines = table(("job", "now", "then"), rows, right=(1, 2)) if rows else ["none starts later"]
    assumed = [f"assuming: {words}" for words in dict.fromkeys((*now.assumed, *then.assumed))]
    return ["would start in", *indented([*lines, *rest, *assumed])]


def _when(starts: StartTimes, job: str) -> str:
    seconds = starts.seconds.get(job)
    return "not known" if seconds is None else duration(seconds, 1)


def _outcome(result: Result) -> dict[str, Any]:
    return {
        "value": result.value,
        "value_unit": result.value_unit,
        "bound": result.bound,
        "gap": result.gap,
        "termination": result.termination,
        "running": None if result.decision is None else len(result.decision.running),
    }


def _indented(content: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(content), indent=1).decode() + "\n"
