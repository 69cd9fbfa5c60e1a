"""The first answer of the joint policies: how long it takes to decide waiting jobs of which nothing is remembered.

Run with ``python -m benchmarks.joint_first [--jobs N] [--rounds N] [--policies ...] [--workloads ...]``. Rounds are
drawn whose jobs have stages and curves of a few models, or all different ones: stages and curves, either of them,
plans, GPUs and a time only, or a fifth of each; then rounds in which quotas, priorities, CPUs and memory, GPU types or
labels bind besides, or several of these. With workloads, such as ``trace4.csv?scaling=curves.csv``, the jobs of each
round are drawn from one of them instead, each somewhere on its way. Each round is drawn anew and decided once, by the
policy alone, without the check of the answer and its bound.

Seconds are those of the processor, until it is first known who runs where, the median and the *longest*; until those
who wait are told why, too (*told*), and in other rounds until the answer is not improved any more (*all*), medians.
*loops* are the medians of the first two in units of the plain loop of :mod:`benchmarks.scale`, run before and after
each decision, which can be compared between machines.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from statistics import median
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from benchmarks.scale import SIZES, plain_loop
from benchmarks.what_binds import BINDING, bound_by
from muri_opt import Cluster, Job, Limits, Node, Plan, Round, policy_from
from muri_opt.errors import InputError
from muri_opt.replay.workload import Workload
from muri_opt.replay.workloads.files import read_workload
from muri_opt.rounds.budget import Budget
from muri_opt.systems.joint.policy import JointPolicy

RESOURCES: Final = ("storage", "cpu", "gpu", "network")
FEW: Final = 40


class Kind(NamedTuple):
    """What jobs say, one of ``says`` each; the most GPUs of a curve or plan; whether jobs are of :data:`FEW` models."""

    says: Sequence[tuple[str, ...]]
    most_gpus: int = 16
    of_few_models: bool = False


_BOTH: Final = (("stages", "curve"),)
KINDS: Final[dict[str, Kind]] = {
    f"stages and curves to 16 GPUs, {FEW} models": Kind(_BOTH, of_few_models=True),
    "the same, all different": Kind(_BOTH),
    "the same, curves to 64 GPUs": Kind(_BOTH, 64),
    "the same, curves to 1,024 GPUs": Kind(_BOTH, 1024),
    "stages, all different": Kind((("stages",),)),
    "curves, all different": Kind((("curve",),)),
    "GPUs and a time, all different": Kind(((),)),
    "plans, all different": Kind((("plans",),)),
    "a fifth of each, all different": Kind((*_BOTH, ("stages",), ("curve",), ("plans",), ())),
}
"""Kinds of jobs, by name."""


_AT_ONCE: Final = Limits(seconds=1e-9)
"""With these no answer but the first is waited for."""
WIDEST: Final = "the same, curves to 64 GPUs"
"""The kind of jobs for rounds in which something binds."""


_PLANS: Final = "plans, all different"
_FIFTHS: Final = "a fifth of each, all different"
_LABELS: Final = "twelve labels asked for in many ways"
_OWN_AMOUNTS: Final = "CPUs and memory in amounts of their own"
OF_OTHERS: Final[dict[str, tuple[str, str]]] = {
    f"{kind}: {binding}": (kind, binding)
    for kind in (_PLANS, _FIFTHS)
    for binding in (
        "CPUs and memory",
        _LABELS,
        _OWN_AMOUNTS,
        f"{_OWN_AMOUNTS}, {_LABELS}",
        f"{_OWN_AMOUNTS}, {_LABELS}, quotas of 200 tenants, a priority of its own for each",
    )
}
"""Rounds of other kinds of jobs in which something binds."""


def bound_round(binding: str, jobs: int, seed: str, kind: str = WIDEST) -> Round:
    """Return a round of waiting jobs of a kind in which something binds."""
    draw = Random(f"{binding} {jobs} {seed}")  # noqa: S311 - nothing secret is drawn
    return bound_by(binding, drawn_round(kind, jobs, seed), draw)


def round_of(name: str, jobs: int, seed: str) -> Round:
    """Return a round of one of :data:`KINDS`, :data:`.what_binds.BINDING` or :data:`OF_OTHERS`."""
    if name in KINDS:
        return drawn_round(name, jobs, seed)
    kind, binding = OF_OTHERS.get(name, (WIDEST, name))
    return bound_round(binding, jobs, seed, kind)


def drawn_round(kind: str, jobs: int, seed: str) -> Round:
    """Return a round of waiting jobs of a kind."""
    says, most, few = KINDS[kind]
    draw = Random(f"{kind} {jobs} {seed}")  # noqa: S311 - nothing secret is drawn
    made = [_job(draw, draw.choice(says), most) for _ in range(FEW if few else jobs)]
    named = (
        replace(
            made[draw.randrange(FEW) if few else number],
            id=f"job-{number}",
            submitted=float(number),
            remaining_iterations=int(10 ** draw.uniform(1, 5)),
            attained_gpu_seconds=round(10 ** draw.uniform(0, 6), 3),
        )
        for number in range(jobs)
    )
    nodes = tuple(Node(id=f"n{number}", gpus=8) for number in range(SIZES[jobs][0]))
    return Round(cluster=Cluster(nodes=nodes), resources=RESOURCES, jobs=tuple(named))


def _job(draw: Random, said: Sequence[str], most: int) -> Job:
    fields: dict[str, Any] = {"iteration_seconds": round(draw.uniform(0.1, 3), 6)}
    if "stages" in said:
        stages = tuple(round(draw.uniform(0.01, 0.9), 6) for _ in RESOURCES)
        fields |= {"stage_seconds": stages, "iteration_seconds": round(sum(stages) * draw.uniform(1, 1.3), 6)}
    counts = [2**power for power in range(most.bit_length())]
    if "curve" in said:
        base, power = draw.uniform(0.05, 50), draw.uniform(0.4, 1)
        fields["scaling"] = {gpus: base * gpus**power * draw.uniform(0.9, 1.1) for gpus in counts}
    if "plans" in said:
        fields["plans"] = tuple(
            Plan(name=f"dp{gpus}", gpus=gpus, nodes=max(1, gpus // 8), throughput=draw.uniform(0.5, 2) * gpus**0.8)
            for gpus in counts
        )
    return Job(id="-", gpus=draw.choice((1, 1, 1, 2, 2, 4, 8)), **fields)


def sampled_round(workload: Workload, jobs: int, seed: str) -> Round:
    """Return a round of waiting jobs of a workload, each of which has any part of its work left."""
    draw = Random(seed)  # noqa: S311 - nothing secret is drawn
    sampled = (
        replace(
            said,
            id=f"job-{number}",
            tenant=None,
            submitted=float(number),
            remaining_iterations=1 + int((said.remaining_iterations or 1) * draw.random()),
            attained_gpu_seconds=round(10 ** draw.uniform(0, 6), 3),
        )
        for number, said in enumerate(draw.choices(workload.jobs, k=jobs))
    )
    nodes = tuple(Node(id=f"n{number}", gpus=8) for number in range(SIZES[jobs][0]))
    return Round(cluster=Cluster(nodes=nodes), resources=workload.resources, jobs=tuple(sampled))


class Measured(NamedTuple):
    """The seconds that each round took until it was known who runs where, and until all was told; loops of both."""

    placed: list[float]
    told: list[float]
    loops: tuple[float, float]


def measured(policy: str, drawn: Callable[[str], Round], rounds: int, limits: Limits = _AT_ONCE) -> Measured:
    """Return what the decisions of rounds ``drawn`` by a seed take within limits."""
    chosen, placed, told = policy_from(policy), list[float](), list[float]()
    if not isinstance(chosen, JointPolicy):
        raise InputError("policies", policy, "joint policies")
    loops: list[tuple[float, float]] = []
    for seed in range(rounds + 1):
        round_ = drawn(f"{policy} {limits.seconds} {seed}")
        gc.collect()
        gc.disable()  # as while a session answers
        loop, began = plain_loop(), time.process_time()
        chosen.check_honoured(round_)
        chosen.check(round_)
        found = chosen.placed_within(round_, Budget(limits=limits))
        first = time.process_time() - began
        chosen.told(round_, found)
        spent = time.process_time() - began
        loop = (loop + plain_loop()) / 2
        gc.enable()
        if seed:  # the first one loads what is needed
            placed.append(first)
            told.append(spent)
            loops.append((first / loop, spent / loop))
    first_loops, all_loops = zip(*loops, strict=True)
    return Measured(placed, told, (median(first_loops), median(all_loops)))


def main(arguments: list[str] | None = None) -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, choices=SIZES, default=1_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--policies", nargs="+", default=["joint-s", "joint-l"])
    parser.add_argument("--workloads", nargs="+", default=[])
    given = parser.parse_args(arguments)
    draws: dict[str, Callable[[str], Round]] = {}
    for text in given.workloads:
        draws[text] = partial(sampled_round, read_workload(text), given.jobs)
    if not draws:
        draws = {kind: partial(round_of, kind, given.jobs) for kind in (*KINDS, *BINDING, *OF_OTHERS)}
    print(f"| {given.jobs:,} jobs | policy | first, s | longest, s | told, s | all, s | loops |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for kind, drawn in draws.items():
        for policy in given.policies:
            found = measured(policy, drawn, given.rounds)
            every = measured(policy, drawn, given.rounds, Limits())
            seconds = (median(found.placed), max(found.placed), median(found.told), median(every.told))
            cells = (kind, f"`{policy}`", *(f"{one:.3f}" for one in seconds), "{:.1f}, {:.1f}".format(*found.loops))
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
