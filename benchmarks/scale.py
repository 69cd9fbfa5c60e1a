"""Rounds in time at scale: how long a session takes to answer, and where the time goes, for every policy.

Run with ``python -m benchmarks.scale [policy ...] [--jobs N]``. A session of each policy decides a seeded loop with
``auto`` and a limit of 1 s: before each further round a twentieth of the jobs end and as many arrive, and what runs
comes nearer to its end. The first round, in which nothing runs and nothing is remembered, is told apart.

Wall times are those of the call; the parts are seconds of the processor in the calling process, each without those
inside it: *reading* what the policy needs of the round, its *algorithm*, the first *bound*, the *value*, the *check* of
the answer, and *other* (making the round, handing it to the solver process and waiting there).

The same code takes up to three times as long on a machine that others use, by the processor's own clock, too. *Loops*
is therefore the median round in units of a plain loop of 100,000 steps that is run before and after each round: that
can be compared between runs and machines.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from benchmarks.session_loop import all_jobs, times_of_rounds
from muri_opt import Limits, Session, warm_up
from muri_opt.solve import first_answer, round as solving, search
from muri_opt.systems import POLICIES
from muri_opt.verify import Audit

SIZES: Final = {100: (16, 40), 1_000: (128, 40), 10_000: (1_000, 4)}
"""Nodes of 8 GPUs and rounds by number of jobs."""
STEPS: Final = 100_000
"""Of the plain loop that tells how fast the machine is at the moment."""
PARTS: Final = ("reading", "algorithm", "bound", "value", "check")


@dataclass(slots=True, kw_only=True)
class Times:
    """What one session took: seconds of every round, and of the parts of all of them; and what it knew in the end."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    loops: list[float] = field(default_factory=list)
    parts: dict[str, float] = field(default_factory=dict)
    gaps: list[float | None] = field(default_factory=list)
    verified: bool = True

    def row(self) -> list[str]:
        """Return the cells of the table: the first round, then all others, then parts of the mean round."""
        later, rounds = self.wall[1:] or self.wall, len(self.wall)
        spread = [np.median(later), np.quantile(later, 0.99), max(later), np.median(self.cpu[1:] or self.cpu)]
        parts = [self.parts[part] / rounds for part in PARTS]
        other = sum(self.cpu) / rounds - sum(parts)
        known = [gap for gap in self.gaps if gap is not None]
        gap = f"{np.median(known):.2%}".replace("%", " %") if len(known) == rounds else f"{rounds - len(known)} without"
        seconds = [f"{value:.3f}" for value in (self.wall[0], *spread)]
        loops = f"{np.median(self.loops[1:] or self.loops):.1f}"
        shares = [f"{value:.3f}" for value in (*parts, other)]
        return [*seconds, loops, *shares, gap, "yes" if self.verified else "NO"]


class Meter:
    """Seconds of the processor by part; a part that is called inside another is not counted there."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = dict.fromkeys(PARTS, 0.0)
        self._inside: list[float] = []

    def timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, counted as a part."""

        def counted(*given: Any, **named: Any) -> Any:
            began = time.process_time()
            self._inside.append(0.0)
            try:
                return function(*given, **named)
            finally:
                spent = time.process_time() - began
                self.seconds[part] += spent - self._inside.pop()
                if self._inside:
                    self._inside[-1] += spent

        return counted


@contextmanager
def metered() -> Iterator[Meter]:
    """Count the parts of all rounds that are decided meanwhile."""
    meter = Meter()
    with ExitStack() as stack:
        for part, owner, name in (
            ("reading", solving, "admit"),
            ("algorithm", first_answer, "decided"),
            ("bound", first_answer.FirstAnswer, "_take_first_bound"),
            ("value", Audit, "value"),
            ("check", Audit, "breaches"),
            ("check", search.Search, "_checked"),
        ):
            plain = getattr(owner, name)
            stack.callback(setattr, owner, name, plain)
            setattr(owner, name, meter.timed(part, plain))
        yield meter


def plain_loop() -> float:
    """Return the seconds of the processor that a loop of fixed length takes now."""
    began, total = time.process_time(), 0
    for step in range(STEPS):
        total += step
    return time.process_time() - began


def measure(policy: str, *, jobs: int, nodes: int, rounds: int, seconds: float = 1.0, seed: int = 1) -> Times:
    """Return what a session of a policy takes over so many rounds."""
    drawn, found = all_jobs(policy, jobs=jobs, nodes=nodes, rounds=rounds, seed=seed), Times()
    with (
        metered() as meter,
        Session(drawn.cluster, policy, "auto", Limits(seconds=seconds), resources=drawn.resources) as session,
    ):
        for now in times_of_rounds(session, drawn, jobs=jobs, rounds=rounds, seed=seed):
            before = plain_loop()
            wall, cpu = time.perf_counter(), time.process_time()
            step = session.decide(now)
            found.wall.append(time.perf_counter() - wall)
            found.cpu.append(time.process_time() - cpu)
            found.loops.append(2 * found.cpu[-1] / (before + plain_loop()))
            found.gaps.append(step.result.gap)
            found.verified &= step.result.certificate.feasible
            session.acknowledge(step)
        found.parts = meter.seconds
    return found


def main(arguments: list[str] | None = None) -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policies", nargs="*", metavar="policy", help="all, if none is named")
    parser.add_argument("--jobs", type=int, choices=SIZES, nargs="+", default=list(SIZES))
    parser.add_argument("--rounds", type=int, help="for each size; default 40, 40 and 4")
    parser.add_argument("--seconds", type=float, default=1.0, help="the limit of each round")
    given = parser.parse_args(arguments)
    heads = (
        "policy",
        "jobs x nodes",
        "first",
        "median",
        "99 %",
        "most",
        "CPU",
        "loops",
        *PARTS,
        "other",
        "gap",
        "verified",
    )
    print("| " + " | ".join(heads) + " |")
    print("| --- | --- |" + " ---: |" * (len(heads) - 2))
    for policy in given.policies or POLICIES:
        warm_up(policy)
        for jobs in given.jobs:
            nodes, rounds = SIZES[jobs]
            rounds = given.rounds or rounds
            found = measure(policy, jobs=jobs, nodes=nodes, rounds=rounds, seconds=given.seconds)
            print("| " + " | ".join((policy, f"{jobs:,} x {nodes:,}", *found.row())) + " |", flush=True)


if __name__ == "__main__":
    main()
