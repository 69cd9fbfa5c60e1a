"""Random options, plain references, and the checks that every answer must pass."""

from fractions import Fraction
from itertools import product
from math import floor

import numpy as np

from muri_opt.algorithms.knapsack import Options
from muri_opt.modelling import ModelBuilder


def small_options(seed, most_jobs=5, most_options=4):
    """Return a few jobs with a few options, some without any, some worth less than nothing, some too large."""
    draw = np.random.default_rng(seed)
    jobs, resources = int(draw.integers(1, most_jobs + 1)), int(draw.integers(1, 4))
    job = np.repeat(np.arange(jobs), draw.integers(0, most_options + 1, jobs))
    use = draw.integers(0, int(draw.choice([2, 6, 20])) + 1, (len(job), resources))
    value = (
        draw.integers(-5, 30, len(job)) if draw.random() < 0.5 else use.sum(axis=1) * 10 + draw.integers(0, 5, len(job))
    )
    return Options.of(job, value, use, draw.integers(0, 10 * jobs // 2 + 1, resources), jobs=jobs)


def options_of_tenants(seed, jobs, tenants):
    """Return jobs with up to four options that use GPUs and the quota of one of many tenants: as many capacities."""
    draw = np.random.default_rng(seed)
    job = np.repeat(np.arange(jobs), 4)
    gpus = np.tile([1, 2, 4, 8], jobs)
    whose = draw.integers(0, tenants, jobs)[job]
    use = np.zeros((len(job), 1 + tenants), dtype=np.int64)
    use[:, 0] = use[np.arange(len(job)), 1 + whose] = gpus
    value = (draw.uniform(0.5, 2, jobs)[job] * 1e3 * gpus ** draw.uniform(0.4, 0.95, jobs)[job]).astype(np.int64)
    quotas = draw.integers(1, 2 + 6 * jobs // tenants, tenants)
    return Options.of(job, value, use, [2 * jobs, *quotas], jobs=jobs)


def table_options(jobs, kind, seed):
    """Return jobs with 48 options each: 8 numbers of GPUs and 6 of CPUs per GPU, and memory.

    Values are concave with noise, nearly proportional to what is used, or those of one of five models.
    """
    draw = np.random.default_rng([seed, jobs])
    gpus, per_gpu = (np.tile(part, (jobs, 1)) for part in np.divmod(np.arange(48), 6))
    gpus, cpus = gpus + 1, (gpus + 1) * np.array([1, 2, 3, 4, 6, 8])[per_gpu]
    memory = gpus * draw.integers(8, 65, (jobs, 1)) + cpus
    exponent, size = draw.uniform(0.4, 0.95, (jobs, 1)), draw.uniform(0.5, 2, (jobs, 1))
    if kind == "types":
        like = draw.integers(0, 5, jobs)
        exponent, size, memory = exponent[like], size[like], memory[like]
    value = 1e5 * size * gpus**exponent * (1 + per_gpu) ** 0.2
    if kind == "noisy":
        value *= draw.uniform(0.97, 1.03, value.shape)
    if kind == "correlated":
        value = 1e3 * (gpus + 0.1 * cpus + 0.01 * memory) * draw.uniform(0.99, 1.01, value.shape)
    use = np.stack([gpus, cpus, memory], axis=2).reshape(-1, 3)
    capacity = [3 * jobs, 9 * jobs, 110 * jobs]
    return Options.of(np.repeat(np.arange(jobs), 48), value.astype(np.int64).ravel(), use, capacity, jobs=jobs)


def brute_force(options):
    """Return what the best choice is worth, by trying all."""
    lists = [[-1, *np.flatnonzero(options.job == job).tolist()] for job in range(options.jobs)]
    choices = (np.array(picks, dtype=np.int64) for picks in product(*lists))
    return max(options.worth(choice) for choice in choices if options.fits(choice))


def whole_program(options):
    """Return the program with a column per option."""
    builder = ModelBuilder("options")
    x = builder.add_columns("x", np.arange(len(options)))
    builder.add_rows("one", np.arange(options.jobs), entries=(options.job, x, 1), sense="<=", rhs=1)
    row, column = np.nonzero(options.use.T)
    entries = (row, column, options.use[column, row])
    builder.add_rows("capacity", np.arange(len(options.capacity)), entries=entries, sense="<=", rhs=options.capacity)
    return builder.finish(maximise=True, columns=x, coefficients=options.value)


def verified_bound(options, priced):
    """Return what the multipliers prove, by definition: all capacities at their price, and of each job the most that a
    fitting option is worth above its own price.
    """
    price = [Fraction(p, priced.denominator) for p in priced.prices]
    assert min(price, default=0) >= 0
    most = [Fraction(0)] * options.jobs
    for job, value, use in zip(options.job.tolist(), options.value.tolist(), options.use.tolist(), strict=True):
        if all(amount <= has for amount, has in zip(use, options.capacity.tolist(), strict=True)):
            most[job] = max(most[job], value - sum(p * amount for p, amount in zip(price, use, strict=True)))
    return floor(sum(p * has for p, has in zip(price, options.capacity.tolist(), strict=True)) + sum(most))


def check(options, answer):
    """Check that an answer fits, is worth what it says, and is not above its bounds."""
    assert options.fits(answer.choice)
    assert answer.value == options.worth(answer.choice)
    assert answer.value <= answer.bound <= answer.priced.bound
    assert verified_bound(options, answer.priced) == answer.priced.bound
