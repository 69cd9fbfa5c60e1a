"""The same work gives the same bytes: rounds of five policies, solved twice on a quiet machine, once on a loaded one.

Run with ``python -m benchmarks.same_bytes [ROUNDS] [--work W | --seconds S] [--loop]``; 50 rounds a policy take ten
minutes. With ``--loop`` each round follows the last one: 500 elastic jobs on 60 nodes, of which a twentieth is done and
replaced each time, so that one decision that differs would change all after it.
Every pass is a process of its own with its own hash seed, the second one takes the rounds in the opposite order, and
during the third two spinning processes for every core take most of the machine away. Results are compared as their
JSON text, without the seconds in ``stats``. A table says how many solves the limit ended (the others were proved
before), how many answers differ between the passes, and how long the passes took. With ``--seconds`` one sees what a
limit by the clock does instead.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from muri_opt import Limits, Round, solve_round
from muri_opt.rounds import Limit, Result, Stats, after, result_json
from muri_opt.rounds.generate.families import generate

ROUNDS, WORK = 50, 0.1
POLICIES = {
    "muri-s": ("interleaving", 14, 3),
    "afs-l": ("elastic", 60, 10),
    "rubick": ("plans", 24, 5),
    "philly": ("philly", 40, 8),
    "srtf:nodes=fewest": ("gangs", 32, 6),
}
"""Each policy with the family of its rounds, and their jobs and nodes on average."""
LOOP, LOOP_SIZE = "afs-l in a loop", (500, 60)
"""Rounds that follow each other, and their jobs and nodes."""
PASSES = {"quiet": False, "quiet, other order": False, "loaded": True}
SPINNING = "while True: pass"


def rounds_of(policy: str, count: int) -> Iterator[Round]:
    """Yield the rounds of a policy: from half to one and a half times the average size."""
    family, jobs, nodes = POLICIES[policy]
    for seed in range(count):
        part = (0.5, 0.75, 1.0, 1.25, 1.5)[seed % 5]
        yield generate(family, seed=seed, jobs=round(part * jobs), nodes=max(2, round(part * nodes)))


def bytes_of(result: Result) -> bytes:
    """Return the JSON text of a result without the seconds it took."""
    sizes = Stats(backend=result.stats.backend, columns=result.stats.columns, rows=result.stats.rows)
    return result_json(msgspec.structs.replace(result, stats=sizes)).encode()


def solve_all(count: int, limits: Limits, *, backwards: bool) -> None:
    """Solve everything in this process; print a line for each solve: policy, round, what ended it, and its digest."""
    for policy in POLICIES:
        began, lines = time.perf_counter(), []
        rounds = list(enumerate(rounds_of(policy, count)))
        for place, round_ in reversed(rounds) if backwards else rounds:
            result = solve_round(round_, policy, "auto" if place % 2 else "exact", limits)
            ended = result.termination.limit or result.termination.reason
            lines.append((place, str(ended), hashlib.sha256(bytes_of(result)).hexdigest()))
        print(json.dumps([policy, time.perf_counter() - began, sorted(lines)]), flush=True)


def loop(jobs: int, nodes: int, rounds: int, limits: Limits) -> Iterator[tuple[Round, Result]]:
    """Yield rounds of which each follows the last, a twentieth of its jobs done and replaced, with their answers."""
    round_ = generate("elastic", jobs=jobs, nodes=nodes, seed=5)
    fresh = generate("elastic", jobs=jobs, nodes=nodes, seed=6).jobs
    for turn in range(rounds):
        result = solve_round(round_, "afs-l", "auto", limits)
        yield round_, result
        then = after(round_, result.answer)
        new = (msgspec.structs.replace(job, id=f"{turn}-{job.id}", state="waiting", placement=None) for job in fresh)
        kept = [next(new) if place % 20 == turn % 20 else job for place, job in enumerate(then.jobs)]
        round_ = msgspec.structs.replace(then, jobs=tuple(kept))


def solve_loop(count: int, limits: Limits) -> None:
    """Decide so many rounds one after another; print a line as :func:`solve_all` does."""
    began, lines = time.perf_counter(), []
    for place, (_, result) in enumerate(loop(*LOOP_SIZE, count, limits)):
        ended = result.termination.limit or result.termination.reason
        lines.append((place, str(ended), hashlib.sha256(bytes_of(result)).hexdigest()))
    print(json.dumps([LOOP, time.perf_counter() - began, lines]), flush=True)


@contextmanager
def load(count: int) -> Iterator[None]:
    """Keep so many processes spinning."""
    spinning = [subprocess.Popen([sys.executable, "-c", SPINNING]) for _ in range(count)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def run_pass(place: int, arguments: list[str], *, loaded: bool) -> dict[str, tuple[float, list[list[str]]]]:
    """Return the lines of one pass, by policy, with its seconds."""
    command = [sys.executable, "-m", "benchmarks.same_bytes", *arguments, "--pass", str(place)]
    with load(2 * (os.cpu_count() or 1) if loaded else 0):
        environment = {**os.environ, "PYTHONHASHSEED": str(place + 1)}
        told = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found = [json.loads(line) for line in told.stdout.splitlines()]
    return {policy: (seconds, lines) for policy, seconds, lines in found}


def main() -> None:
    """Print the table, or be one of its passes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", metavar="ROUNDS", type=int, nargs="?", default=ROUNDS)
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument("--work", type=float, default=WORK)
    limit.add_argument("--seconds", type=float)
    parser.add_argument("--loop", action="store_true", help="rounds that follow each other")
    parser.add_argument("--pass", dest="place", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    limits = Limits(work=given.work) if given.seconds is None else Limits(seconds=given.seconds)
    if given.place is not None:
        if given.loop:
            solve_loop(given.rounds, limits)
        else:
            solve_all(given.rounds, limits, backwards=given.place == 1)
        return
    passes = [run_pass(place, sys.argv[1:], loaded=loaded) for place, loaded in enumerate(PASSES.values())]
    stopped = (Limit.TIME, Limit.WORK)
    names = " | ".join(f"{name}, s" for name in PASSES)
    print(f"| policy | solves | ended by the limit | answers that differ | {names} |")
    print(f"| --- | {'---: | ' * (3 + len(PASSES))}".rstrip())
    for policy in (LOOP,) if given.loop else POLICIES:
        seconds, lines = zip(*(found[policy] for found in passes), strict=True)
        bound = sum(line[1] in stopped for line in lines[0])
        differ = sum(any(line != first for line in others) for first, *others in zip(*lines, strict=True))
        times = " | ".join(f"{value:.1f}" for value in seconds)
        print(f"| {policy} | {len(lines[0])} | {bound} | {differ} | {times} |")


if __name__ == "__main__":
    main()
