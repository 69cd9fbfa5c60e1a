"""What a caller waits for: importing, reading a large round, deciding it, and what a warm solver process saves."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path

from msgspec.structs import replace

from benchmarks.clock import median
from muri_opt import Limits, Round, policy_from, read_round, solve_round, verify, write_round
from muri_opt.rounds import canonical_json, parse_round
from muri_opt.rounds.generate.demands import with_demands
from muri_opt.rounds.generate.families import generate
from muri_opt.solve.exact import prepare
from muri_opt.solve.solvers import borrowed_worker, stop_workers
from muri_opt.systems import program_of

REPEATS = 5
NEXT_JOBS = 300


def main() -> None:
    """Print one table."""
    print("## A round from the caller's side\n")
    print("| what | median |")
    print("| --- | --- |")
    for text in ("import muri_opt", "from muri_opt import solve_round, verify, read_round"):
        own, everything = import_seconds(text)
        print(f"| `{text}`: its own modules; with numpy and msgspec | {own:.3f} s; {everything:.3f} s |")
    large = generate("tenants", jobs=10_000, nodes=1_000, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "round.json"
        write_round(large, path)
        size = path.stat().st_size / 1e6
        reading = median(lambda: read_round(path))
        print(f"| read and validate 10,000 jobs on 1,000 nodes ({size:.1f} MB) | {reading:.3f} s |")
        write_round(with_demands(large, lambda options: options[-1]), path)
        size = path.stat().st_size / 1e6
        reading = median(lambda: read_round(path))
        print(f"| the same with all fields of format 2 ({size:.1f} MB) | {reading:.3f} s |")
    heuristic = solve_round(large, "srtf", "heuristic")
    seconds = median(lambda: solve_round(large, "srtf", "heuristic"), repeats=3)
    known = f"gap {heuristic.gap:.2%}, {heuristic.certificate.proof}"
    print(f"| decide it: `srtf`, heuristic, verified ({known}) | {seconds:.3f} s |")
    print(f"| of that: `verify` | {median(lambda: verify(large, heuristic), repeats=3):.3f} s |")
    small = generate("gangs", jobs=30, nodes=4, seed=1)
    warm = median(lambda: solve_round(small, "srtf", "auto"))
    cold = median(lambda: (stop_workers(), solve_round(small, "srtf", "auto")))
    print(f"| `auto` on 30 jobs, 4 nodes, to proved optimality, warm solver process | {warm:.3f} s |")
    print(f"| the same with a cold one | {cold:.3f} s ({cold / warm:.0f} times) |")
    limit = 0.5
    hard = generate("gangs", jobs=200, nodes=20, seed=1)
    spent = median(lambda: solve_round(hard, "max-min:nodes=fewest", "auto", Limits(seconds=limit)))
    print(f"| `auto` on a hard round with a limit of {limit} s | {spent:.3f} s |")
    many = generate("configurations", jobs=NEXT_JOBS, nodes=16, seed=1)
    kept, anew = (median(next_round(many, same=same)) for same in (True, False))
    what = f"hand the next round of {NEXT_JOBS} jobs with their plans to the solver process"
    print(f"| {what}, plans the same objects as before | {kept:.3f} s |")
    print(f"| the same with plans read anew | {anew:.3f} s ({anew / kept:.1f} times) |")


def next_round(round_: Round, *, same: bool) -> Callable[[], object]:
    """Return what sends a round that is a minute later at every call; its jobs keep their plans, or have equal ones."""
    minutes = count(1)

    def later() -> Round:
        waited = 60.0 * next(minutes)
        jobs = tuple(replace(job, waiting_seconds=waited) for job in round_.jobs)
        made = replace(round_, now=round_.now + waited, jobs=jobs)
        return made if same else parse_round(canonical_json(made))

    rounds = iter([later() for _ in range(2 * REPEATS)])

    def send() -> None:
        with borrowed_worker() as worker:
            worker.prepare(prepare, next(rounds), program_of(policy_from("aiturbo").rules), seconds=None)

    return send


def import_seconds(text: str) -> tuple[float, float]:
    """Return seconds spent in our modules and in all that Python alone does not load, medians of new processes."""
    own, total = [], []
    for _ in range(REPEATS):
        bare, loaded = module_microseconds("pass"), module_microseconds(text)
        total.append(sum(loaded.values()) - sum(bare.values()))
        own.append(sum(spent for name, spent in loaded.items() if name.startswith("muri_opt")))
    return statistics.median(own) / 1e6, statistics.median(total) / 1e6


def module_microseconds(text: str) -> dict[str, int]:
    """Return the time of every module that a new process loads for a piece of Python."""
    command = [sys.executable, "-X", "importtime", "-c", text]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ).stderr.splitlines()
    rows = [line.removeprefix("import time:").split("|") for line in lines if line.count("|") == 2][1:]
    return {name.strip(): int(spent) for spent, _, name in rows}


if __name__ == "__main__":
    main()
