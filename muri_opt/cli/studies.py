"""What ``replay`` and ``compare`` have in common: where runs are done, what is kept, which pictures are drawn."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from muri_opt.cli.files import check_writable


def add_study_options(parser: argparse.ArgumentParser, folder: str) -> None:
    """Add the options of every study; its results are kept in ``folder`` unless another one is given."""
    add = parser.add_argument
    add("--jobs", metavar="N", type=int, help="runs at a time (default: one per core)")
    add(
        "--engine",
        metavar="E",
        default="processes",
        help="processes, ray, here, or module:attribute of a function that returns a concurrent.futures.Executor "
        "(default: %(default)s)",
    )
    add("--folder", metavar="F", default=folder, help="where results are kept (default: %(default)s)")
    add("--parquet", action="store_true", help="write the results as Parquet too")
    add("--report", metavar="FILE.html", help="write a report with pictures")
    add("--figures", metavar="FOLDER", help="write the pictures for papers, as SVG and PNG (needs matplotlib)")
    add("--json", action="store_true", help="print the results as JSON and nothing else")


def check_pictures(arguments: argparse.Namespace) -> None:
    """Refuse what the pictures could not be written to, before anything runs."""
    check_writable(arguments.report)
    if arguments.figures is not None:
        from muri_opt.report.charts.figure_files import figure_folder

        figure_folder(arguments.figures)


def policies_in(texts: Iterable[str]) -> list[str]:
    """Return the policies in lists separated by commas: a part with ``=`` before any ``:`` goes to the one before."""
    found: list[str] = []
    for text in texts:
        own: list[str] = []
        for part in text.split(","):
            if own and "=" in part.partition(":")[0]:
                own[-1] += f",{part}"
            else:
                own.append(part)
        found += own
    return found
