"""One option per job under three capacities: multipliers, enumeration and a small program against HiGHS on the whole.

Run with ``python -m benchmarks.knapsack``. Every job has 48 options, 8 numbers of GPUs by 6 of CPUs per GPU. Seconds
are wall time on this machine and include building every model; HiGHS gets the whole program through the same backend
that gets the rest. ``HiGHS whole`` stops after a time limit, and then the ratio is a lower one, marked with >.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.clock import median
from benchmarks.priced_bound import priced_bound
from muri_opt.algorithms.knapsack import Answer, Options, quick_answer, solve_options
from muri_opt.modelling import Model, ModelBuilder
from muri_opt.rounds import Limits, Reason
from muri_opt.solve.solvers import backend_named

KINDS = ("concave", "correlated", "types")
WHOLE_SECONDS = 120.0


def main() -> None:
    """Print a table of times, gaps and ratios."""
    highs = backend_named("highs")
    highs.version()  # loading the library is no part of solving
    print("## One option of 48 per job, three capacities\n")
    print("| jobs | values | answer | its gap | checking the bound | proved optimum | by | HiGHS whole | ", end="")
    print("answer, times faster | optimum, times faster |")
    print("| --- " * 10 + "|")
    for jobs in (200, 1_000, 20_000):
        for kind in KINDS:
            options = drawn(jobs, kind)
            repeats = 1 if jobs > 5_000 else 3
            quick = quick_answer(options, Limits(seconds=None))
            answering = median(lambda o=options: quick_answer(o, Limits(seconds=None)), repeats, first_counts=True)
            began = time.perf_counter()
            checked_bound(options, quick)
            checking = time.perf_counter() - began
            limits = Limits(seconds=WHOLE_SECONDS)
            best = solve_options(options, highs.solve, limits)
            proving = median(lambda o=options, at=limits: solve_options(o, highs.solve, at), repeats, first_counts=True)
            gap = (quick.bound - quick.value) / quick.value
            proved = f"{proving:.2f} s" if best.value == best.bound else f"not in {proving:.0f} s"
            by = best.basis + (f", {best.left} columns" if best.left else "")
            print(f"| {jobs:,} | {kind} | {answering:.3f} s | {gap:.1e} | {checking:.3f} s |", end=" ")
            print(f"{proved} | {by} |", end=" ", flush=True)
            if jobs > 5_000:
                print("| | |")
                continue
            began = time.perf_counter()
            whole = highs.solve(whole_program(options), limits)
            spent = time.perf_counter() - began
            solved = whole.termination.reason is Reason.OPTIMAL
            assert not solved or whole.value == best.value
            more = "" if solved else "> "
            print(f"{spent:.1f} s{'' if solved else ', not proved'} |", end=" ")
            print(f"{more}{spent / answering:.0f} | {more}{spent / proving:.1f} |", flush=True)


def drawn(jobs: int, kind: str, seed: int = 1) -> Options:
    """Return random options.

    ``concave``: values grow less than in proportion to GPUs and CPUs, with 3 % of noise; ``correlated``: in proportion
    to what is used, with 1 % of noise, so that nearly everything is near the prices; ``types``: jobs of 12 models.
    """
    draw = np.random.default_rng([seed, jobs])
    gpus = np.tile(np.repeat(np.arange(1, 9), 6), (jobs, 1))
    per_gpu = np.tile(np.array([1, 2, 3, 4, 6, 8]), (jobs, 8))
    memory = gpus * draw.integers(8, 65, (jobs, 1)) + per_gpu * draw.integers(1, 9, (jobs, 1))
    alpha, beta = draw.uniform(0.4, 0.95, (jobs, 1)), draw.uniform(0.02, 0.4, (jobs, 1))
    size = draw.lognormal(0, 0.5, (jobs, 1))
    noise = draw.uniform(-1, 1, gpus.shape)
    if kind == "types":
        model = draw.integers(0, 12, jobs)
        alpha, beta, size, memory, noise = alpha[model], beta[model], size[model], memory[model], 0 * noise
    value = 1e5 * size * gpus**alpha * per_gpu**beta * (1 + 0.03 * noise)
    if kind == "correlated":
        value = 1e4 * (gpus + 0.1 * gpus * per_gpu + 0.01 * memory) * (1 + 0.01 * noise)
    use = np.stack([gpus, gpus * per_gpu, memory], axis=2).reshape(-1, 3)
    capacity = [3 * jobs, 9 * jobs, 110 * jobs]
    return Options.of(np.repeat(np.arange(jobs), 48), value.astype(np.int64).ravel(), use, capacity, jobs=jobs)


def whole_program(options: Options) -> Model:
    """Return the program with a column per option."""
    builder = ModelBuilder("options")
    x = builder.add_columns("x", np.arange(len(options)))
    builder.add_rows("one", np.arange(options.jobs), entries=(options.job, x, 1), sense="<=", rhs=1)
    resources = len(options.capacity)
    entries = (np.repeat(np.arange(resources), len(x)), np.tile(x, resources), options.use.T.ravel())
    builder.add_rows("capacity", np.arange(resources), entries=entries, sense="<=", rhs=options.capacity)
    return builder.finish(maximise=True, columns=x, coefficients=options.value)


def checked_bound(options: Options, answer: Answer) -> None:
    """Check answer and multipliers, as a verifier does."""
    assert options.fits(answer.choice)
    assert options.worth(answer.choice) == answer.value
    assert priced_bound(options, answer) == answer.bound


if __name__ == "__main__":
    main()
