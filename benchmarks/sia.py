"""A round in the shape of Sia's program: multipliers with a checked bound against cvxpy with HiGHS, to the same gap.

Run with ``python -m benchmarks.sia``; it needs cvxpy (the extra ``bench``). The shape is that of Sia (Jayaram
Subramanya et al., SOSP 2023): a binary per job and configuration, at most one configuration per job, the GPUs of each
type; a configuration is a GPU type and 1, 2, 4, ... GPUs of one node or all GPUs of several; it is worth lambda minus
(restart factor x goodput over the least goodput of the job)^p. Curves are drawn, not measured.

Ours is all from the arrays to the checked bound; theirs is all from the arrays to the chosen configurations: building,
compiling and solving, one vector of booleans and sparse rows. All sides are measured in turn, three times; medians.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import cvxpy
import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from benchmarks.priced_bound import priced_bound
from muri_opt.algorithms.knapsack import Options, solve_options
from muri_opt.rounds import Limits
from muri_opt.solve.solvers import backend_named

Ints = NDArray[np.int64]
GPUS, NODE, MOST = np.array([768, 768, 512]), np.array([4, 8, 8]), 44
"""GPUs of each type (in the proportions of the paper's cluster), of one node, and the most that a job is offered."""
LAMBDA, POWER = 1.1, -0.5
MODELS = 12
GAP = 1e-4
REPEATS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """How many jobs, whether as many as fit are running, and how far apart the curves of jobs of one model are."""

    jobs: int
    running: bool = True
    noise: float = 0.02

    def __str__(self) -> str:
        apart = f"{self.noise:.0%} apart".replace("%", " %") if self.noise else "equal"
        return f"{self.jobs:,} | {'as many as fit' if self.running else 'none'} | {apart}"


CASES = (
    Case(jobs=2_000, running=False),
    Case(jobs=2_000),
    Case(jobs=2_000, noise=0.1),
    Case(jobs=2_000, noise=0.0),
    Case(jobs=667),
    Case(jobs=6_000),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What each configuration is worth to each job, in parts per million, and its GPU type and number of GPUs."""

    value: Ints
    kind: Ints
    size: Ints

    def use(self) -> Ints:
        """Return the GPUs of each type that each configuration takes."""
        return np.where(self.kind[:, None] == np.arange(len(GPUS)), self.size[:, None], 0)

    def worth(self, chosen: Ints) -> int:
        """Return what cells of the table are worth, after checking that they are one per job and fit."""
        job, configuration = np.divmod(chosen, self.value.shape[1])
        assert len(np.unique(job)) == len(job)
        assert (self.use()[configuration].sum(axis=0) <= GPUS).all()
        return int(self.value.ravel()[chosen].sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The chosen cells of the table, and the gap: proved here, or as the solver says."""

    chosen: Ints
    gap: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """An outcome, and the seconds it took: CPU time of all threads, and wall time."""

    outcome: Outcome
    cpu: float
    wall: float

    def __str__(self) -> str:
        return f"{self.cpu:.2f} ({self.wall:.2f}) s"


def main() -> None:
    """Print a table of times, gaps and ratios."""
    sides = (ours, by_cvxpy, without_presolve)
    for side in sides:
        side(drawn(Case(jobs=100, running=False)))  # loading libraries is no part of solving
    print(f"## The shape of Sia's program, {GPUS.sum():,} GPUs of three types, to a gap of {GAP:g}\n")
    print("CPU (wall) seconds. The ratios are to the faster of cvxpy with HiGHS as it is and without its presolve.\n")
    print("| jobs | running | curves of a model | binaries | ours, bound checked | proved gap |", end=" ")
    print("cvxpy, HiGHS | without presolve | its gap | value, ours over theirs | times less CPU | times less wall |")
    print("| --- " * 12 + "|")
    for case in CASES:
        table = drawn(case)
        turns = [[timed(side, table) for side in sides] for _ in range(REPEATS)]
        mine, default, plain = (middle(runs) for runs in zip(*turns, strict=True))
        value, theirs = table.worth(mine.outcome.chosen), table.worth(default.outcome.chosen)
        for other in (default, plain):
            found = table.worth(other.outcome.chosen)
            assert found <= value * (1 + mine.outcome.gap) + 1
            assert value <= found * (1 + GAP) + 1
        cpu, wall = min(default.cpu, plain.cpu), min(default.wall, plain.wall)
        print(f"| {case} | {table.value.size:,} | {mine} | {mine.outcome.gap:.1e} | {default} | {plain} |", end=" ")
        print(f"{default.outcome.gap:.1e} | {value / theirs:.6f} |", end=" ")
        print(f"{cpu / mine.cpu:.0f} | {wall / mine.wall:.0f} |", flush=True)


def timed(side: Callable[[Table], Outcome], table: Table) -> Run:
    """Return what a side finds, and how long it takes."""
    wall, cpu = time.perf_counter(), time.process_time()
    outcome = side(table)
    return Run(outcome=outcome, cpu=time.process_time() - cpu, wall=time.perf_counter() - wall)


def middle(runs: tuple[Run, ...]) -> Run:
    """Return the outcome, the same in all runs, with the median times."""
    assert all(np.array_equal(run.outcome.chosen, runs[0].outcome.chosen) for run in runs)
    cpu, wall = statistics.median(run.cpu for run in runs), statistics.median(run.wall for run in runs)
    return Run(outcome=runs[0].outcome, cpu=cpu, wall=wall)


def ours(table: Table) -> Outcome:
    """Return our answer; its bound is computed anew from the multipliers, in exact integers, as a verifier does."""
    jobs, count = table.value.shape
    use = table.use()
    job = np.repeat(np.arange(jobs), count)
    options = Options.of(job, table.value.ravel(), np.tile(use, (jobs, 1)), GPUS, jobs=jobs)
    answer = solve_options(options, backend_named("highs").solve, Limits(seconds=None, gap=GAP))
    bound = priced_bound(options, answer)
    assert options.fits(answer.choice)
    value = options.worth(answer.choice)
    assert bound - value <= GAP * value
    return Outcome(chosen=answer.choice[answer.choice >= 0], gap=(bound - value) / value)


def by_cvxpy(table: Table, **settings: str) -> Outcome:
    """Return the answer of HiGHS through cvxpy."""
    jobs, count = table.value.shape
    x = cvxpy.Variable(jobs * count, boolean=True)
    own = scipy.sparse.kron(scipy.sparse.eye_array(jobs), np.ones((1, count)), format="csr")
    taken = scipy.sparse.csr_array(np.tile(table.use().T, (1, jobs)))
    program = cvxpy.Problem(cvxpy.Maximize((table.value.ravel() / 1e6) @ x), [own @ x <= 1, taken @ x <= GPUS])
    program.solve(solver=cvxpy.HIGHS, mip_rel_gap=GAP, **settings)
    assert program.status == cvxpy.OPTIMAL
    return Outcome(chosen=np.flatnonzero(x.value > 0.5), gap=float(program.solver_stats.extra_stats.mip_gap))


def without_presolve(table: Table) -> Outcome:
    """Return the same, with HiGHS told to leave its presolve out."""
    return by_cvxpy(table, presolve="off")


def drawn(case: Case, seed: int = 1) -> Table:
    """Return the table of jobs of random models; some hold GPUs, and lose by any other configuration."""
    draw = np.random.default_rng([seed, case.jobs])
    offers = [[n for n in (1, 2, 4) if n < node] + list(range(node, MOST + 1, node)) for node in NODE.tolist()]
    kind, size = np.repeat(np.arange(len(GPUS)), [len(sizes) for sizes in offers]), np.concatenate(offers)
    model = draw.integers(0, MODELS, case.jobs)
    speed = np.column_stack([np.ones(MODELS), draw.uniform(1.2, 2.5, MODELS), draw.uniform(2, 6, MODELS)])
    serial = np.exp(draw.uniform(np.log(0.005), np.log(0.3), MODELS))
    own = serial[model] * np.exp(10 * case.noise * draw.normal(size=case.jobs))
    across = draw.uniform(0.05, 0.5, MODELS) / 8
    step = 1 / size + own[:, None] + across[model][:, None] * (size > NODE[kind])
    goodput = speed[model][:, kind] / step * np.exp(case.noise * draw.normal(size=step.shape))
    normal = goodput / goodput.min(axis=1, keepdims=True)
    if case.running:
        normal *= restart_factors(draw, case.jobs, kind, size)
    return Table(value=np.round(1e6 * (LAMBDA - normal**POWER)).astype(np.int64), kind=kind, size=size)


def restart_factors(draw: np.random.Generator, jobs: int, kind: Ints, size: Ints) -> NDArray[np.float64]:
    """Return 1 for jobs that wait and for what a job holds, less for its other configurations.

    Of an age T, after N restarts of S seconds each, a job expects (T - N S) / (T + S) of another configuration. Jobs
    hold 1 to 8 GPUs, one after the other as long as there are any of the type.
    """
    age, restart = np.exp(draw.normal(7.5, 1.5, jobs)), draw.uniform(20, 250, jobs)
    keeps = np.clip((age - draw.integers(0, 4, jobs) * restart) / (age + restart), 0.05, 1.0)
    type_ = draw.choice(len(GPUS), jobs, p=GPUS / GPUS.sum())
    count = draw.choice([1, 2, 4, 8], jobs, p=[0.6, 0.2, 0.12, 0.08])
    held = np.argmax((kind == type_[:, None]) & (size == count[:, None]), axis=1)
    total = np.cumsum(np.where(type_[:, None] == np.arange(len(GPUS)), count[:, None], 0), axis=0)
    holds = np.flatnonzero(total[np.arange(jobs), type_] <= GPUS[type_])
    factors = np.ones((jobs, len(size)))
    factors[holds] = keeps[holds, None]
    factors[holds, held[holds]] = 1.0
    return factors


if __name__ == "__main__":
    main()
