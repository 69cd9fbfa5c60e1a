"""A round in the shape of Sia's program: multipliers with a checked bound against cvxpy with HiGHS, to the same gap.

Run with ``python -m benchmarks.sia``; it needs cvxpy (the extra ``bench``). The shape is that of the program of Sia
(Jayaram Subramanya et al., SOSP 2023): a binary per job and configuration, one configuration per job or none, the GPUs
of each type; a configuration is a GPU type and 1, 2, 4, ... GPUs of one node or all GPUs of several. The cluster has
the shares of the three types that the paper's has. Curves are drawn, not measured.

Our side is all from the arrays to the checked bound, the other's all from the arrays to the chosen options: building,
compiling and solving one vector of booleans with sparse rows. Each is measured three times, in turn; medians count.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import cvxpy
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from muri_opt.backends import backend_named
from muri_opt.knapsack import Basis, Options, solve_options
from muri_opt.solution import Limits, LinearDuals
from muri_opt.verification.knapsack_bound import options_bound

GPUS, NODE = np.array([768, 768, 512]), np.array([4, 8, 8])
MOST = 44
"""GPUs of each type, GPUs of a node of each type, and the most GPUs a job is offered."""
WAITING, POWER = 1.1, -0.5
GAP = 1e-4
CASES = (
    ("all new", 2_000, 0.02, False),
    ("half running", 2_000, 0.02, True),
    ("half running, jobs of a model alike", 2_000, 0.0, True),
    ("a third as many jobs", 667, 0.02, True),
    ("three times as many jobs", 6_000, 0.02, True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What every configuration is worth to every job, in parts per million, and what there is and is taken."""

    value: NDArray[np.int64]
    kind: NDArray[np.int64]
    size: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was chosen, as places in the flat table, and the gap that is claimed or proved."""

    chosen: NDArray[np.int64]
    gap: float
    proved: int | None = None


def main() -> None:
    """Print a table of times, gaps and ratios."""
    highs = backend_named("highs")
    highs.version()  # loading the library is no part of solving
    warm = drawn(20, 0.02, running=False)
    by_cvxpy(warm), by_multipliers(warm)
    print(f"## The shape of Sia's program: {GPUS.sum():,} GPUs of three types, gap {GAP:g}\n")
    print("| jobs | | binaries | ours, CPU (wall) | proved gap | cvxpy and HiGHS, CPU (wall) | claimed gap |", end=" ")
    print("value, ours over theirs | times less CPU | times less wall time |")
    print("| --- " * 10 + "|")
    for label, jobs, noise, running in CASES:
        table = drawn(jobs, noise, running=running)
        runs = [(timed(by_multipliers, table), timed(by_cvxpy, table)) for _ in range(3)]
        (ours, cpu, wall), (theirs, their_cpu, their_wall) = (middle(side) for side in zip(*runs, strict=True))
        value, other = worth(table, ours.chosen), worth(table, theirs.chosen)
        assert ours.proved is not None
        assert value <= ours.proved
        assert other <= ours.proved
        print(f"| {jobs:,} | {label} | {table.value.size:,} | {cpu:.2f} ({wall:.2f}) s | {ours.gap:.1e} |", end=" ")
        print(f"{their_cpu:.2f} ({their_wall:.2f}) s | {theirs.gap:.1e} | {value / other:.6f} |", end=" ")
        print(f"{their_cpu / cpu:.1f} | {their_wall / wall:.1f} |", flush=True)


def middle(runs):
    return runs[0][0], statistics.median(r[1] for r in runs), statistics.median(r[2] for r in runs)


def timed(action: Callable[[Table], Outcome], table: Table) -> tuple[Outcome, float, float]:
    """Return the outcome, its CPU seconds (of all threads) and its wall seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    outcome = action(table)
    return outcome, time.process_time() - cpu, time.perf_counter() - wall


def drawn(jobs: int, noise: float, *, running: bool, seed: int = 1) -> Table:
    """Return the table of random jobs of a dozen models."""
    draw = np.random.default_rng([seed, jobs])
    sizes = [[n for n in (1, 2, 4) if n < node] + list(range(node, MOST + 1, node)) for node in NODE.tolist()]
    kind = np.repeat(np.arange(len(sizes)), [len(of) for of in sizes])
    size = np.concatenate(sizes)
    model = draw.integers(0, 12, jobs)
    speed = np.column_stack([np.ones(12), draw.uniform(1.2, 2.5, 12), draw.uniform(2, 6, 12)])
    serial = np.exp(draw.uniform(np.log(0.005), np.log(0.3), 12))[model] * np.exp(10 * noise * draw.normal(size=jobs))
    across = draw.uniform(0.05, 0.5, 12)
    time_ = 1 / size + serial[:, None] + across[model][:, None] * (size > NODE[kind]) / 8
    goodput = speed[model][:, kind] / time_ * np.exp(noise * draw.normal(size=(jobs, len(size))))
    factor = np.ones((jobs, len(size)))
    if running:
        age, cost = np.exp(draw.normal(7.5, 1.5, jobs)), draw.uniform(20, 250, jobs)
        keep = np.clip((age - draw.integers(0, 4, jobs) * cost) / (age + cost), 0.05, 1.0)
        wanted = draw.choice(3, jobs, p=GPUS / GPUS.sum()), draw.choice([1, 2, 4, 8], jobs, p=[0.6, 0.2, 0.12, 0.08])
        present = np.argmax((kind == wanted[0][:, None]) & (size == wanted[1][:, None]), axis=1)
        total = np.cumsum(np.where(kind[present][:, None] == np.arange(3), size[present][:, None], 0), axis=0)
        holds = total[np.arange(jobs), kind[present]] <= GPUS[kind[present]]
        factor[holds] = keep[holds][:, None]
        factor[np.flatnonzero(holds), present[holds]] = 1.0
    normal = goodput / goodput.min(axis=1, keepdims=True)
    value = np.round(1e6 * (WAITING - (factor * normal) ** POWER)).astype(np.int64)
    return Table(value=value, kind=kind, size=size)


def worth(table: Table, chosen: NDArray[np.int64]) -> int:
    """Return what a choice is worth, after checking that it is one and fits."""
    job, place = np.divmod(chosen, table.value.shape[1])
    assert len(np.unique(job)) == len(job)
    assert (np.bincount(table.kind[place], weights=table.size[place], minlength=3) <= GPUS).all()
    return int(table.value.ravel()[chosen].sum())


def by_multipliers(table: Table) -> Outcome:
    """Return our answer with its bound checked, as a verifier does, in exact integers."""
    jobs, options = table.value.shape
    use = np.where(table.kind[:, None] == np.arange(len(GPUS)), table.size[:, None], 0)
    given = Options.of(
        np.repeat(np.arange(jobs), options), table.value.ravel(), np.tile(use, (jobs, 1)), GPUS, jobs=jobs
    )
    answer = solve_options(given, backend_named("highs").solve, Limits(gap=GAP, seconds=None))
    assert answer.basis is Basis.MULTIPLIERS, answer
    duals = LinearDuals(denominator=answer.priced.denominator, multipliers={"capacity": answer.priced.prices})
    bound = options_bound(table.value, [use] * jobs, GPUS.tolist(), duals)
    assert given.fits(answer.choice)
    value = given.worth(answer.choice)
    assert bound - value <= GAP * value
    return Outcome(chosen=answer.choice[answer.choice >= 0], gap=(bound - value) / value, proved=bound)


def by_cvxpy(table: Table, unit: float = 1e-6) -> Outcome:
    """Return the answer of HiGHS through cvxpy."""
    jobs, options = table.value.shape
    x = cvxpy.Variable(jobs * options, boolean=True)
    one = sp.kron(sp.eye_array(jobs), np.ones((1, options)), format="csr")
    use = np.where(np.arange(len(GPUS))[:, None] == table.kind, table.size, 0)
    taken = sp.csr_array(np.tile(use, (1, jobs)))
    program = cvxpy.Problem(cvxpy.Maximize((unit * table.value.ravel()) @ x), [one @ x <= 1, taken @ x <= GPUS])
    program.solve(solver=cvxpy.HIGHS, mip_rel_gap=GAP)
    assert program.status == cvxpy.OPTIMAL
    info = program.solver_stats.extra_stats
    return Outcome(chosen=np.flatnonzero(x.value > 0.5), gap=float(info.mip_gap))


if __name__ == "__main__":
    main()
