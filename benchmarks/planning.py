"""Plans on nodes with tight CPUs and memory: the cluster-level answer, Rubick's algorithm, HiGHS, and node patterns.

Run with ``python -m benchmarks.planning``. Equal nodes have 8 GPUs, 28 CPUs and 288 GiB; every job has 48 plans on one
node, 8 numbers of GPUs by 6 of CPUs per GPU, each with its memory. A value is the sum of the throughputs of the jobs
that run, each as a part of what the job could have on an empty node. The gap to the best verified bound is what the
value could still rise if that bound, the least that the verifier proved in any of the ways, could be reached. Seconds
are wall time on this machine, with verification, and with the heuristic as a start in ``auto``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from muri_opt import Cluster, Job, Limits, Node, Round, solve_round
from muri_opt.algorithms.knapsack import quick_answer
from muri_opt.rounds import Decision, Plan, Proof, relative_gap
from muri_opt.systems import policy_from
from muri_opt.systems.plans import FreeNodes, PlanOptions, PlanRules, plan_decision
from muri_opt.systems.plans.node_patterns import ClusterKnapsack
from muri_opt.verify import decision_value

POLICY = "rubick"
GAP = 1e-4
WAYS = {
    "Rubick's algorithm": "heuristic",
    "node-level program, HiGHS": "exact@highs",
    "node patterns, `auto`": "auto",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """How many jobs, of how many kinds (``None``: each is one of its own), on how many nodes, in how many seconds."""

    jobs: int
    nodes: int
    seconds: float
    kinds: int | None = None

    def __str__(self) -> str:
        kinds = "" if self.kinds is None else f" of {self.kinds} kinds"
        return f"{self.jobs} jobs{kinds} on {self.nodes} nodes, {self.seconds:.0f} s"


CASES = (
    Case(jobs=20, nodes=3, seconds=30),
    Case(jobs=50, nodes=6, seconds=30),
    Case(jobs=200, nodes=32, seconds=60),
    Case(jobs=400, nodes=52, seconds=60, kinds=12),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What one way found: its value (if any), the gap it claims, the bound the verifier proved, and the time."""

    way: str
    value: int | None
    claimed: float | None
    checked: int | None
    proof: str
    seconds: float

    def against(self, bound: int) -> str:
        """Return value, gap to a bound, gap to its own verified bound, and gap and proof of the result as cells."""
        if self.value is None:
            return "none in time | | | "
        own = "" if self.checked is None else f"{(self.checked - self.value) / self.value:.2%}"
        claimed = "" if self.claimed is None else f"{self.claimed:.2%}, {self.proof}"
        return f"{self.value / 1e6:.3f} | {(bound - self.value) / self.value:.2%} | {own} | {claimed}"


def main() -> None:
    """Print a table of values, gaps and times."""
    solve_round(tight(Case(jobs=4, nodes=1, seconds=10)), POLICY, "auto")  # loading libraries is no part of solving
    print("## Plans on nodes with tight CPUs and memory\n")
    print("| round, time limit | way | value | gap to the best verified bound | to its own |", end=" ")
    print("gap and proof of the result | seconds |")
    print("| --- " * 7 + "|")
    for case in CASES:
        lines = solved(tight(case), case.seconds)
        bound = min(line.checked for line in lines if line.checked is not None)
        for line in lines:
            print(f"| {case} | {line.way} | {line.against(bound)} | {line.seconds:.1f} |", flush=True)


def solved(round_: Round, seconds: float) -> list[Line]:
    """Return what each way makes of a round."""
    began = time.perf_counter()
    value = decision_value(round_, policy_from(POLICY).rules, packed(round_))
    spent = time.perf_counter() - began
    lines = [Line(way="cluster level, packed", value=value, claimed=None, checked=None, proof="", seconds=spent)]
    for way, method in WAYS.items():
        began = time.perf_counter()
        found = solve_round(round_, POLICY, method, Limits(seconds=seconds, gap=GAP))
        spent = time.perf_counter() - began
        known, claim = found.certificate, found.claimed_bound
        assert known.feasible or found.decision is None
        lines.append(
            Line(
                way=way,
                value=found.value,
                claimed=found.gap if claim is None else relative_gap(found.value or 0, claim),
                checked=known.checked_bound,
                proof=str(known.proof if claim is None else Proof.CLAIM_ONLY),
                seconds=spent,
            )
        )
    return lines


def packed(round_: Round) -> Decision:
    """Return the answer for the cluster as one large node, packed on its nodes.

    Large parts come first, each to the node with the fewest free GPUs that has room. Then every job that found none,
    or was to wait, takes its best plan that fits what is left.
    """
    options = PlanOptions.of(round_, PlanRules())
    choice = quick_answer(ClusterKnapsack.of(round_, options).options, Limits(seconds=None)).choice
    free, chosen = FreeNodes(round_, options), {}

    def place(o: int) -> bool:
        room = np.flatnonzero(free.room(o))
        if len(room):
            chosen[o] = room[[np.argmin(free.gpus[room])]]
            free.take(o, chosen[o])
        return bool(len(room))

    for o in sorted(choice[choice >= 0].tolist(), key=lambda o: (-options.g[o], -options.c[o], -options.m[o])):
        place(o)
    for job in set(range(len(round_.jobs))) - {int(options.job[o]) for o in chosen}:
        any(place(o) for o in sorted(options.of_job(job), key=lambda o: -options.e[o]))
    return plan_decision(round_, options, chosen)


def tight(case: Case, seed: int = 1) -> Round:
    """Return a round whose jobs gain less than in proportion from GPUs and CPUs, with 3 % of noise."""
    draw = np.random.default_rng([seed, case.jobs])
    kinds = case.jobs if case.kinds is None else case.kinds
    gpus, per_gpu = np.tile(np.repeat(np.arange(1, 9), 6), (kinds, 1)), np.tile([1, 2, 3, 4, 6, 8], (kinds, 8))
    memory = gpus * draw.integers(8, 65, (kinds, 1)) + per_gpu * draw.integers(1, 9, (kinds, 1))
    alpha, beta = draw.uniform(0.4, 0.95, (kinds, 1)), draw.uniform(0.02, 0.4, (kinds, 1))
    speed = gpus**alpha * per_gpu**beta * (1 + 0.03 * draw.uniform(-1, 1, gpus.shape))
    tables = [
        tuple(
            Plan(name="plan", gpus=g, cpus=g * c, memory_gib=m, throughput=t)
            for g, c, m, t in zip(*(table[kind].tolist() for table in (gpus, per_gpu, memory, speed)), strict=True)
        )
        for kind in range(kinds)
    ]
    kind = np.arange(case.jobs) if case.kinds is None else draw.integers(0, kinds, case.jobs)
    asks = draw.choice([1, 2, 4, 8], case.jobs)
    jobs = tuple(Job(id=f"job-{j}", gpus=int(asks[j]), plans=tables[kind[j]]) for j in range(case.jobs))
    nodes = tuple(Node(id=f"node-{s}", gpus=8, cpus=28, memory_gib=288) for s in range(case.nodes))
    return Round(cluster=Cluster(nodes=nodes), jobs=jobs)


if __name__ == "__main__":
    main()
