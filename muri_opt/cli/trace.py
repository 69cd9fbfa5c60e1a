"""``muri-opt trace``: what a public trace holds, what of it was left out, and the round of a moment."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from muri_opt.cli.command import Command
from muri_opt.cli.dates import seconds_of
from muri_opt.cli.files import check_writable, write_text
from muri_opt.cli.output import Reply
from muri_opt.errors import InputError

if TYPE_CHECKING:
    from muri_opt.replay.traces import Moment, ReadReport, Times, Trace, TraceStatistics
    from muri_opt.replay.traces.skipped_rows import Dropped

_EXAMPLES = """  muri-opt trace --example philly --output jobs.json
  muri-opt trace --example philly-machines --output machines.csv
  muri-opt trace jobs.json --machines machines.csv
  muri-opt trace jobs.json --machines machines.csv --at 3600 --output round.json
  muri-opt trace jobs.json --at 2017-10-09T08:00 --cluster 8x8 --output round.json"""
_SHOWN_TENANTS = 20


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("trace", metavar="FILE", nargs="?", help="a trace: Philly's JSON or CSV, openb pods, Helios")
    parser.add_argument("--format", metavar="F", help="philly, philly-csv, openb or helios (default: as the file is)")
    parser.add_argument("--machines", metavar="FILE", help="the machines of the trace: Philly's list or openb's nodes")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    parser.add_argument(
        "--at",
        metavar="T",
        help="write the round of this moment: seconds of the trace, or a date as 2017-10-09T08:00:00",
    )
    parser.add_argument("--cluster", metavar="NxG", help="N nodes of G GPUs, or a file (default: the machines)")
    parser.add_argument("--example", metavar="NAME", help="write a small file of a format to start from instead")
    parser.add_argument("--output", metavar="FILE", help="where to write the round or the example")


def run(arguments: argparse.Namespace) -> Reply:
    """Describe a trace, write the round of a moment, or write an example."""
    if (arguments.trace is None) == (arguments.example is None):
        found = "nothing" if arguments.trace is None else "both"
        raise InputError("trace", found, "one of a file and --example")
    if arguments.example is not None:
        return _example(arguments)
    if arguments.at is None:
        for option in ("cluster", "output"):
            if getattr(arguments, option) is not None:
                raise InputError(f"--{option}", repr(getattr(arguments, option)), "only with --at")
        return _statistics(arguments)
    if arguments.output is None:
        raise InputError("--output", "nothing", "with --at, the file to write the round to")
    return _moment(arguments)


def _example(arguments: argparse.Namespace) -> Reply:
    from muri_opt.replay.traces import example

    for option in ("format", "machines", "at", "cluster", "json"):
        value = getattr(arguments, option)
        if value is not None and value is not False:
            raise InputError(f"--{option}", "given", "not with --example")
    text = example(arguments.example)
    if arguments.output is None:
        return Reply(text)
    write_text(arguments.output, text)
    return Reply()


def _read(arguments: argparse.Namespace) -> Trace:
    from muri_opt.replay.traces import read_trace

    return read_trace(arguments.trace, arguments.format, arguments.machines)


def _moment(arguments: argparse.Namespace) -> Reply:
    import msgspec

    from muri_opt.replay.studies.cluster_text import cluster_from
    from muri_opt.rounds import canonical_json

    cluster = None if arguments.cluster is None else cluster_from(arguments.cluster)
    check_writable(arguments.output)
    trace = _read(arguments)
    moment = trace.moment_at(seconds_of("--at", arguments.at, trace.epoch), cluster)
    write_text(arguments.output, msgspec.json.format(canonical_json(moment.round), indent=1).decode() + "\n")
    return Reply(_moment_json(moment) if arguments.json else _moment_text(moment))


def _statistics(arguments: argparse.Namespace) -> Reply:
    from dataclasses import asdict

    from muri_opt.replay.traces import statistics

    trace = _read(arguments)
    found = statistics(trace)
    if not arguments.json:
        return Reply("\n".join([*_trace_lines(trace), *_statistics_lines(found), *_report_lines(trace)]) + "\n")
    answer = {
        "format": trace.format,
        "epoch": None if trace.epoch is None else str(trace.epoch),
        "nodes": len(trace.nodes),
        "statistics": asdict(found),
        "report": asdict(trace.report),
        "machines": None if trace.machines is None else asdict(trace.machines),
    }
    return Reply(_json(answer))


def _moment_json(moment: Moment) -> str:
    from dataclasses import asdict

    running = sum(job.state == "running" for job in moment.round.jobs)
    waiting = len(moment.round.jobs) - running
    given = [asdict(found) for found in moment.given_as_waiting]
    return _json({"running": running, "waiting": waiting, "given_as_waiting": given})


def _moment_text(moment: Moment) -> str:
    from muri_opt.report.format import count

    jobs = len(moment.round.jobs)
    running = sum(job.state == "running" for job in moment.round.jobs)
    lines = [f"{count(jobs, 'job')}: {running:,} running, {jobs - running:,} waiting"]
    if moment.given_as_waiting:
        lines += ["given as waiting, though the trace has them running:", *_dropped_lines(moment.given_as_waiting)]
    return "\n".join(lines) + "\n"


def _trace_lines(trace: Trace) -> list[str]:
    from muri_opt.report.format import count

    lines = [f"format       {trace.format}"]
    if trace.epoch is not None:
        lines.append(f"begins       {trace.epoch}")
    if trace.machines is not None:
        gpus = sum(node.gpus for node in trace.nodes)
        lines.append(f"machines     {len(trace.nodes):,} with {count(gpus, 'GPU')}")
    return lines


def _statistics_lines(found: TraceStatistics) -> list[str]:
    from muri_opt.report.format import cut
    from muri_opt.report.tables import table

    sizes = [(f"{s.gpus:,}", f"{s.jobs:,}", f"{s.share:.2%}", f"{s.gpu_time_share:.2%}") for s in found.sizes]
    times = [("all", *_cells(found.durations))]
    times += [
        ("1 GPU" if name == "1" else f"{name} GPUs", *_cells(part)) for name, part in found.durations_by_size.items()
    ]
    times.append(("queueing", *_cells(found.queueing_delays)))
    shown = found.tenants[:_SHOWN_TENANTS]
    tenants = [(cut(t.tenant or "(none)", 40), f"{t.jobs:,}", f"{t.gpu_hours:,.1f}") for t in shown]
    more = len(found.tenants) - len(shown)
    return [
        f"jobs         {found.jobs:,}, {found.without_duration:,} of them without a known end",
        f"GPU hours    {found.gpu_hours:,.1f}",
        f"status       {', '.join(f'{name} {number:,}' for name, number in found.statuses.items()) or 'none'}",
        "",
        *table(("GPUs", "jobs", "share", "of GPU time"), sizes, right=(0, 1, 2, 3)),
        "",
        *table(("seconds", "jobs", "median", "mean", "p90", "p99", "most"), times, right=(1, 2, 3, 4, 5, 6)),
        "",
        *table(("tenant", "jobs", "GPU hours"), tenants, right=(1, 2)),
        *([f"... and {more:,} more (--json lists them)"] if more else []),
    ]


def _report_lines(trace: Trace) -> list[str]:
    lines = ["", *_report("jobs", trace.report)]
    return lines if trace.machines is None else [*lines, "", *_report("machines", trace.machines)]


def _report(what: str, report: ReadReport) -> list[str]:
    lines = [f"{what}: {report.rows:,} read, {report.kept:,} kept, {report.rows - report.kept:,} left out"]
    lines += _dropped_lines(report.left_out)
    if report.noted:
        lines += ["kept, with a note:", *_dropped_lines(report.noted)]
    if report.unused_columns:
        from muri_opt.report.format import cut

        lines.append(f"columns not read: {cut(', '.join(report.unused_columns), 100)}")
    return lines


def _dropped_lines(found: tuple[Dropped, ...]) -> list[str]:
    from muri_opt.report.format import cut
    from muri_opt.report.tables import indented, table

    rows = [(f"{one.count:,}", one.reason, f"{one.meaning} (first: {cut(one.example, 60)})") for one in found]
    return indented(table(("", "", ""), rows, right=(0,))[1:])


def _cells(times: Times | None) -> tuple[str, ...]:
    if times is None:
        return ("0", *("-",) * 5)
    values = (times.median, times.mean, times.p90, times.p99, times.most)
    return (f"{times.jobs:,}", *(f"{value:,.0f}" for value in values))


def _json(answer: dict[str, Any]) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(answer), indent=1).decode() + "\n"


COMMAND = Command(
    name="trace",
    summary="describe a public cluster trace, and write the round of one of its moments",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
