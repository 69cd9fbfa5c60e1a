"""A budget of work: the same bytes in every process, however slow it is and whatever it solved before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from muri_opt import Limit, Limits, Reason, Result, Round, solve_round
from muri_opt.cli.main import main
from muri_opt.rounds import Stats, result_json
from muri_opt.rounds.generate.families import generate
from muri_opt.solve.defragmentation import defragment
from muri_opt.solve.solvers import BACKENDS
from muri_opt.studies.explain import elastic_gap, grouping_loss

CASES = [
    ("interleaving", 12, 3, "muri-s", 0.1),
    ("elastic", 60, 10, "afs-l", 0.1),
    ("plans", 30, 8, "rubick", 0.1),
    ("philly", 30, 6, "philly", 0.1),
    ("gangs", 40, 8, "srtf:nodes=fewest", 0.05),
]
SCRIPT = """
import sys
from tests.solve.test_work import CASES, drawn, shown
order = CASES if sys.argv[1] == "forwards" else CASES[::-1]
answers = {case: shown(drawn(case), case) for case in order}
print("".join(answers[case] for case in CASES))
"""


def drawn(case: tuple[str, int, int, str, float]) -> Round:
    family, jobs, nodes, *_ = case
    return generate(family, seed=2, jobs=jobs, nodes=nodes)


def shown(round_: Round, case: tuple[str, int, int, str, float]) -> str:
    """Return the JSON text of both methods' results, without seconds."""
    results = [solve_round(round_, case[3], method, Limits(work=case[4])) for method in ("auto", "exact")]
    return "".join(text_of(result) for result in results)


def text_of(result: Result) -> str:
    sizes = Stats(backend=result.stats.backend, columns=result.stats.columns, rows=result.stats.rows)
    return result_json(msgspec.structs.replace(result, stats=sizes))


@contextmanager
def spinning(count: int) -> Iterator[None]:
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def in_a_new_process(order: str, hash_seed: str) -> str:
    told = subprocess.run(
        [sys.executable, "-c", SCRIPT, order],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(["", *sys.path])},
        capture_output=True,
        text=True,
        check=True,
    )
    return told.stdout


@pytest.mark.slow
def test_other_processes_give_the_same_bytes_in_any_order_and_under_load() -> None:
    quiet = in_a_new_process("forwards", "1")
    with spinning(os.cpu_count() or 1):
        loaded = in_a_new_process("backwards", "7")
    assert quiet == loaded
    assert quiet.count('"WORK"') >= 3, "the work must end some of the solves, or nothing was tried"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[3])
def test_no_clock_is_looked_at_for_a_decision(case, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bytes when, here, an hour seems to pass at every look at a clock."""
    round_ = drawn(case)
    told = shown(round_, case)
    hours = iter(range(10**9))
    for clock in ("monotonic", "perf_counter", "time"):
        monkeypatch.setattr(time, clock, lambda: 3_600.0 * next(hours))
    assert shown(round_, case) == told


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_every_backend_ends_with_its_work_and_does_the_same_again(backend: str) -> None:
    jobs, nodes = (6, 2) if backend == "exhaustive" else (20, 4)
    round_ = generate("gangs", seed=5, jobs=jobs, nodes=nodes)
    texts = {}
    for work in (0.002, 0.05, 5.0):
        first, again = (solve_round(round_, "srtf", f"exact@{backend}", Limits(work=work)) for _ in range(2))
        assert text_of(first) == text_of(again)
        assert first.termination.limit in (None, Limit.WORK, Limit.RELAXATION)
        texts[work] = first
    assert texts[5.0].value is not None
    assert texts[5.0].value >= (texts[0.002].value or 0)


def test_too_little_work_is_a_result_and_not_an_error() -> None:
    round_ = generate("gangs", seed=5, jobs=30, nodes=6)
    nothing = solve_round(round_, "srtf", "exact@highs", Limits(work=1e-6))
    assert (nothing.termination.reason, nothing.termination.limit) == (Reason.NO_SOLUTION, Limit.WORK)
    kept = solve_round(round_, "srtf", "auto", Limits(work=1e-6))
    assert kept.value == solve_round(round_, "srtf", "heuristic").value


def test_seconds_beside_work_are_a_guard() -> None:
    round_ = generate("gangs", seed=5, jobs=30, nodes=6)
    late = solve_round(round_, "srtf", "exact", Limits(work=1e6, seconds=0))
    assert late.termination.limit is Limit.TIME


def test_other_searches_take_work_too() -> None:
    round_ = generate("interleaving", seed=1, jobs=10, nodes=2)
    assert grouping_loss(round_, "muri-s", Limits(work=0.2)) == grouping_loss(round_, "muri-s", Limits(work=0.2))
    elastic = generate("elastic", seed=1, jobs=5, nodes=1)
    little, more = elastic_gap(elastic, work=0.02), elastic_gap(elastic, work=60.0)
    assert little == elastic_gap(elastic, work=0.02)
    assert more.proved
    assert little.bound_seconds <= more.bound_seconds
    crowded = generate("philly", seed=3, jobs=30, nodes=6)
    moves = [defragment(crowded, nodes=1, limits=Limits(work=0.05)) for _ in range(2)]
    assert moves[0] == moves[1]


def test_the_command_line_has_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    round_ = tmp_path / "round.json"
    assert main(["generate", "gangs", "--jobs", "40", "--nodes", "8", "--output", str(round_)]) == 0
    solve = ["solve", str(round_), "--policy", "srtf:nodes=fewest", "--method", "exact", "--json"]
    alone = [sys.executable, "-m", "muri_opt", *solve, "--work", "0.05"]
    told = subprocess.run(alone, capture_output=True, text=True, check=False)
    capsys.readouterr()
    assert main([*solve, "--work", "0.05"]) == told.returncode
    first, second = json.loads(told.stdout), json.loads(capsys.readouterr().out)
    assert first["termination"]["limit"] == "WORK"
    assert {**first, "stats": None} == {**second, "stats": None}
    for wrong in ("0", "-1", "nan", "inf"):
        assert main([*solve, f"--work={wrong}"]) == 2
        assert "limits.work: found" in capsys.readouterr().err
