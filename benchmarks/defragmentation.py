"""Freeing servers and making room: the greedy against the optimum, what is proved, and how long it takes.

Servers of 8 GPUs are filled at random with one-node jobs of two mixes of sizes until the load is reached. Either some
servers more than are empty are to be freed, or room is made for a gang that fits on no server as it is. Seconds are
CPU time, of one thread.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from muri_opt import Cluster, Job, Limits, Node, Reason, Round
from muri_opt.solve.solvers import backend_named, relaxation
from muri_opt.systems.defragment import Defragmentation, free_nodes, make_room
from muri_opt.systems.defragment.goal import Goal
from muri_opt.systems.defragment.program import build_program
from muri_opt.systems.defragment.running_jobs import Start
from muri_opt.verify.defragment.check import check_defragmentation

GPUS = 8
MIXES = {"small": ((1, 2, 4), (0.5, 0.3, 0.2)), "mixed": ((1, 2, 4, 8), (0.4, 0.25, 0.25, 0.1))}


def cluster(draw: np.random.Generator, servers: int, load: float, mix: str) -> Round:
    """Return servers filled to a load, with a waiting gang of one GPU more than any has free, at most 8."""
    sizes, shares = MIXES[mix]
    free = np.full(servers, GPUS)
    jobs: list[Job] = []
    while GPUS * servers - free.sum() < load * GPUS * servers:
        gpus = int(draw.choice(sizes, p=shares))
        fitting = np.flatnonzero(free >= gpus)
        if len(fitting):
            s = int(draw.choice(fitting))
            free[s] -= gpus
            placed = {f"n{s}": gpus}
            jobs.append(Job(id=f"j{len(jobs)}", gpus=gpus, state="running", placement=placed, restart_seconds=30.0))
    nodes = tuple(Node(id=f"n{s}", gpus=GPUS) for s in range(servers))
    waiting = Job(id="waiting", gpus=min(GPUS, int(free.max()) + 1))
    return Round(cluster=Cluster(nodes=nodes), jobs=(*jobs, waiting))


def goals(round_: Round) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield both goals: a tenth of the servers more than are empty, and room for the gang."""
    busy = {node for job in round_.jobs for node in job.placement or {}}
    servers = len(round_.cluster.nodes)
    yield "free", {"nodes": servers - len(busy) + max(1, servers // 10)}
    yield "room", {"job": "waiting"}


def asked(round_: Round, goal: dict[str, object], **means: object) -> tuple[Defragmentation, float]:
    began = time.process_time()
    found = (make_room if "job" in goal else free_nodes)(round_, **goal, **means)
    return found, time.process_time() - began


def main(arguments: list[str] | None = None) -> None:
    """Print the tables of small and of large clusters."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=45, help="small clusters per mix")
    parser.add_argument("--seconds", type=float, default=30.0, help="time limit of an exact search")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    _small(given.rounds, given.seconds, given.seed)
    _large(given.seconds, given.seed)


def _small(rounds: int, seconds: float, seed: int) -> None:
    print(f"8 to 12 servers, {rounds} clusters a line\n")
    print("| goal | load | sizes | possible | greedy optimal | greedy finds none | moved GPUs | program alone |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for goal, low, high in (("free", 62, 70), ("free", 75, 85), ("room", 62, 70), ("room", 80, 90)):
        for mix in MIXES:
            draw = np.random.default_rng([seed, len(mix)])
            lines = [_line(_clustered(draw, mix, low, high), goal, seconds) for _ in range(rounds)]
            best = [line for line in lines if line[1] is not None]
            same = sum(greedy == optimum for greedy, optimum, _ in best)
            none = sum(greedy is None for greedy, _, _ in best)
            moved = np.mean([optimum[0] for _, optimum, _ in best if optimum is not None])
            slow = f"{np.median([line[2] for line in lines]):.2f} s ({max(line[2] for line in lines):.2f} s)"
            sizes = ", ".join(map(str, MIXES[mix][0]))
            load = f"{low} to {high} %"
            print(f"| {goal} | {load} | {sizes} | {len(best)} | {same} | {none} | {moved:.1f} | {slow} |", flush=True)
    print()


def _clustered(draw: np.random.Generator, mix: str, low: int, high: int) -> Round:
    return cluster(draw, int(draw.integers(8, 13)), float(draw.uniform(low / 100, high / 100)), mix)


Outcome = tuple[tuple[int, int] | None, tuple[int, int] | None, float]


def _line(round_: Round, wanted: str, seconds: float) -> Outcome:
    """Return what the greedy and the exact search cost, and the seconds of the program on HiGHS from nothing."""
    goal = dict(goals(round_))[wanted]
    limits = Limits(seconds=seconds)
    greedy, _ = asked(round_, goal)
    exact, _ = asked(round_, goal, limits=limits, relax=relaxation, solvers={"highs": backend_named("highs").solve})
    assert exact.termination.reason in (Reason.OPTIMAL, Reason.INFEASIBLE), exact.termination
    assert not check_defragmentation(round_, exact).violations
    start = Start.of(round_)
    began = time.process_time()
    target = Goal.hold(start, "waiting") if "job" in goal else Goal.free(start, int(str(goal["nodes"])))
    alone = backend_named("highs").solve(build_program(start, target).model, limits)
    spent = time.process_time() - began
    value = None if alone.value is None else divmod(int(alone.value), start.weight)
    assert value == exact.cost or alone.termination.reason is Reason.FEASIBLE
    return greedy.cost, exact.cost, spent


def _large(seconds: float, seed: int) -> None:
    print(f"Large clusters, five of each; exact within {seconds:g} s\n")
    print("| servers | jobs | load | goal | greedy, ms | exact, s | optimal | proofs |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for servers, load, mix in ((100, 0.7, "mixed"), (100, 0.9, "mixed"), (1000, 0.7, "mixed"), (1000, 0.9, "mixed")):
        rounds = [cluster(np.random.default_rng([seed, servers, each]), servers, load, mix) for each in range(5)]
        for goal in ("free", "room"):
            _large_line(rounds, servers, load, goal, seconds)


def _large_line(rounds: Sequence[Round], servers: int, load: float, goal: str, seconds: float) -> None:
    quick, slow, proofs, optimal = [], [], Counter[str](), 0
    for round_ in rounds:
        wanted = dict(goals(round_))[goal]
        assert round_.amounts is not None  # made once per round, for whoever asks first
        quick.append(asked(round_, wanted)[1])
        solvers = {"highs": backend_named("highs").solve}
        found, spent = asked(round_, wanted, limits=Limits(seconds=seconds), relax=relaxation, solvers=solvers)
        slow.append(spent)
        certificate = check_defragmentation(round_, found)
        assert not certificate.violations, certificate.violations
        optimal += found.termination.reason in (Reason.OPTIMAL, Reason.INFEASIBLE)
        proofs[f"{found.termination.reason} {certificate.proof}"] += 1
    jobs = int(np.mean([len(round_.jobs) for round_ in rounds]))
    said = ", ".join(f"{number} {name}" for name, number in proofs.most_common())
    times = f"{1000 * float(np.median(quick)):.0f} | {np.median(slow):.2f} ({max(slow):.2f})"
    print(f"| {servers} | {jobs} | {load:.0%} | {goal} | {times} | {optimal} of {len(rounds)} | {said} |", flush=True)


if __name__ == "__main__":
    main()
