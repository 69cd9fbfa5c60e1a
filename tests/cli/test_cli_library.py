"""``muri-opt library``: list, verify, refresh, table."""

import json
import shutil

import pytest

from muri_opt import InputError
from muri_opt.studies.library import instances, library_folder

TOY = "toy/eight-gangs"


@pytest.fixture
def folder(tmp_path):
    """A library of one toy round."""
    (tmp_path / "toy").mkdir()
    for suffix in (".json", ".best.json"):
        shutil.copy(library_folder() / f"{TOY}{suffix}", tmp_path / f"{TOY}{suffix}")
    return tmp_path


@pytest.fixture
def best(folder):
    """Return a function that changes the first optimum of that round in its file."""

    def change(*left_out, **fields):
        path = folder / f"{TOY}.best.json"
        data = json.loads(path.read_text())
        data["optima"][0] |= fields
        for name in left_out:
            data["optima"][0].pop(name, None)
        path.write_text(json.dumps(data))

    return change


def test_the_library_is_listed(run):
    code, out, err = run("library", "--family", "toy")
    assert (code, err) == (0, "")
    assert "toy/eight-gangs" in out
    assert "srtf:nodes=fewest" in out
    assert out.splitlines()[0].split()[0] == "round"
    assert out.endswith("optima or best values are known\n")
    assert run("library", "list", "--family", "toy") == (code, out, err)


def test_the_list_is_filtered_by_policy_and_size(run):
    code, out, _ = run("library", "list", "--policy", "muri-s", "--jobs", "8", "--json")
    listed = json.loads(out)
    assert code == 0
    assert [one["name"] for one in listed] == [x.name for x in instances(policy="muri-s", most_jobs=8)]
    assert {one["policy"].partition(":")[0] for x in listed for one in x["optima"]} == {"muri-s"}
    assert all(x["jobs"] <= 8 and x["source"] and x["optima"][0]["date"] for x in listed)


def test_a_policy_without_instances_gives_an_empty_list(run, folder):
    code, out, _ = run("library", "--policy", "philly", "--folder", folder)
    assert (code, out.splitlines()[-1]) == (0, "0 rounds, of which 0 optima or best values are known")


def test_stored_optima_are_verified(run, folder):
    code, out, err = run("library", "verify", "--folder", folder)
    assert (code, err) == (0, "")
    assert out == "2 stored answers of 1 round\n2 hold, checked in whole numbers\n"
    code, out, _ = run("library", "verify", "--folder", folder, "--policy", "srtf:nodes=fewest", "--json")
    (finding,) = json.loads(out)
    assert (code, finding["instance"], finding["policy"]) == (0, TOY, "srtf:nodes=fewest")
    assert finding["violations"] == []


def test_a_tampered_optimum_fails_and_is_named(run, folder, best):
    best(value=115, bound=115)
    code, out, _ = run("library", "verify", "--folder", folder)
    assert code == 1
    assert "1 do not hold:" in out
    assert f"  {TOY}, srtf: value (value): said 115; it is 114" in out.splitlines()
    code, out, _ = run("library", "verify", "--folder", folder, "--json")
    assert (code, json.loads(out)[0]["violations"][0]["rule"]) == (1, "value")
    best("bound", "proof")
    code, out, _ = run("library", "refresh", "--folder", folder)
    assert code == 1
    assert f"{TOY}, srtf: value (value): said 115; it is 114" in out


def test_agreements_are_told_apart_and_asked_again(run, folder, best):
    round_ = next(x.name for x in instances(family="small") for one in x.best.optima if one.proof == "Agreement")
    (folder / "small").mkdir()
    shutil.rmtree(folder / "toy")
    for suffix in (".json", ".best.json"):
        shutil.copy(library_folder() / f"{round_}{suffix}", folder / f"{round_}{suffix}")
    code, out, _ = run("library", "verify", "--folder", folder)
    assert code == 0
    assert "two solvers that agreed before (--seconds S asks them again)" in out
    code, out, _ = run("library", "verify", "--folder", folder, "--seconds", "60")
    assert code == 0
    assert "hold, two solvers agreed again" in out
    code, out, _ = run("library", "verify", "--folder", folder, "--seconds", "0")
    assert code == 0
    assert "(their solvers ran out of time)" in out


def test_open_optima_are_refreshed(run, folder, best):
    code, out, _ = run("library", "refresh", "--folder", folder)
    assert (code, out) == (0, "0 solved again, 0 better; the others were proved before\n")
    best("bound", "proof", "evidence")
    code, out, _ = run("library", "refresh", "--folder", folder, "--seconds", "600")
    assert code == 0
    assert f"{TOY}, srtf: 114, bound none, is now 114, bound 114 (by dual values)" in out
    assert "1 solved again, 1 better" in out
    best("bound", "proof", "evidence")
    code, out, _ = run("library", "refresh", "--folder", folder, "--json")
    (change,) = json.loads(out)
    assert (change["better"], change["before"]["bound"], change["after"]["bound"]) == (True, None, 114)
    assert run("library", "verify", "--folder", folder)[0] == 0


def test_a_library_that_cannot_be_written_is_refused_before_solving(refused, folder, best, monkeypatch):
    best("bound", "proof", "evidence")

    def full(name):
        raise InputError(name, "Read-only file system", "a file that can be written")

    monkeypatch.setattr("muri_opt.cli.library.check_writable", full)
    assert "eight-gangs.best.json: found Read-only file system" in refused("library", "refresh", "--folder", folder)


def test_the_table_is_the_page_of_the_library(run, folder):
    assert run("library", "table") == (0, (library_folder() / "README.md").read_text(), "")
    code, out, _ = run("library", "table", "--folder", folder)
    assert code == 0
    assert "| eight-gangs | 8 | 3 | `srtf` | 114 | 114 | 0 | dual values |" in out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["verfy"], "action: found 'verfy' (did you mean 'verify'?)"),
        (["--family", "tiny"], "family: found 'tiny'; allowed: one of paper, peers, small, stress, toy, traces, worst"),
        (["--policy", "muri"], "policy: found 'muri'"),
        (["verify", "--policy", "srtf:nodes=few"], "policy 'srtf'.nodes: found 'few'"),
        (["--jobs", "-1"], "most_jobs: found"),
        (["--seconds", "1"], "--seconds: found 1.0; allowed: only with verify and refresh"),
        (["refresh", "--seconds", "-1"], "limits.seconds: found"),
        (["table", "--json"], "--json: found given"),
        (["--folder", "nowhere"], "library: found nowhere"),
        (["list", "answer.json"], "answers: found answer.json; allowed: only with challenge"),
        (["challenge"], "answers: found nothing"),
        (["challenge", "nowhere.json"], "nowhere.json: found No such file or directory"),
    ],
)
def test_bad_arguments_are_refused(refused, arguments, complaint):
    assert refused("library", *arguments).startswith(complaint)


def test_a_broken_file_is_refused_and_named(refused, folder, best):
    best(comment="x")
    assert refused("library", "verify", "--folder", folder).startswith("toy/eight-gangs.best.json: best: ")


@pytest.fixture
def answers(run, tmp_path):
    """Two folders with an answer each, of the algorithm and of a solver, and a file with a wrong value."""
    for folder, method in (("mine", "heuristic"), ("theirs", "exact")):
        (tmp_path / folder).mkdir()
        run("solve", TOY, "--policy", "srtf", "--method", method, "--output", tmp_path / folder / "one.json")
    wrong = json.loads((tmp_path / "mine" / "one.json").read_text()) | {"value": 999}
    (tmp_path / "wrong.json").write_text(json.dumps(wrong))
    return [str(tmp_path / name) for name in ("mine", "theirs", "wrong.json")]


def test_answers_are_judged_and_ranked(run, folder, answers):
    code, out, err = run("library", "challenge", answers[0], "--folder", folder)
    assert (code, err) == (0, "")
    assert "toy/eight-gangs  srtf      102         114    114  worse        11.76 %       11.76 %" in out
    assert out.endswith("\n1 answer: 1 worse; score 89.47\n")
    code, out, _ = run("library", "challenge", *answers[:2], "--folder", folder)
    assert code == 0
    ranks = [line.split()[:3] for line in out.splitlines()[-2:]]
    assert ranks == [["1", answers[1], "100.00"], ["2", answers[0], "89.47"]]


def test_a_refused_answer_is_named_and_ends_with_code_one(run, folder, answers):
    code, out, _ = run("library", "challenge", *answers, "--folder", folder)
    assert code == 1
    assert f"{answers[2]} is refused:\n  value (value): said 999; it is 102\n" in out
    code, out, _ = run("library", "challenge", *answers, "--folder", folder, "--json")
    found = json.loads(out)
    assert code == 1
    assert [one["verdict"] for one in found["answers"]] == ["worse", "optimal", "refused"]
    assert [one["refused"] for one in found["ranking"]] == [0, 0, 1]
    assert found["answers"][2]["violations"][0]["rule"] == "value"


def test_an_answer_to_an_unknown_round_and_an_empty_folder_are_refused(refused, folder, answers, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "a folder without answers" in refused("library", "challenge", tmp_path / "empty", "--folder", folder)
    shutil.rmtree(folder / "toy")
    assert "a round of the library" in refused("library", "challenge", answers[0], "--folder", folder)
