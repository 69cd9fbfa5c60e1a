"""The kernel: small enough to read, true of every program, and not to be deceived."""

import ast
import copy
import itertools
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from muri_opt.verify import kernel

SOURCE = Path(kernel.__file__)


def program(*, maximise=True, right=7):
    """Return a knapsack of three columns with its best point, 5 + 4, and a proof by one split of the first column."""
    return {
        "format": kernel.FORMAT,
        "maximise": maximise,
        "value": 9,
        "bound": 9,
        "denominator": 4,
        "columns": [
            {"name": name, "lower": 0, "upper": 1, "objective": worth}
            for name, worth in (("x_0", 5), ("x_1", 4), ("x_2", 3))
        ],
        "rows": [{"name": "room", "sense": "<=", "right": right, "columns": [0, 1, 2], "coefficients": [4, 3, 2]}],
        "point": [1, 1, 0],
        "proof": {"multipliers": {"0": 5}},
    }


def test_the_kernel_is_small_and_imports_nothing_of_the_package():
    text = SOURCE.read_text()
    assert len(text.splitlines()) <= 150
    imported = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(node.module)
    assert imported == {"json", "sys", "typing", "collections.abc"}


def test_it_runs_as_a_file_of_its_own(tmp_path):
    (tmp_path / "kernel.py").write_text(SOURCE.read_text())
    (tmp_path / "certificate.json").write_text(json.dumps(program()))
    told = subprocess.run(
        [sys.executable, "-I", "kernel.py", "certificate.json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "feasible with value 9; no point is better than 9\n"


def test_a_bound_by_hand():
    # 5/4 of "room": 35/4 for its right side, reduced costs 0, 1/4 and 1/2, together 9 1/2, and values are whole.
    assert kernel.check(program()) == (9, 9)


def test_splits_prove_what_multipliers_alone_do_not():
    """With 8 of room the relaxation reaches 10 3/4; the best point has 9, and taking all three would need 9."""
    certificate = program(right=8)
    with pytest.raises(kernel.Refuted, match="bound: said 9, proved is 10"):
        kernel.check(certificate)
    both = {"column": 2, "at": 0, "below": {"multipliers": {}}, "above": {"multipliers": {"0": 12}}}
    first = {"column": 1, "at": 0, "below": {"multipliers": {}}, "above": both}
    tree = {"column": 0, "at": 0, "below": {"multipliers": {}}, "above": first}
    assert kernel.check(certificate | {"proof": tree}) == (9, 9)


def mutants():
    """Yield a name and a certificate that claims something false, or is none."""

    def changed(path, value):
        copied = copy.deepcopy(program())
        place = copied
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        return copied

    yield "another format", changed(["format"], "muri-opt/program/0")
    yield "a value that the point has not", changed(["value"], 10)
    yield "a bound below the proof", changed(["bound"], 8)
    yield "a point outside the row", changed(["point"], [1, 1, 1])
    yield "a point outside its bounds", changed(["point"], [2, 0, 0])
    yield "a point of fractions", changed(["point"], [1, 1, 0.0])
    yield "a point of truth values", changed(["point"], [True, True, False])
    yield "a point too short", changed(["point"], [1, 1])
    yield "a multiplier of the wrong sign", changed(["proof", "multipliers", "0"], -5)
    yield "a multiplier too small", changed(["proof", "multipliers", "0"], 1)
    yield "a multiplier of no row", changed(["proof", "multipliers"], {"0": 5, "1": 1})
    yield "a fractional multiplier", changed(["proof", "multipliers", "0"], 5.0)
    yield "no multipliers", changed(["proof", "multipliers"], {})
    yield "an empty proof", changed(["proof"], {})
    yield "a split without one side", changed(["proof"], {"column": 0, "at": 0, "below": {"multipliers": {"0": 5}}})
    yield (
        "a split on a column that is not there",
        changed(["proof"], {"column": 3, "at": 0, "below": {"multipliers": {}}, "above": {"multipliers": {}}}),
    )
    yield "a split at a fraction", changed(["proof"], {"column": 0, "at": 0.5, "below": {}, "above": {}})
    yield "denominator zero", changed(["denominator"], 0)
    yield "a negative denominator", changed(["denominator"], -4)
    yield "a larger denominator", changed(["denominator"], 40)
    yield "an infinite bound", changed(["bound"], float("inf"))
    yield "a fractional coefficient", changed(["rows", 0, "coefficients"], [4, 3.5, 2])
    yield "an unknown sense", changed(["rows", 0, "sense"], "<")
    yield "a row without columns of its coefficients", changed(["rows", 0, "columns"], [0, 1])
    yield "a smaller right side", changed(["rows", 0, "right"], 6)
    yield "no rows", changed(["rows"], [])
    yield "not a record", []


@pytest.mark.parametrize(("name", "certificate"), [pytest.param(*mutant, id=mutant[0]) for mutant in mutants()])
def test_every_mutant_is_rejected(name, certificate):
    with pytest.raises(kernel.Refuted):
        kernel.check(certificate)


@given(st.randoms(use_true_random=False))
def test_no_multipliers_prove_a_bound_below_the_best_point(generator: random.Random):
    """Whatever the proof says, the bound it shows holds for every point of the box that keeps the rows."""
    columns = [
        {"name": f"x_{j}", "lower": low, "upper": low + generator.randint(0, 2), "objective": generator.randint(-5, 9)}
        for j, low in enumerate(generator.randint(-1, 1) for _ in range(3))
    ]
    rows = [
        {
            "name": f"r_{i}",
            "sense": generator.choice(["<=", ">=", "="]),
            "right": generator.randint(-3, 6),
            "columns": [0, 1, 2],
            "coefficients": [generator.randint(-3, 4) for _ in range(3)],
        }
        for i in range(2)
    ]
    allowed = {"<=": (0, 9), ">=": (-9, 0), "=": (-9, 9)}

    def leaf():
        return {"multipliers": {str(i): generator.randint(*allowed[row["sense"]]) for i, row in enumerate(rows)}}

    proof = leaf()
    if generator.random() < 0.5:
        at = generator.randint(-2, 3)
        proof = {"column": generator.randrange(3), "at": at, "below": leaf(), "above": leaf()}
    box = [(column["lower"], column["upper"]) for column in columns]
    sign = generator.choice([1, -1])
    bound = kernel.proved(proof, sign, columns, rows, box, generator.randint(1, 4))
    for point in itertools.product(*(range(low, high + 1) for low, high in box)):
        try:
            value = kernel.point_value(columns, rows, list(point))
        except kernel.Refuted:
            continue
        assert sign * value <= bound
