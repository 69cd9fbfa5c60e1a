"""The derivative that Sia's fits are made with: against differences of the objective, and against Sia's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from math import log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.common.links import ROOT
from examples.sia.fits import Cache, gradient_of

DRAWN = 40
STEP = 1e-6


def drawn(seed: int) -> tuple[list[Any], list[float]]:
    """Return measurements (nodes, replicas, batches, seconds of computation and of a step), and parameters."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 9))
    nodes = rng.integers(1, rng.integers(2, 4), count)
    replicas = nodes * rng.integers(1, 4, count)
    batches = rng.integers(8, 200, count)
    steps = rng.uniform(0.1, 2.0, count)
    computed = steps * rng.uniform(0.2, 0.99, count)
    measured = [nodes.tolist(), replicas.tolist(), batches.tolist(), computed.tolist(), steps.tolist()]
    return measured, [*rng.uniform(0.01, 0.5, 6).tolist(), float(rng.uniform(1.2, 4.0))]


def objective(params: list[float], measured: list[Any]) -> float:
    """Return the errors of the predicted logarithms of times, and the two penalties, one measurement at a time."""
    alpha_c, beta_c, alpha_n, beta_n, alpha_r, beta_r, gamma = params
    of_computation, of_steps = [], []
    for nodes, replicas, batch, computed, step in zip(*measured, strict=True):
        links = (alpha_n, beta_n) if nodes > 1 else (alpha_r, beta_r) if replicas > 1 else (1e-8, 1e-8)
        accum, network = alpha_c + beta_c * batch, links[0] + links[1] * max(replicas - 2, 1e-8)
        of_computation.append((log(accum) - log(computed)) ** 2)
        of_steps.append((log(accum**gamma + network**gamma) / gamma - log(step)) ** 2)
    errors = sum(sqrt(sum(squares) / len(squares)) for squares in (of_computation, of_steps))
    return errors + 1e-3 * (gamma - 1) ** 2 + 1e-2 * ((beta_n / alpha_n) ** 2 + (beta_r / alpha_r) ** 2)


@pytest.mark.parametrize("seed", range(DRAWN))
def test_the_derivative_is_that_of_the_objective(seed: int) -> None:
    measured, params = drawn(seed)
    found = gradient_of(None)(np.array(params), *map(np.array, measured))
    for place in range(len(params)):
        above, below = params.copy(), params.copy()
        above[place] += STEP
        below[place] -= STEP
        slope = (objective(above, measured) - objective(below, measured)) / (2 * STEP)
        assert found[place] == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_what_was_worked_out_is_kept_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "fits.json"
    cache = Cache(file)
    assert cache.get("a", lambda: [1.5]) == [1.5]
    assert cache.get("a", lambda: [2.5]) == [1.5]
    cache.save()
    assert Cache(file).get("a", lambda: [2.5]) == [1.5]


THEIRS = """
import json, sys
sys.path.insert(0, sys.argv[1])
import autograd, goodput, numpy
from types import SimpleNamespace
from examples.sia.fits import gradient_of
for line in sys.stdin:
    measured = [numpy.array(column) for column in json.loads(line)]
    fits = []
    for kind in (autograd, SimpleNamespace(grad=gradient_of, numpy=numpy)):
        goodput.autograd = kind
        fits.append([float(number).hex() for number in goodput.fit_perf_params(*measured)])
    print(json.dumps(fits))
"""

if os.environ.get("MURI_OPT_SIA"):  # a test of what is not there is not collected

    def test_fits_are_those_of_sia_to_the_last_bit() -> None:
        folder = Path(os.environ["MURI_OPT_SIA"]) / "sia-simulator"
        python = os.environ.get("MURI_OPT_SIA_PYTHON", sys.executable)
        asked = "\n".join(json.dumps(drawn(seed)[0]) for seed in range(DRAWN))
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [python, "-W", "ignore", "-c", THEIRS, str(folder)]
        ended = subprocess.run(command, input=asked, env=environment, capture_output=True, text=True, check=True)
        pairs = [json.loads(line) for line in ended.stdout.splitlines()]
        assert len(pairs) == DRAWN
        assert all(theirs == ours for theirs, ours in pairs)
