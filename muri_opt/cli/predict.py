"""``muri-opt predict``: losses of a run in, the steps it has left out; or what a job table says."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from muri_opt.cli.command import Command
from muri_opt.cli.files import check_writable, write_text
from muri_opt.cli.output import Reply
from muri_opt.errors import InputError

if TYPE_CHECKING:
    from muri_opt.profiling.job_length import JobTable, RunningTimes

_EXAMPLES = """  muri-opt predict --example --output losses.csv
  muri-opt predict losses.csv --target 0.7
  muri-opt predict losses.csv --epoch 500 --json
  muri-opt predict --table jobs.csv"""
_SHOWN_TASKS = 8


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("losses", metavar="LOSSES.csv", nargs="?", help="a CSV file with the columns step and loss")
    parser.add_argument("--target", metavar="L", type=float, help="the job ends when its loss has fallen to this")
    parser.add_argument(
        "--epoch",
        metavar="STEPS",
        type=int,
        default=1,
        help="steps of an epoch; without a target, the job ends when ten epochs hardly help (default: %(default)s)",
    )
    parser.add_argument("--table", metavar="JOBS.csv", help="print statistics of a job table instead")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    parser.add_argument("--example", action="store_true", help="write a file of losses to start from instead")
    parser.add_argument("--output", metavar="LOSSES.csv", help="where to write the example")


def run(arguments: argparse.Namespace) -> Reply:
    """Predict, or describe a table."""
    from muri_opt.profiling.job_length.loss_files import example_losses

    wanted = [name for name in ("losses", "table", "example") if getattr(arguments, name)]
    if len(wanted) != 1:
        raise InputError("losses", " and ".join(wanted) or "nothing", "one of a file of losses, --table and --example")
    if arguments.output is not None and not arguments.example:
        raise InputError("--output", repr(arguments.output), "a file for --example")
    if arguments.example:
        check_writable(arguments.output)
        if arguments.output is None:
            return Reply(example_losses())
        write_text(arguments.output, example_losses())
        return Reply()
    if arguments.table:
        return _table(arguments)
    return _prediction(arguments)


def _prediction(arguments: argparse.Namespace) -> Reply:
    from muri_opt.profiling.job_length import (
        ConvergenceRule,
        LossFit,
        NotPredictable,
        fit_losses,
        loss_accuracy,
        read_losses,
        remaining_steps,
    )
    from muri_opt.profiling.job_length.losses import MOST_LOSS
    from muri_opt.rounds.quantities import finite

    rule = ConvergenceRule(epoch=arguments.epoch)
    target = None if arguments.target is None else finite("target", arguments.target, MOST_LOSS)
    series = read_losses(arguments.losses)
    fit = fit_losses(series.steps, series.losses)
    left = remaining_steps(fit, series.steps[-1], target=target, rule=rule) if isinstance(fit, LossFit) else fit
    found = loss_accuracy(series.steps, series.losses)
    answer: dict[str, Any] = {
        "losses": len(series.steps),
        "fit": {name: getattr(fit, name) for name in ("b0", "b1", "b2", "error")} if isinstance(fit, LossFit) else None,
        "accuracy": None if isinstance(found, NotPredictable) else found,
        "remaining_steps": None if isinstance(left, NotPredictable) else left,
        "not_predictable": left.reason if isinstance(left, NotPredictable) else None,
    }
    return Reply(_json(answer) if arguments.json else _prediction_text(answer, target))


def _prediction_text(answer: dict[str, Any], target: float | None) -> str:
    from muri_opt.profiling.job_length import is_predictable
    from muri_opt.report.format import count

    lines = [f"losses       {answer['losses']}"]
    fit, found = answer["fit"], answer["accuracy"]
    if fit is not None:
        lines.append(f"fit          1 / ({fit['b0']:.6g} k + {fit['b1']:.6g}) + {fit['b2']:.6g}")
        lines.append(f"error        {fit['error']:.4g}, late losses weighing more")
    if found is not None:
        lines.append(
            f"accuracy     {found:.1%} on the later losses, predicted from the earlier ones: "
            f"{'predictable' if is_predictable(found) else 'not predictable by it'}"
        )
    if answer["remaining_steps"] is None:
        lines.append(f"not predictable yet: {answer['not_predictable']}")
    else:
        end = "its loss hardly falls" if target is None else f"a loss of {target:g}"
        lines.append(f"remaining    {count(answer['remaining_steps'], 'step')} until {end}")
    return "\n".join(lines) + "\n"


def _table(arguments: argparse.Namespace) -> Reply:
    from dataclasses import asdict

    from muri_opt.profiling.job_length import read_job_table, statistics

    table = read_job_table(arguments.table)
    if not arguments.json:
        return Reply(_table_text(table))
    return Reply(_json(asdict(statistics(table.records)) | {"left_out": table.left_out}))


def _table_text(table: JobTable) -> str:
    from muri_opt.profiling.job_length import statistics
    from muri_opt.report.format import count
    from muri_opt.report.tables import table as text_table

    found = statistics(table.records)
    incomplete = ", ".join(f"{number:,} without {name}" for name, number in found.incomplete)
    others = sum(number for _, number in found.tasks[_SHOWN_TASKS:])
    tasks = [f"({ps}, {workers}) {number:,}" for (ps, workers), number in found.tasks[:_SHOWN_TASKS]]
    rows = [
        ("all jobs", f"{found.jobs:,}", *_cells(found.times)),
        ("predictable", f"{found.predictable:,}", *_cells(found.predictable_times)),
        ("unpredictable", f"{found.jobs - found.predictable:,}", *_cells(found.unpredictable_times)),
    ]
    lines = [
        *text_table(("", "jobs", "median s", "mean s", "p90 s", "most s"), rows, right=(1, 2, 3, 4, 5)),
        "",
        f"predictable  {_of(found.predictable, found.jobs)}",
        f"repeated     {_of(found.repeated_predictable, found.repeated)} are predictable",
        f"first        {_of(found.first_predictable, found.first)} are predictable",
        f"repeated means predictable: precision {_percent(found.precision)}, recall {_percent(found.recall)}, "
        f"accuracy {_percent(found.accuracy)}",
        f"GPUs         {', '.join(f'{gpus}: {number:,}' for gpus, number in found.gpus)}",
        f"CPUs         {found.fewest_cpus} to {found.most_cpus}",
        f"ps, workers  {', '.join(tasks)}{f', others {others:,}' if others else ''}",
        f"incomplete   {incomplete or 'none'}",
        f"left out     {count(len(table.left_out), 'row')}",
    ]
    return "\n".join(lines) + "\n"


def _cells(times: RunningTimes | None) -> tuple[str, ...]:
    if times is None:
        return ("-",) * 4
    return tuple(f"{value:,.0f}" for value in (times.median, times.mean, times.p90, times.most))


def _of(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} jobs ({_percent(part / whole if whole else None)})"


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{share:.1%}"


def _json(answer: dict[str, Any]) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(answer), indent=1).decode() + "\n"


COMMAND = Command(
    name="predict",
    summary="predict the steps a job has left from its losses, or describe a table of jobs",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
