"""Whole calls where something binds: how late ``solve_round`` is, who answered, and how far from the best at most.

Run with ``python -m benchmarks.whole_call [policy ...] [--jobs N] [--seconds S] [--rounds N] [--binding TEXT]``. For
every policy, rounds of waiting jobs that have what it needs are drawn, with nothing that binds besides GPUs and with
each of :data:`benchmarks.what_binds.BINDING`, and each is decided by ``auto`` within a limit, in one process. What a
policy does not honour it refuses; such rows are left out, and named in the end.

*First* is the first round of its kind, of which no step has been taken before; *later* the median and *longest* the
longest of the others: seconds of the wall, of the whole call. *Own* says how many rounds were answered by the policy's
own algorithm, or a solver, and not by the simple decision that stands in where there is no time. *Gap* is the median of
the checked gaps, and how many rounds have none. *Loops* is *later* in units of the plain loop of
:mod:`benchmarks.scale`.
"""

from __future__ import annotations

import argparse
import gc
import time
from dataclasses import dataclass, field
from random import Random
from statistics import median
from typing import Final

from benchmarks.scale import SIZES, plain_loop
from benchmarks.session_loop import all_jobs
from benchmarks.what_binds import BINDING, bound_by
from muri_opt import InputError, Limits, Result, Round, solve_round, warm_up
from muri_opt.solve.first_answer import LEFT_OUT, SIMPLE
from muri_opt.systems import POLICIES

NOTHING: Final = "nothing else"


@dataclass(slots=True, kw_only=True)
class Row:
    """What rounds of one kind took."""

    wall: list[float] = field(default_factory=list)
    loops: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    own: int = 0
    feasible: bool = True

    def add(self, result: Result, wall: float, loops: float) -> None:
        """Count one round."""
        self.wall.append(wall)
        self.loops.append(loops)
        said = result.termination.detail
        self.own += SIMPLE.detail not in said and LEFT_OUT not in said
        self.feasible &= result.certificate.feasible
        if result.gap is not None:
            self.gaps.append(result.gap)

    def cells(self) -> list[str]:
        """Return the cells of the table."""
        later, without = self.wall[1:] or self.wall, len(self.wall) - len(self.gaps)
        gap = f"{median(self.gaps):.3g}" if self.gaps else "none"
        told = f"{gap} ({without} without)" if without and self.gaps else gap
        seconds = [f"{each:.2f}" for each in (self.wall[0], median(later), max(later))]
        own = f"{self.own} of {len(self.wall)}"
        return [*seconds, f"{median(self.loops[1:] or self.loops):.0f}", own, told, "yes" if self.feasible else "NO"]


def drawn(policy: str, binding: str, jobs: int, seed: int) -> Round:
    """Return a round of waiting jobs that have what a policy needs, in which something binds."""
    round_ = all_jobs(policy, jobs=jobs, nodes=SIZES[jobs][0], rounds=1, seed=seed)
    draw = Random(f"{policy} {binding} {jobs} {seed}")  # noqa: S311 - nothing secret is drawn
    return round_ if binding == NOTHING else bound_by(binding, round_, draw)


def measured(policy: str, binding: str, *, jobs: int, seconds: float, rounds: int) -> Row:
    """Return what some rounds took; a policy that does not honour them refuses the first."""
    row = Row()
    for seed in range(rounds):
        round_ = drawn(policy, binding, jobs, seed)
        gc.collect()
        before, began = plain_loop(), time.monotonic()
        result = solve_round(round_, policy, "auto", Limits(seconds=seconds))
        wall = time.monotonic() - began - result.stats.startup_seconds
        row.add(result, wall, wall / ((before + plain_loop()) / 2))
    return row


def main(arguments: list[str] | None = None) -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policies", nargs="*", default=[*POLICIES])
    parser.add_argument("--jobs", type=int, choices=SIZES, default=1_000)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--binding", default="", help="only what has this in its name")
    given = parser.parse_args(arguments)
    print(f"| policy, {given.jobs:,} jobs | binds | first, s | later | longest | loops | own | gap | feasible |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    refused: list[str] = []
    for policy in given.policies:
        warm_up(policy)
        for binding in (NOTHING, *BINDING):
            if given.binding not in binding:
                continue
            try:
                row = measured(policy, binding, jobs=given.jobs, seconds=given.seconds, rounds=given.rounds)
            except InputError as error:
                refused.append(f"`{policy}` refuses {binding}: {error}")
                continue
            print(f"| `{policy}` | {binding} | {' | '.join(row.cells())} |", flush=True)
    print("\n" + "\n".join(refused))


if __name__ == "__main__":
    main()
