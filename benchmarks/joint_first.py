"""The first answer of the joint policies: how long it takes to decide waiting jobs of which nothing is remembered.

Run with ``python -m benchmarks.joint_first [--jobs N] [--rounds N] [--policies ...]``. Rounds are drawn whose jobs have
stages and curves of a few models, or all different ones: stages and curves, either of them, plans, GPUs and a time
only, or a fifth of each; then rounds in which quotas, priorities, CPUs and memory, GPU types or labels bind besides,
or several of these. Each round is drawn anew and decided once, by the policy alone, without the check of the answer and
its bound.

Seconds are those of the processor, until there is a first answer, and in other rounds until it is not improved any more
(*all*, the median); *loops* are the median of the first in units of the plain loop of :mod:`benchmarks.scale`, run
before and after each decision, which can be compared between machines, loaded ones too.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Sequence
from random import Random
from statistics import median
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from benchmarks.scale import SIZES, plain_loop
from benchmarks.what_binds import BINDING, bound_by
from muri_opt import Cluster, Job, Limits, Node, Plan, Round, policy_from
from muri_opt.rounds.budget import Budget

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


def measured(policy: str, kind: str, jobs: int, rounds: int, limits: Limits = _AT_ONCE) -> tuple[list[float], float]:
    """Return the seconds that the decision of each drawn round took within limits, and the median in plain loops."""
    chosen, seconds, loops = policy_from(policy), list[float](), list[float]()
    for seed in range(rounds + 1):
        round_ = round_of(kind, jobs, f"{policy} {limits.seconds} {seed}")
        gc.collect()
        gc.disable()  # as while a session answers
        before, began = plain_loop(), time.process_time()
        chosen.decide_within(round_, 0, Budget(limits=limits))
        spent = time.process_time() - began
        loop = (before + plain_loop()) / 2
        gc.enable()
        if seed:  # the first one loads what is needed
            seconds.append(spent)
            loops.append(spent / loop)
    return seconds, median(loops)


def main(arguments: list[str] | None = None) -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, choices=SIZES, default=1_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--policies", nargs="+", default=["joint-s", "joint-l"])
    given = parser.parse_args(arguments)
    print(f"| {given.jobs:,} jobs | policy | first, s | longest, s | all, s | loops |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for kind in (*KINDS, *BINDING, *OF_OTHERS):
        for policy in given.policies:
            seconds, loops = measured(policy, kind, given.jobs, given.rounds)
            every, _ = measured(policy, kind, given.jobs, given.rounds, Limits())
            first, longest, all_ = median(seconds), max(seconds), median(every)
            print(f"| {kind} | `{policy}` | {first:.3f} | {longest:.3f} | {all_:.3f} | {loops:.1f} |", flush=True)


if __name__ == "__main__":
    main()
