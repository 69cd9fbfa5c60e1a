"""A policy in a file of one's own, by ``module:attribute``: in every command that takes policies, and in the kit."""

from __future__ import annotations

import csv
import json

import pytest

from muri_opt.testing import check_allocator, published

SOURCE = """
from muri_opt.systems.gangs import list_decision

def smallest(round_):
    return list_decision(round_, sorted(range(len(round_.jobs)), key=lambda place: round_.jobs[place].gpus))

def careless(round_):
    return list_decision(round_, sorted(range(len(round_.jobs)), key=lambda place: round_.jobs[place].submitted / 2))

def fails(round_):
    raise ValueError("not today")
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return the name of a module that nobody has imported, in the folder where commands run, and its file."""
    name = f"own_{abs(hash(tmp_path)):x}"
    path = tmp_path / f"{name}.py"
    path.write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return name


def test_compare_takes_it_with_intervals(run, own, tmp_path):
    rounds = "generate:gangs?jobs=6&nodes=2&count=4&seed=1"
    words = ("--policies", f"srtf,{own}:smallest", "--methods", "heuristic,exact", "--work", 5, "--engine", "here")
    code, out, err = run("compare", rounds, *words, "--json", "--report", "gaps.html")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert {row["policy"] for row in told["runs"]} == {"srtf", f"{own}:smallest"}
    (mine,) = (one for one in told["summary"]["repeats"] if one["policy"] != "srtf" and one["method"] == "heuristic")
    assert mine["rounds"] == mine["against"]["pairs"] == 4
    assert mine["loss"]["low"] <= mine["loss"]["mean"] <= mine["loss"]["high"]
    assert "<h2>Intervals</h2>" in (tmp_path / "gaps.html").read_text()
    code, out, _ = run("compare", rounds, *words)
    assert code == 0
    assert "Wilcoxon signed-rank test" in out


def test_replay_takes_it_with_intervals(run, own, tmp_path):
    draws = "generate:tiresias?jobs=6&count=3&seed=1&most-gpus=16"
    words = ("replay", draws, "--policy", f"fifo,{own}:smallest", "--cluster", "4x4", "--engine", "here")
    code, out, err = run(*words, "--json", "--report", "page.html")
    assert (code, err) == (0, "")
    told = json.loads(out)
    mine = [one for one in told["repeats"] if one["policy"] != "fifo"]
    assert [one["figure"] for one in mine] == ["mean", "p95", "p99", "makespan"]
    assert mine[0]["repetitions"] == mine[0]["against"]["pairs"] == 3
    assert mine[0]["ratio"]["low"] <= mine[0]["ratio"]["mean"] <= mine[0]["ratio"]["high"]
    assert "<h2>Repetitions</h2>" in (tmp_path / "page.html").read_text()
    with (tmp_path / "replay-results" / "results.csv").open(newline="") as file:
        assert [float(line["mean"]) for line in csv.DictReader(file)] == [row["mean"] for row in told["runs"]]
    code, out, _ = run(*words)
    assert code == 0
    assert sum(line.startswith("mean JCT, s  ") for line in out.splitlines()) == 2


def test_a_long_list_of_runs_is_left_to_the_file(run, own):
    draws = "generate:tiresias?jobs=1&count=41&most-gpus=8"
    code, out, _ = run("replay", draws, "--policy", f"{own}:smallest", "--cluster", "1x8", "--engine", "here")
    assert code == 0
    assert out.startswith("figure ")


def test_a_run_is_done_again_where_the_file_has_changed(run, own, tmp_path):
    def runs():
        words = ("--policy", f"fifo,{own}:smallest", "--cluster", "4x4", "--engine", "here", "--json")
        code, out, _ = run("replay", "generate:tiresias?jobs=4&most-gpus=16", *words)
        assert code == 0
        return {row["policy"]: row["fingerprint"] for row in json.loads(out)["runs"]}

    before = runs()
    assert runs() == before
    (tmp_path / f"{own}.py").write_text(SOURCE + "\n# another draft\n")
    after = runs()
    assert after["fifo"] == before["fifo"]
    assert after[f"{own}:smallest"] != before[f"{own}:smallest"]
    assert len((tmp_path / "replay-results" / "results.jsonl").read_text().splitlines()) == 1 + 3


def test_worst_case_takes_it_and_counts_no_round_on_which_it_fails(run, own):
    words = ("--family", "gangs", "--jobs", 4, "--nodes", 1, "--budget", 20, "--seed", 3, "--work", 5)
    code, out, err = run("worst-case", f"{own}:careless", *words, "--at-least", 0.2)
    assert (code, err) == (0, "")
    assert out.startswith(f"policy       {own}:careless\n")
    assert "raised       TypeError: " in out
    code, _, err = run("worst-case", f"{own}:fails", *words)
    assert code == 2
    assert "none with a proved optimum (the policy raised ValueError: not today)" in err


def test_a_policy_that_fails_fails_its_runs_only(run, own):
    words = ("--policy", f"fifo,{own}:fails", "--cluster", "4x4", "--engine", "here")
    code, out, _ = run("replay", "generate:tiresias?jobs=4&most-gpus=16", *words)
    assert code in (1, 5)
    assert "not today" in out
    assert "1 run in replay-results" in out


def test_the_kit_takes_it(own):
    assert check_allocator(published(f"{own}:smallest"), max_examples=20, require_exercised=False).ok


def test_a_program_of_its_own_finds_it_in_its_folder_and_so_do_its_processes(process, own, tmp_path):
    words = ("--policy", f"fifo,{own}:smallest", "--cluster", "2x4", "--jobs", 1)
    done = process("replay", "generate:tiresias?jobs=4&most-gpus=8", *words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{own}:smallest" in done.stdout
