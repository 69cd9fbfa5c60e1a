"""Traces that are one table: a job in each line, the first column its id."""

from __future__ import annotations

from collections.abc import Callable

from muri_opt.replay.traces.csv_columns import Layout, name_cell, rows, unused_columns
from muri_opt.replay.traces.jobs import TraceJob
from muri_opt.replay.traces.skipped_rows import ReadReport, Tally


def table_jobs(
    text: str, layout: Layout, job_of: Callable[[int, list[str], Tally], TraceJob | None]
) -> tuple[list[TraceJob], ReadReport]:
    """Return the jobs in the order of the file, without those whose id came before and those that ``job_of`` counts."""
    tally, seen, jobs = Tally(), set[str](), []
    for line, cells in rows(text, layout):
        name = name_cell(line, layout.needed[0], cells[0])
        if name in seen:
            tally.add("duplicate-id", f"line {line} ({name})")
            continue
        seen.add(name)
        job = job_of(line, cells, tally)
        if job is not None:
            jobs.append(job)
    return jobs, tally.report(len(jobs), unused_columns(text, layout))
