"""Policies of other schedulers and of muri-opt in their simulators: ``python -m examples.study --gavel DIR ...``.

A run is a process of the Python that has what the simulator needs, and one row of a CSV file. Runs that the file has
are not run again, so that the study can be stopped and taken up.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from examples.common.links import ROOT
from examples.simulators import SIMULATORS
from examples.tables import KEY, against_theirs, read_rows, tables

SERVER = f"{sys.executable} -m muri_opt serve --stdio"


def cells(names: list[str], seeds: int) -> Iterator[dict[str, str]]:
    """Yield the runs of a study, all of the first seed before those of the second."""
    for seed in range(seeds):
        for name in names:
            for trace in SIMULATORS[name].traces:
                for policy, method in SIMULATORS[name].policies(trace):
                    yield dict(zip(KEY, (name, trace, str(seed), policy, method), strict=True))


def command(cell: dict[str, str], folder: Path, python: str, work: float, cache: Path | None = None) -> list[str]:
    """Return the command of a run; ``cache`` is a file for what runs work out alike."""
    cached = [] if cache is None else ["--cache", str(cache.resolve())]
    said = [python, "-m", f"examples.{cell['simulator']}.run", "--folder", str(folder.resolve())]
    for name in ("trace", "seed", "policy", "method"):
        said += [f"--{name}", cell[name]]
    return [*said, "--jobs", str(SIMULATORS[cell["simulator"]].jobs), "--work", str(work), "--server", SERVER, *cached]


def add_row(path: Path, row: dict[str, object]) -> None:
    """Write a row at the end of a CSV file, with the heading if it is the first."""
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(row))
        if new:
            writer.writeheader()
        writer.writerow(row)


def run_missing(said: argparse.Namespace, folders: dict[str, Path]) -> int:
    """Run what the file does not have yet; return how many runs failed."""
    done = {tuple(row[name] for name in KEY) for row in read_rows(said.output)}
    failed = 0
    for cell in cells(list(folders), said.seeds):
        if tuple(cell.values()) in done:
            continue
        name = cell["simulator"]
        python = getattr(said, f"{name}_python") or sys.executable
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        asked = command(cell, folders[name], python, said.work, said.output.with_suffix(f".{name}.json"))
        ended = subprocess.run(asked, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        outcome = f"failed:\n{ended.stderr[-2000:]}" if ended.returncode else "done"
        print(*cell.values(), outcome, flush=True)
        if ended.returncode:
            failed += 1
        else:
            add_row(said.output, json.loads(ended.stdout.splitlines()[-1]))
    return failed


def main(arguments: list[str] | None = None) -> int:
    """Run the study, as far as it has not been run, and print its tables."""
    parser = argparse.ArgumentParser(prog="python -m examples.study", description=__doc__.split("\n")[0])
    for name in SIMULATORS:
        parser.add_argument(f"--{name}", type=Path, metavar="DIR", help=f"the folder with the code of {name}")
        parser.add_argument(f"--{name}-python", metavar="FILE", help="the Python that has what it needs")
    parser.add_argument("--output", type=Path, required=True, help="the CSV file of all runs")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--work", type=float, default=0.1, help="units of work for a decision of muri-opt")
    said = parser.parse_args(arguments)
    folders = {name: folder for name in SIMULATORS if (folder := getattr(said, name)) is not None}
    failed = run_missing(said, folders)
    rows = read_rows(said.output)
    print(tables(rows), against_theirs(rows), sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
