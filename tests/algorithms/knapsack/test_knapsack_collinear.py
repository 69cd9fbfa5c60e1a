"""Resources that are taken in proportion to one another: prices can be exchanged, and still must be found."""

import numpy as np
import pytest

from muri_opt.algorithms.knapsack import Options, quick_answer, smoothed_dual
from muri_opt.rounds import Limits

JOBS, GPUS = 300, (1, 2, 3, 4, 5, 6, 7, 8, 16, 32)


def answer(multiples, capacity, jitter=0):
    draw = np.random.default_rng(0)
    gpus = np.tile(GPUS, JOBS)
    power = np.repeat(draw.uniform(0.4, 0.9, JOBS), len(GPUS))
    use = np.column_stack([multiple * gpus for multiple in multiples])
    use[:, 1:2] += draw.integers(0, 1 + jitter, (len(gpus), 1))
    job = np.repeat(np.arange(JOBS), len(GPUS))
    value = (1e6 * gpus**power / 32).astype(np.int64)
    return quick_answer(Options.of(job, value, use, capacity, jobs=JOBS), Limits(seconds=None))


@pytest.mark.parametrize(
    ("multiples", "capacity"),
    [((1, 4), [400, 2000]), ((1, 4, 16), [400, 2000, 6500]), ((1, 1, 1), [400, 400, 400]), ((4, 1), [2000, 400])],
)
def test_a_proportional_resource_changes_nothing(multiples, capacity):
    alone = answer((1,), [400])
    found = answer(multiples, capacity)
    assert (found.value, found.bound) == (alone.value, alone.bound)


def test_a_nearly_proportional_resource_leaves_no_gap_to_speak_of():
    found = answer((1, 4, 16), [400, 1601, 6500], jitter=1)
    assert found.bound - found.value <= found.value // 10_000


def test_no_step_is_taken_where_the_curvature_is_rounding_errors() -> None:
    """Met in a round of 17 jobs on three types of GPUs, all of them settled: the trace is zero, the matrix singular."""
    use = np.array([[0.5, 0.5], [0.5, 0.0], [0.0, 0.5], [0.0, 0.0]])
    dual = smoothed_dual._dual(np.array([1.0, 0.9]), use, np.array([0]), 1.0)
    error = 4.7e-14
    curve = error * np.array(
        [[-2.0, 1.0, -2.0, 0.0], [1.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 2.0]]
    )
    prices, slope = np.array([1.1, 0.1, 1.4, 1.9]), np.array([2e-16, 1e-16, 0.0, 0.0])
    assert smoothed_dual._moved(dual, prices, 3e-4, 1.0, slope, curve, 1e-9) is None
