"""Seeded loss curves whose coefficients are known."""

import math

import numpy as np


def drawn_curves(seed, number, *, points=(20, 200), halved=(0.05, 1.0), floor=0.3, noise=0.0):
    """Yield (b0, b1, b2), steps and losses.

    There are ``points`` losses, seen every 1, 10, 100 or 1,000 steps; they start between 0.1 and 100 plus a floor of up
    to ``floor`` of that, and what lies above the floor has halved after ``halved`` of the steps seen. Each loss is off
    by a normal factor of deviation ``noise``.
    """
    rng = np.random.default_rng(seed)
    for _ in range(number):
        n, every = int(rng.integers(points[0], points[1] + 1)), int(rng.choice([1, 10, 100, 1000]))
        start, half = 10 ** rng.uniform(-1, 2), math.exp(rng.uniform(*np.log(halved))) * n * every
        b0, b1, b2 = 1 / (start * half), 1 / start, rng.uniform(0, floor) * start
        steps = every * np.arange(1, n + 1)
        losses = (1 / (b0 * steps + b1) + b2) * (1 + noise * rng.standard_normal(n))
        yield (float(b0), float(b1), float(b2)), [int(k) for k in steps], [float(loss) for loss in losses]


def loss_at(coefficients, step):
    b0, b1, b2 = coefficients
    return 1 / (b0 * step + b1) + b2


def weighted_error(coefficients, steps, losses):
    """The sum of squares that a fit minimises, written once more."""
    n = len(steps)
    pairs = enumerate(zip(steps, losses, strict=True))
    return sum(16 ** (3 * i // n) * (loss_at(coefficients, k) - loss) ** 2 for i, (k, loss) in pairs)
