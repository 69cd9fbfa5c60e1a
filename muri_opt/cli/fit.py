"""``muri-opt fit``: profiled runs of a model in, a performance model out."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from muri_opt.cli.command import Command
from muri_opt.cli.files import check_writable, write_text
from muri_opt.cli.output import Reply
from muri_opt.errors import InputError

if TYPE_CHECKING:
    from muri_opt.profiling.plan_speed import Fit, PerformanceModel

_EXAMPLES = """  muri-opt fit --example --output samples.json
  muri-opt fit samples.json --output model.json
  muri-opt fit samples.json more.csv measured.csv --form shipped --fix k_opt=0.03 --json"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "samples", metavar="SAMPLES", nargs="*", help="one JSON file with model and links; CSV files with more rows"
    )
    parser.add_argument(
        "--form",
        metavar="F",
        default="published",
        help="published or shipped, the authors' code (default: %(default)s)",
    )
    parser.add_argument(
        "--fix", metavar="K=VALUE", action="append", default=[], help="keep a coefficient at a value; may be repeated"
    )
    parser.add_argument("--output", metavar="MODEL.json", help="write the performance model to a file")
    parser.add_argument("--json", action="store_true", help="print the performance model and nothing else")
    parser.add_argument("--example", action="store_true", help="write a samples file to start from instead")


def run(arguments: argparse.Namespace) -> Reply:
    """Fit the model, and write it where it was asked for."""
    from muri_opt.profiling.plan_speed import fit_profile, performance_json, read_samples
    from muri_opt.profiling.plan_speed.example import example_samples

    check_writable(arguments.output)
    if arguments.example:
        return _example(arguments.output, example_samples())
    if not arguments.samples:
        raise InputError("samples", "nothing", "at least one file, or --example")
    fixed = _fixed(arguments.fix)
    profile = read_samples(arguments.samples)
    performance, fit = fit_profile(profile, form=arguments.form, fixed=fixed)
    text = performance_json(performance, fit)
    if arguments.output is not None:
        write_text(arguments.output, text)
    return Reply(text if arguments.json else _summary(performance, fit))


def _example(output: str | None, text: str) -> Reply:
    if output is None:
        return Reply(text)
    write_text(output, text)
    return Reply()


def _fixed(settings: list[str]) -> dict[str, float]:
    """Return the coefficients that keep a value; whether they exist and may have it is for the fit to say."""
    held: dict[str, float] = {}
    for setting in settings:
        name, _, value = setting.partition("=")
        try:
            held[name] = float(value)
        except ValueError:
            raise InputError("--fix", repr(setting), "a coefficient and its value, such as k_opt=0.03") from None
    return held


def _summary(performance: PerformanceModel, fit: Fit) -> str:
    """Return the coefficients and errors for people."""
    from dataclasses import asdict

    from muri_opt.profiling.plan_speed import fit_summary
    from muri_opt.report.format import printable
    from muri_opt.report.tables import table

    found = fit_summary(fit)
    rows = [
        (name, f"{value:.6g}", "at its bound" if name in fit.at_bounds else "")
        for name, value in asdict(performance.coefficients).items()
    ]
    lines = [
        f"{printable(performance.model.name)}: {found['samples']} samples, form {performance.form}",
        "",
        *table(("coefficient", "value", ""), rows),
        "",
        f"error        {_percent(found, '')}",
        f"held out     {_percent(found, 'held_out_')}, {found['held_out']} of {found['samples']} samples, one by one",
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _percent(found: dict[str, float], prefix: str) -> str:
    if f"{prefix}mean_error" not in found:
        return "not known"
    return f"{found[f'{prefix}mean_error']:.2%} on average, {found[f'{prefix}max_error']:.2%} at most"


COMMAND = Command(
    name="fit",
    summary="fit a model's performance to profiled runs, and say how good the fit is",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
