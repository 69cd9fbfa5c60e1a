"""Gangs of tenants on 1,000 nodes: the published rules, HiGHS on the plain program, and the search node by node.

Run with ``python -m benchmarks.placement``. Nodes have 8 GPUs, racks 20 to 40 nodes. Jobs have come and gone, which
leaves holes; twelve tenants have quotas that add up to the cluster, some use more and some less. A value is in the
units of the chapter. The gap is to the bound that the verifier found from the same row's evidence. Seconds are wall
time on this machine, verification not counted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from muri_opt import Cluster, Job, Limits, Node, Round, Tenant, solve_round
from muri_opt.rounds import Budget, Decision, LinearDuals
from muri_opt.solve.solvers import relaxation
from muri_opt.systems import policy_from
from muri_opt.systems.philly import JobStatus
from muri_opt.systems.philly.program_search import search_places
from muri_opt.systems.philly.search import quick_prices
from muri_opt.verify import decision_value, proved_bound

SECONDS = 30.0
SIZES = (1, 2, 4, 8, 16, 32)
RESTARTS = (15.0, 30.0, 60.0, 120.0)
TENANTS = 12
POLICIES = (
    "philly",
    "philly:preempt_at=never",
    "philly:objective=weighted",
    "philly:objective=weighted,preempt_at=never",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A cluster of nodes with 8 GPUs: how full it is, and how often jobs run with, or wait for, 1, 2, 4 ... 32 GPUs.

    ``restarts`` is the part of the running jobs that may be restarted. With ``cpus``, 56 CPUs and 512 GiB a node bind.
    """

    name: str
    nodes: int = 1000
    jobs: int = 2000
    waiting: int = 200
    load: float = 0.95
    runs: tuple[float, ...] = (0.5, 0.1, 0.13, 0.19, 0.065, 0.015)
    wants: tuple[float, ...] = (0.1, 0.1, 0.2, 0.35, 0.2, 0.05)
    restarts: float = 0.7
    cpus: bool = False


CASES = (
    Case(name="heavy, 95 % full"),
    Case(name="heavy, 88 % full, CPUs and memory bind", load=0.88, cpus=True),
    Case(
        name="light",
        load=0.3,
        runs=(0.93, 0.02, 0.02, 0.0275, 0.0025, 0.0),
        wants=(0.93, 0.02, 0.02, 0.0275, 0.0025, 0.0),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What one way found."""

    way: str
    value: int | None
    bound: int | None
    seconds: float

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.way} | none in time | | | {self.seconds:.1f}"
        if self.bound is None:
            return f"{self.way} | {self.value:,} | | | {self.seconds:.1f}"
        return f"{self.way} | {self.value:,} | {self.bound:,} | {self.bound / self.value - 1:.1e} | {self.seconds:.1f}"


def main() -> None:
    """Print a table of values, bounds, gaps and times."""
    solve_round(drawn(Case(name="warm", nodes=4, jobs=6, waiting=2)), POLICIES[0], "auto")  # loads libraries
    print("## Gangs of tenants on 1,000 nodes\n")
    print("| round, policy | way | value | verified bound | gap | seconds |")
    print("| --- " * 6 + "|")
    for case in CASES:
        round_ = drawn(case)
        for policy in POLICIES:
            for line in solved(round_, policy):
                print(f"| {case.name}, `{policy}` | {line} |", flush=True)


def solved(round_: Round, policy: str) -> Iterator[Line]:
    """Yield what each way makes of a round."""
    rules = policy_from(policy).tenant_rules
    began = time.perf_counter()
    start = policy_from(policy).decide(round_, 0)
    quick = quick_prices(round_, JobStatus.of(round_, rules))
    yield _line("published rules, quick prices", round_, policy, start, quick, time.perf_counter() - began)
    began = time.perf_counter()
    found = search_places(round_, rules, start, Budget(limits=Limits(seconds=SECONDS)), relaxation)
    spent = time.perf_counter() - began
    assert found is not None
    yield _line("search", round_, policy, found.decision, found.duals, spent)
    began = time.perf_counter()
    plain = solve_round(round_, policy, "exact@highs", Limits(seconds=SECONDS))
    spent = time.perf_counter() - began
    yield Line(way="plain program, HiGHS", value=plain.value, bound=plain.certificate.checked_bound, seconds=spent)


def _line(way: str, round_: Round, policy: str, decision: Decision, duals: LinearDuals | None, seconds: float) -> Line:
    proved = proved_bound(round_, policy_from(policy).rules, decision, () if duals is None else (duals,))
    value = decision_value(round_, policy_from(policy).rules, decision)
    return Line(way=way, value=value, bound=None if proved is None else proved[0], seconds=seconds)


def drawn(case: Case, seed: int = 1) -> Round:
    """Return a round of a cluster that jobs have filled and left again."""
    draw = np.random.default_rng([seed, case.nodes])
    rack = np.repeat(np.arange(case.nodes), draw.integers(20, 41, case.nodes))[: case.nodes]
    room = {"cpus": 56.0, "memory_gib": 512.0} if case.cpus else {}
    nodes = tuple(Node(id=f"node-{s:04}", gpus=8, rack=f"rack-{r:02}", **room) for s, r in enumerate(rack.tolist()))
    quota = np.floor(8 * case.nodes * draw.dirichlet(np.full(TENANTS, 4.0))).astype(np.int64)
    share = draw.dirichlet(np.full(TENANTS, 2.0))
    tenants = tuple(Tenant(id=f"team-{v:02}", quota_gpus=units) for v, units in enumerate(quota.tolist()))

    def job(gpus: int, cpus: list[int], memory: list[int], **fields: object) -> Job:
        needs = {"cpus": float(gpus * draw.choice(cpus)), "memory_gib": float(gpus * draw.choice(memory))}
        team = f"team-{draw.choice(TENANTS, p=share):02}"
        return Job(gpus=gpus, tenant=team, **(needs if case.cpus else {}), **fields)

    jobs = []
    for held in _left_over(draw, case, rack):
        restart = float(draw.choice(RESTARTS)) if draw.random() < case.restarts else None
        place = {nodes[s].id: units for s, units in held.items()}
        fields = {"state": "running", "placement": place, "restart_seconds": restart}
        jobs.append(job(sum(held.values()), [2, 4, 6], [16, 32, 48], id=f"run-{len(jobs):04}", **fields))
    for number in range(case.waiting):
        gpus, waited = int(draw.choice(SIZES, p=case.wants)), float(round(draw.exponential(1500.0)))
        jobs.append(job(gpus, [2, 4, 6, 8, 10], [16, 32, 64, 96], id=f"wait-{number:03}", waiting_seconds=waited))
    return Round(name=case.name, cluster=Cluster(nodes=nodes, tenants=tenants), jobs=tuple(jobs))


def _left_over(draw: np.random.Generator, case: Case, rack: np.ndarray) -> list[dict[int, int]]:
    """Return where jobs are after more have come than could stay, and some have gone again.

    They go until the cluster is as full as it should be, and no more are left than should be.
    """
    free, places = np.full(case.nodes, 8), []
    most = min(8 * case.nodes, round(1.2 * case.load * 8 * case.nodes))
    while (8 - free).sum() < most:
        held = _place(draw, free, rack, int(draw.choice(SIZES, p=case.runs)))
        if held is None:
            break
        for s, units in held.items():
            free[s] -= units
        places.append(held)
    used, left = int((8 - free).sum()), len(places)
    gone = set()
    for place in draw.permutation(len(places)).tolist():
        if used <= case.load * 8 * case.nodes and left <= case.jobs - case.waiting:
            break
        gone.add(place)
        used, left = used - sum(places[place].values()), left - 1
    return [held for place, held in enumerate(places) if place not in gone]


def _place(draw: np.random.Generator, free: np.ndarray, rack: np.ndarray, gpus: int) -> dict[int, int] | None:
    """Return a node for a small job, mostly a tight one, or whole nodes of one rack for a large one."""
    if gpus <= 8:
        some = np.flatnonzero(free >= gpus)
        if len(some) and draw.random() < 0.7:
            some = some[free[some] == free[some].min()]
        return {int(draw.choice(some)): gpus} if len(some) else None
    empty = np.flatnonzero(free == 8)
    racks = np.flatnonzero(np.bincount(rack[empty], minlength=1) >= gpus // 8)
    if not len(racks):
        return None
    return dict.fromkeys(empty[rack[empty] == draw.choice(racks)][: gpus // 8].tolist(), 8)


if __name__ == "__main__":
    main()
