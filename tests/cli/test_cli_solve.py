"""``muri-opt solve``: the text, the JSON, the files it writes."""

import inspect
import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from muri_opt import Limits, read_round, solve_round
from muri_opt.cli.limits import limits_from
from muri_opt.cli.main import build_parser
from muri_opt.rounds.generate.families import generate
from muri_opt.rounds.round import canonical_json

RESULT_KEYS = [
    *("format", "fingerprint", "policy", "rules", "method", "value", "bound", "gap", "value_unit"),
    *("termination", "decision", "changes", "certificate", "stats"),
]


def test_text_says_who_runs_who_waits_and_who_proved_it(run, toy):
    code, out, err = run("solve", toy, "--policy", "srtf")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "toy/eight-gangs: 8 jobs, 24 GPUs on 3 nodes"
    assert "running: 6 jobs on 21 of 24 GPUs" in lines
    assert "waiting: 2 jobs (1 for quota, 1 for fragmentation)" in lines
    assert any(line.split()[:2] == ["t5", "quota"] for line in lines)
    assert any("and raise the quota of its tenant by 5 GPUs" in line for line in lines)
    told = dict(line.split(maxsplit=1) for line in lines[-8:])
    assert list(told) == ["policy", "value", "bound", "gap", "termination", "proof", "changes", "seconds"]
    assert told["policy"] == "srtf, method auto"
    assert told["value"].startswith("114 (GPUs weighted by rank")
    assert (told["bound"], told["gap"]) == ("114", "0 %")
    assert told["termination"].startswith("OPTIMAL")
    assert told["proof"].startswith("bound 114, ")


def test_json_is_the_fixed_format_and_nothing_else(run, toy):
    code, out, _ = run("solve", toy, "--policy", "srtf", "--json")
    told = json.loads(out)
    assert code == 0
    assert list(told) == RESULT_KEYS
    assert told["format"] == "muri-opt/result/2"
    assert told["fingerprint"] == read_round(toy).fingerprint
    assert list(told["termination"]) == ["reason", "limit", "detail"]
    assert list(told["decision"]) == ["assignments", "waiting"]
    assert list(told["decision"]["assignments"][0]) == ["jobs", "order", "plan", "gpus", "cpus", "period_seconds"]
    assert list(told["decision"]["waiting"][0]) == ["job", "reason", "detail", "remedy", "changes"]
    assert list(told["certificate"]) == ["feasible", "violations", "proof", "checked_bound", "evidence"]
    assert {"build_seconds", "solve_seconds", "verify_seconds", "backend"} <= set(told["stats"])


@pytest.mark.parametrize("mode", [[], ["--json"]])
def test_output_has_the_result_in_both_modes(run, toy, tmp_path, mode):
    path = tmp_path / "result.json"
    _, out, _ = run("solve", toy, "--policy", "srtf", "--output", path, *mode)
    told = json.loads(path.read_text())
    assert list(told) == RESULT_KEYS
    assert told["value"] == 114
    assert out.startswith("{") == bool(mode)
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]


def test_picture_has_every_assignment(run, toy, tmp_path):
    path = tmp_path / "round.svg"
    code, out, _ = run("solve", toy, "--policy", "srtf", "--json", "--picture", path)
    shares = sum(len(assignment["gpus"]) for assignment in json.loads(out)["decision"]["assignments"])
    blocks = ET.XML(path.read_text()).findall(".//*[@class='block']")
    assert code == 0
    assert len(blocks) == shares


def test_method_and_limits_reach_the_solver(run, toy):
    _, out, _ = run("solve", toy, "--policy", "srtf", "--method", "heuristic", "--json")
    told = json.loads(out)
    assert (told["method"], told["value"], told["termination"]["limit"]) == ("heuristic", 102, "HEURISTIC")
    _, out, _ = run("solve", toy, "--policy", "srtf", "--method", "exact@exhaustive", "--gap", "0", "--json")
    assert json.loads(out)["stats"]["backend"] == "exhaustive"


def test_a_wide_gap_is_enough(run, toy):
    _, out, _ = run("solve", toy, "--policy", "srtf", "--gap", "1", "--seed", "3", "--threads", "1", "--json")
    told = json.loads(out)
    assert told["value"] >= 102
    assert told["termination"]["reason"] in ("FEASIBLE", "OPTIMAL")


def test_a_dash_reads_the_round_from_the_standard_input(run, toy, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path(toy).read_bytes())))
    code, out, _ = run("solve", "-", "--policy", "srtf", "--method", "heuristic")
    assert code == 0
    assert out.startswith("toy/eight-gangs: 8 jobs")


def test_a_large_round_is_shortened_unless_all_is_asked_for(run, tmp_path):
    path = tmp_path / "large.json"
    path.write_bytes(canonical_json(generate("gangs", jobs=300, nodes=20, seed=1)))
    _, short, _ = run("solve", path, "--method", "heuristic")
    _, whole, _ = run("solve", path, "--method", "heuristic", "--all")
    assert short.count("more (--all lists them)") == 2
    assert "more (--all" not in whole
    running = next(line for line in whole.splitlines() if line.startswith("running:"))
    assert running in short
    assert sum(f"  job-{j} " in whole for j in range(300)) == 300
    assert 20 <= sum(f"  job-{j} " in short for j in range(300)) <= 40


def test_an_empty_round_has_an_empty_decision(run, round_file):
    code, out, _ = run("solve", round_file(jobs=[]))
    assert code == 0
    assert "running: none" in out
    assert "waiting: none" in out
    assert "OPTIMAL" in out


def test_a_job_larger_than_the_cluster_waits(run, round_file):
    path = round_file(jobs=[{"id": "giant", "gpus": 9, "submitted": 0}])
    code, out, _ = run("solve", path)
    assert code == 0
    assert "giant  capacity  asks for 9 GPUs; the empty cluster has 8" in out


def test_defaults_are_those_of_the_library():
    arguments = build_parser().parse_args(["solve", "round.json"])
    default = inspect.signature(solve_round).parameters
    assert arguments.policy == default["policy"].default
    assert arguments.method == default["method"].default
    limits = Limits()
    assert (limits_from(arguments, seconds=limits.seconds).seconds, arguments.gap) == (limits.seconds, limits.gap)
    assert (arguments.threads, arguments.seed) == (limits.threads, limits.seed)
