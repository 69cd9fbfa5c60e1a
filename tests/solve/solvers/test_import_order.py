"""The solver libraries share one process: they load in every order, and not before they are needed."""

import subprocess
import sys
from itertools import permutations

import pytest

LIBRARIES = ("ortools.sat.python.cp_model", "highspy", "pulp")
ORDERS = [
    pytest.param(order, marks=() if order in (LIBRARIES, LIBRARIES[::-1]) else pytest.mark.slow)
    for order in permutations(LIBRARIES)
]
"""In one order and its reverse each library is loaded before each other."""
SOLVE = """
from muri_opt.solve.solvers import BACKENDS, backend_named
from muri_opt.modelling import ModelBuilder
from muri_opt.rounds import Limits

builder = ModelBuilder("tiny")
x = builder.add_columns("x", [0, 1, 2])
builder.add_rows("r", [0], entries=([0, 0, 0], x, [5, 5, 5]), sense="<=", rhs=9)
model = builder.finish(maximise=True, columns=x, coefficients=[3, 4, 5])
print({name: backend_named(name).solve(model, Limits(seconds=60)).value for name in BACKENDS})
"""


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_solvers_work_whatever_was_imported_first(order):
    ran = python("\n".join(f"import {library}" for library in order) + SOLVE)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == "{'highs': 5, 'cp-sat': 5, 'cbc': 5, 'scip': 5, 'exhaustive': 5}\n"


def test_importing_the_backends_loads_no_solver():
    ran = python("import sys, muri_opt.solve.solvers; print(*sorted({name.partition('.')[0] for name in sys.modules}))")
    assert ran.returncode == 0, ran.stderr
    loaded = set(ran.stdout.split())
    assert "muri_opt" in loaded
    assert not loaded & {"ortools", "highspy", "pulp", "google", "pybind11_abseil"}
