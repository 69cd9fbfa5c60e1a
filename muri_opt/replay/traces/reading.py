"""From a file to a trace: which format it is, its jobs, and the machines they ran on."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Final, TypeVar, get_args

import msgspec

from muri_opt.errors import InputError, unknown_name
from muri_opt.replay.traces import helios, openb, philly_csv
from muri_opt.replay.traces.csv_columns import Layout, header_of
from muri_opt.replay.traces.jobs import Attempt, TraceJob
from muri_opt.replay.traces.machines import machine_nodes
from muri_opt.replay.traces.philly_json import philly_jobs
from muri_opt.replay.traces.skipped_rows import ReadReport
from muri_opt.replay.traces.timestamps import clock_time
from muri_opt.replay.traces.trace import FormatName, Trace
from muri_opt.rounds import Node
from muri_opt.rounds.error_text import shortened, shown
from muri_opt.rounds.text_files import read_text

FORMATS: Final[tuple[FormatName, ...]] = get_args(FormatName)
MOST_BYTES: Final = 1 << 30
_JSON: Final = re.compile(r"\s*[\[{]")
_LAYOUTS: Final[Mapping[FormatName, Layout]] = {
    "philly-csv": philly_csv.LAYOUT,
    "openb": openb.LAYOUT,
    "helios": helios.LAYOUT,
}
_CSV_JOBS: Final[Mapping[FormatName, Callable[[str], tuple[list[TraceJob], ReadReport]]]] = {
    "philly-csv": philly_csv.flat_jobs,
    "openb": openb.openb_jobs,
    "helios": helios.helios_jobs,
}
T = TypeVar("T")


def read_trace(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - the word of the command line and of the trace itself
    machines: str | os.PathLike[str] | None = None,
) -> Trace:
    """Return the trace in a file; its format is found from the file unless it is given.

    ``machines`` is a file that lists the machines, Philly's or openb's. Every fault is one :class:`InputError` that
    names the file, the line or job, what was found and what is allowed.
    """
    if format is not None:
        _known_format(format)  # before any file is read, and without naming one
    nodes, listed = ((), None) if machines is None else _in_file(machines, "machines", machine_nodes)
    return _in_file(path, "a trace", lambda text: parse_trace(text, format, nodes, listed))


def parse_trace(
    text: str, format_name: str | None = None, nodes: tuple[Node, ...] = (), machines: ReadReport | None = None
) -> Trace:
    """Return the trace in a text; ``nodes`` are its machines, and ``machines`` how their list was read."""
    name = found_format(text) if format_name is None else _known_format(format_name)
    if name == "philly":
        gpus = None if machines is None else {node.id: node.gpus for node in nodes}
        jobs, report = philly_jobs(text, gpus)
    else:
        jobs, report = _CSV_JOBS[name](text)
    jobs.sort(key=lambda job: job.submitted)
    epoch = None
    if name != "openb" and jobs:
        first = jobs[0].submitted
        epoch = clock_time(first)
        jobs = [_moved(job, first) for job in jobs]
    return Trace(format=name, epoch=epoch, jobs=tuple(jobs), report=report, nodes=nodes, machines=machines)


def _known_format(name: str) -> FormatName:
    for known in FORMATS:
        if known == name:
            return known
    raise unknown_name("format", name, FORMATS)


def found_format(text: str) -> FormatName:
    """Return the format that a file is in: a JSON list, or CSV with the columns of one of the others."""
    if _JSON.match(text):
        return "philly"
    header = header_of(text)
    for name, layout in _LAYOUTS.items():
        if all(column in header for column in layout.needed):
            return name
    columns = "; ".join(f"{name}: {', '.join(layout.needed)}" for name, layout in _LAYOUTS.items())
    found = f"the columns {shortened(', '.join(header))}" if any(header) else "no header"
    raise InputError("line 1", found, f"philly: a JSON list, or CSV with the columns of one format ({columns})")


def _in_file(path: str | os.PathLike[str], what: str, parse: Callable[[str], T]) -> T:
    """Return what ``parse`` makes of a file; an error names the file."""
    if not isinstance(path, (str, os.PathLike)):
        raise InputError("path", shown(path), "the path of a file")
    try:
        return parse(read_text(path, what, MOST_BYTES))
    except InputError as error:
        place = str(path) if error.field == "file" else f"{path}: {error.field}"
        raise InputError(place, error.found, error.allowed) from None


def _moved(job: TraceJob, by: float) -> TraceJob:
    """Return the job with its times counted from ``by``."""
    attempts = tuple(
        Attempt(start=a.start - by, end=None if a.end is None else a.end - by, placement=a.placement)
        for a in job.attempts
    )
    return msgspec.structs.replace(job, submitted=job.submitted - by, attempts=attempts)
