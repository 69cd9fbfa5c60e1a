"""``muri-opt compare``: the table, resuming, faults of the input and of runs, contradictions, pictures, the bar."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from comparison_library import own_library, spoil

ROOT = Path(__file__).resolve().parents[2]
ROUND = "generate:gangs?jobs=4&nodes=1&count=2"


@pytest.fixture
def here(tmp_path):
    """The options that keep a study in this process and its results in the test's folder."""
    return ("--engine", "here", "--folder", tmp_path / "study")


def test_the_table_and_what_is_known(run, here, tmp_path):
    words = (
        "--policies",
        "fifo:objective=weighted,nodes=fewest,srtf",
        "--policies",
        "afs-l",
        "--methods",
        "heuristic,exact@highs",
    )
    code, out, err = run("compare", ROUND, *words, *here)
    assert (code, err) == (0, "")
    head, *lines = out.splitlines()
    assert head.split()[:7] == ["policy", "method", "runs", "refused", "optimal", "claimed", "best"]
    assert [line.split()[:4] for line in lines[:6]] == [
        [policy, method, "2", "2" if policy == "afs-l" else "0"]
        for policy in ("fifo:objective=weighted,nodes=fewest", "srtf", "afs-l")
        for method in ("heuristic", "exact@highs")
    ]
    assert "optima proved: 4 of 4" in out
    assert "pairs refused by all methods: 2 (results.csv says why)" in out
    assert lines[-1] == f"12 runs in {tmp_path / 'study'}: results.csv, comparison.md"
    assert run("compare", ROUND, *words, *here) == (0, out, "")


def test_json_has_every_run_and_the_summary(run, here):
    code, out, err = run("compare", "toy/eight-gangs", "--methods", "heuristic", "--json", *here)
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert {row["instance"] for row in told["runs"]} == {"toy/eight-gangs"}
    assert all(row["known_value"] is not None for row in told["runs"])
    assert told["summary"]["pairs"] == len(told["runs"])
    assert [one["method"] for one in told["summary"]["methods"]] == ["heuristic"] * len(told["runs"])


def test_report_figures_and_parquet(run, here, tmp_path):
    words = ("--policies", "fifo,srtf", "--methods", "heuristic,auto", "--parquet")
    pictures = ("--report", tmp_path / "gaps.html", "--figures", tmp_path / "figures")
    code, _, err = run("compare", ROUND, *words, *pictures, *here)
    assert (code, err) == (0, "")
    assert (tmp_path / "gaps.html").read_text().startswith("<!")
    assert sorted(path.suffix for path in (tmp_path / "figures").iterdir() if path.stem == "profile") == [
        ".png",
        ".svg",
    ]
    assert (tmp_path / "study" / "results.parquet").read_bytes()[:4] == b"PAR1"


def test_a_contradiction_is_told_and_ends_with_code_1(run, here, tmp_path):
    policy = "fifo:objective=weighted,preempt=yes"
    words = ("compare", "small/gangs-01", "--policies", policy, "--methods", "heuristic", *here)
    assert run(*words)[0] == 0
    lines = tmp_path / "study" / "results.jsonl"
    lines.write_text(lines.read_text().replace('"value":45', '"value":1000'))
    code, out, err = run(*words)
    assert (code, err) == (1, "")
    reaches = f"small/gangs-01, {policy}: heuristic reaches 1000"
    assert f"contradictions:\n  {reaches}, and heuristic says that 80 is the most" in out
    assert f"{reaches}, and the library says that 80 is the most" in out
    assert len(json.loads(run(*words, "--json")[1])["summary"]["contradictions"]) == 2


def test_a_stored_optimum_that_does_not_verify_ends_with_code_1(run, here, tmp_path):
    library = own_library(tmp_path / "library", "small/gangs-01")
    spoil(library, "small/gangs-01", "fifo", value=81, bound=81)
    words = ("compare", "small", "--library", library, *here)
    code, out, err = run(*words)
    assert (code, err) == (1, "")
    assert out.startswith("stored in the library and not true: 1\n  small/gangs-01, fifo: ")
    code, out, _ = run(*words, "--json")
    assert (code, json.loads(out)["stored"][0]["instance"]) == (1, "small/gangs-01")
    assert not (tmp_path / "study").exists()


def test_a_run_that_breaks_ends_with_code_5(run, here, monkeypatch):
    monkeypatch.setattr("muri_opt.studies.compare.runs.solve_round", lambda *_: 1 // 0)
    code, out, err = run("compare", "generate:gangs?jobs=2&count=12", "--policies", "fifo", "--methods", "auto", *here)
    assert (code, err) == (5, "")
    assert "runs that failed: 12\n" in out
    assert "seed=0, fifo, auto: ZeroDivisionError" in out
    assert "  ... and 2 more in comparison.md\n" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("smal",), "rounds: found 'smal' (did you mean 'small'?)"),
        (("generate:mury",), "family to generate: found 'mury' (did you mean 'muri'?)"),
        ((ROUND,), "policies: found 'stored' for generate:gangs"),
        ((ROUND, "--policies", "fifi"), "policy: found 'fifi' (did you mean 'fifo'?)"),
        ((ROUND, "--policies", "fifo", "--methods", "exact@higs"), "method: found 'exact@higs'"),
        ((ROUND, "--policies", "fifo", "--seconds", "-1"), "limits.seconds: found -1"),
        ((ROUND, "--policies", "fifo", "--report", "/nowhere/at/all.html"), "/nowhere/at/all.html: found No such file"),
        ((ROUND, "--policies", "fifo", "--figures", "/dev/null/figures"), "/dev/null/figures: found"),
        (("small", "--library", "/nowhere"), "library: found /nowhere"),
        ((), "the following arguments are required: INSTANCES"),
    ],
)
def test_bad_input(refused, here, tmp_path, words, said):
    assert said in refused("compare", *words, *here)
    assert not (tmp_path / "study").exists()


def test_results_of_another_version(refused, here, tmp_path):
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "results.jsonl").write_text('{"format":"muri-opt/comparison/1","version":"0.0.1"}\n')
    told = refused("compare", ROUND, "--policies", "fifo", *here)
    assert "results.jsonl: found results of version '0.0.1'; allowed: those of version" in told


def test_a_bar_is_for_terminals_only(tmp_path):
    ours, theirs = pty.openpty()
    argv = [sys.executable, "-m", "muri_opt", "compare", ROUND, "--policies", "fifo", "--methods", "heuristic"]
    argv += ["--engine", "here", "--folder", str(tmp_path / "study")]
    ended = subprocess.run(argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=theirs, text=True, timeout=900, check=False)
    os.close(theirs)
    told = os.read(ours, 10_000).decode()
    os.close(ours)
    assert ended.returncode == 0
    assert "\x1b" not in ended.stdout
    assert [f"] {over} of 2 runs" in told for over in range(3)] == [True] * 3
