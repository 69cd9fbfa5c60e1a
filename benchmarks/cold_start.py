"""What a new process costs: importing, the first command, the first call, and the solver process's start.

Everything runs in fresh processes, with the bytecode of an earlier run and with none of ours, as in a fresh clone. CPU
seconds of a process and its children move less with the load of the machine than seconds on the wall; those are given
for the calls and for the start of the solver process, where somebody waits. The package is found as Python finds it, so
that ``PYTHONPATH=<another checkout> python benchmarks/cold_start.py`` measures another version.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

REPEATS = 3
TOY = Path(__file__).resolve().parents[1] / "instances" / "toy" / "two-gangs.json"
NUMPY = "import numpy"
IMPORT = "from muri_opt import solve_round"
MODULES = f"import sys; {IMPORT}; print(len(sys.modules), sum(m.startswith('muri_opt') for m in sys.modules))"
COMMAND = f"from muri_opt.cli.main import main; main(['solve', {str(TOY)!r}, '--policy', 'fifo', '--method', METHOD])"
READY = """
import time
from muri_opt.solve.solvers.process import Worker
began = time.perf_counter()
worker = Worker()
worker.call(abs, -1, seconds=None)
print(time.perf_counter() - began)
worker.stop()
"""
CALLS = """
import time
from muri_opt import Cluster, Job, Limits, Node, Round, solve_round
round_ = Round(
    cluster=Cluster(nodes=(Node(id="n0", gpus=8, cpus=64), Node(id="n1", gpus=8, cpus=64))),
    jobs=(
        Job(id="bert", gpus=8, cpus=32, submitted=0.0),
        Job(id="llama", gpus=16, cpus=64, submitted=10.0),
        Job(id="yolo", gpus=4, cpus=8, submitted=20.0),
    ),
)
for _ in range(2):
    began = time.perf_counter()
    result = solve_round(round_, policy="fifo:objective=weighted", method="auto", limits=Limits(seconds=1.0))
    print(time.perf_counter() - began, f"{result.termination.reason} {result.value} of at most {result.bound}", sep=";")
"""


def main() -> None:
    """Print one table."""
    print("## A new process\n")
    print("| what | bytecode stored | none of ours stored |")
    print("| --- | --- | --- |")
    with tempfile.TemporaryDirectory() as around:
        folder = str(Path(around) / "stored")
        stored = {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        for text in (NUMPY, IMPORT, READY, CALLS, COMMAND.replace("METHOD", "'auto'")):
            printed(text, stored)  # leaves its bytecode there
        none = {"PYTHONPYCACHEPREFIX": without_ours(Path(folder)), "PYTHONDONTWRITEBYTECODE": "1"}
        all_modules, own = printed(MODULES, stored).split()
        print(f"| modules after `{IMPORT}` (our own) | {all_modules} ({own}) | |")
        numpy = [cpu_seconds(NUMPY, settings) for settings in (stored, none)]
        print(row(f"`{NUMPY}`, CPU", numpy))
        imported = [cpu_seconds(IMPORT, settings) for settings in (stored, none)]
        beyond = [whole - base for whole, base in zip(imported, numpy, strict=True)]
        print(row(f"`{IMPORT}` beyond that, CPU", beyond))
        for method in ("heuristic", "auto"):
            text = COMMAND.replace("METHOD", repr(method))
            spent = [cpu_seconds(text, settings) for settings in (stored, none)]
            print(row(f"`muri-opt solve toy/two-gangs.json --method {method}`, CPU", spent))
        ready = [statistics.median(float(printed(READY, each)) for _ in range(REPEATS)) for each in (stored, none)]
        print(row("solver process ready, wall", ready))
        for at, name in enumerate(("first", "second")):
            print(f"| {name} call of the README's example, wall | {told(stored, at)} | {told(none, at)} |")


def without_ours(stored: Path) -> str:
    """Return a copy of stored bytecode that has none of this package."""
    copy = stored.with_name(f"{stored.name}-others")
    shutil.copytree(stored, copy, ignore=shutil.ignore_patterns("muri_opt"))
    return str(copy)


def row(what: str, seconds: list[float]) -> str:
    """Return a row of the table."""
    return f"| {what} | {seconds[0]:.2f} s | {seconds[1]:.2f} s |"


def told(settings: dict[str, str], at: int) -> str:
    """Return the median time of a call, and every answer it ever gave."""
    lines = [printed(CALLS, settings).splitlines()[at].split(";") for _ in range(REPEATS)]
    seconds = statistics.median(float(line[0]) for line in lines)
    return f"{seconds:.3f} s, {' or '.join(sorted({line[1] for line in lines}))}"


def printed(text: str, settings: dict[str, str]) -> str:
    """Return what a piece of Python prints in a new process."""
    command, elsewhere = (
        [sys.executable, "-c", text],
        tempfile.gettempdir(),
    )  # no checkout comes before PYTHONPATH there
    ended = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=elsewhere, env={**os.environ, **settings}
    )
    return ended.stdout


def cpu_seconds(text: str, settings: dict[str, str]) -> float:
    """Return the median CPU seconds of a new process and its children."""
    spent = []
    for _ in range(REPEATS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        printed(text, settings)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(spent)


if __name__ == "__main__":
    main()
