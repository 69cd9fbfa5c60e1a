"""The same call with the same seed gives the same result, but for the time it took."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from muri_opt import Limits, Result, result_json, solve_round, write_round
from muri_opt.rounds import Stats
from muri_opt.rounds.generate.families import generate
from muri_opt.solve.solvers import BACKENDS, stop_workers

ROUND = generate("tenants", jobs=14, nodes=3, seed=4)
SPECS = ["srtf", "max-min:nodes=fewest", "las:objective=lexicographic"]
METHODS = ["heuristic", "auto", "exact", *(f"exact@{name}" for name in BACKENDS if name != "exhaustive")]


def untimed(result: Result) -> Result:
    return msgspec.structs.replace(result, stats=Stats())


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("method", METHODS)
def test_the_same_call_gives_the_same_result(spec: str, method: str) -> None:
    limits = Limits(seconds=60, seed=3)
    first = solve_round(ROUND, spec, method, limits)
    if method != "heuristic":
        assert first.termination.reason == "OPTIMAL"
    assert untimed(solve_round(ROUND, spec, method, limits)) == untimed(first)


def test_a_new_worker_gives_the_same_result() -> None:
    first = solve_round(ROUND, "srtf:nodes=fewest", "exact", Limits(seconds=60))
    stop_workers()
    assert untimed(solve_round(ROUND, "srtf:nodes=fewest", "exact", Limits(seconds=60))) == untimed(first)


SCRIPT = """
import sys
from muri_opt import Limits, read_round, result_json, solve_round
import msgspec
result = solve_round(read_round(sys.argv[1]), "max-min:nodes=fewest", "auto", Limits(seconds=60))
print(result_json(msgspec.structs.replace(result, stats=type(result.stats)())))
"""


def test_the_order_of_python_sets_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "round.json"
    write_round(ROUND, path)
    told = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(path)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    here = untimed(solve_round(ROUND, "max-min:nodes=fewest", "auto", Limits(seconds=60)))
    assert told == {result_json(here) + "\n"}
