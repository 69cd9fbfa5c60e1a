"""Time of building a set-packing model from arrays and handing it to each backend, against PuLP's expressions.

Run with ``python benchmarks/model_building.py``. Nothing is solved. Every number is the median of seven, all from this
run; the ratios are what to look at, the seconds depend on the machine.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Model, ModelBuilder
from muri_opt.solve.solvers import BACKENDS, backend_named, check_capabilities
from muri_opt.solve.solvers.cbc import executable

COLUMNS = 10_000
ROWS = 2_000
PER_COLUMN = 4
REPETITIONS = 7


class Packing:
    """Which rows each column uses, and what it is worth."""

    def __init__(self) -> None:
        draw = np.random.default_rng(1)
        self.rows: NDArray[np.int64] = np.argsort(draw.random((COLUMNS, ROWS)), axis=1)[:, :PER_COLUMN].ravel()
        self.columns: NDArray[np.int64] = np.repeat(np.arange(COLUMNS), PER_COLUMN)
        self.worth: NDArray[np.int64] = draw.integers(1, 1000, COLUMNS)

    def from_arrays(self) -> Model:
        """Return the model, built family by family."""
        builder = ModelBuilder("packing")
        x = builder.add_columns("x", np.arange(COLUMNS))
        builder.add_rows("use", np.arange(ROWS), entries=(self.rows, self.columns, 1), sense="<=", rhs=1)
        return builder.finish(maximise=True, columns=x, coefficients=self.worth)

    def from_expressions(self) -> object:
        """Return the same model as a PuLP problem, built term by term."""
        import pulp

        problem = pulp.LpProblem("packing", pulp.LpMaximize)
        x = [pulp.LpVariable(f"x_{j}", cat=pulp.LpBinary) for j in range(COLUMNS)]
        problem += pulp.lpSum(worth * x[j] for j, worth in enumerate(self.worth.tolist()))
        members: list[list[int]] = [[] for _ in range(ROWS)]
        for row, column in zip(self.rows.tolist(), self.columns.tolist(), strict=True):
            members[row].append(column)
        for row, used in enumerate(members):
            problem += pulp.lpSum(x[j] for j in used) <= 1, f"use_{row}"
        return problem


def seconds(action: Callable[[], object]) -> float:
    times = []
    for _ in range(REPETITIONS):
        began = perf_counter()
        action()
        times.append(perf_counter() - began)
    return median(times)


def hand_over(packing: Packing, name: str) -> Callable[[], object]:
    backend = backend_named(name)
    backend.version()  # loading the solver's library is no part of building a model

    def action() -> object:
        model = packing.from_arrays()
        check_capabilities(backend, model)
        return backend.load(model)

    return action


def read_by_cbc(packing: Packing) -> Callable[[], object]:
    load = hand_over(packing, "cbc")

    def action() -> object:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.mps"
            path.write_text(str(load()))
            return subprocess.run([executable(), str(path), "-quit"], stdout=subprocess.DEVNULL, check=True)

    return action


def main() -> None:
    packing = Packing()
    able = [name for name, kind in BACKENDS.items() if kind.capabilities.most_columns is None]
    cases: list[tuple[str, Callable[[], object]]] = [("PuLP expressions, build only", packing.from_expressions)]
    cases.append(("arrays, build only", packing.from_arrays))
    cases += [(f"arrays, handed to {name}", hand_over(packing, name)) for name in able]
    cases.append(("arrays, handed to cbc and read by it", read_by_cbc(packing)))
    print(f"{COLUMNS:,} columns, {ROWS:,} rows, {COLUMNS * PER_COLUMN:,} non-zeros; medians of {REPETITIONS}")
    print(f"{'':<38}{'seconds':>10}{'PuLP / this':>13}")
    reference = None
    for name, action in cases:
        took = seconds(action)
        reference = reference or took
        print(f"{name:<38}{took:>10.4f}{reference / took:>12.1f}x")


if __name__ == "__main__":
    main()
