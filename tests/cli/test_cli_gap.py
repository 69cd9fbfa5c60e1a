"""``muri-opt gap``: text, JSON, a picture, results already solved, and what is refused."""

import json

import pytest


@pytest.fixture
def solved(run, toy, tmp_path):
    """Return the names of two results of the toy round, by the heuristic and proved."""
    names = []
    for method in ("heuristic", "auto"):
        names.append(str(tmp_path / f"{method}.json"))
        assert run("solve", toy, "--policy", "srtf", "--method", method, "--output", names[-1])[0] == 0
    return names


def test_the_gap_is_explained_and_drawn(run, toy, tmp_path):
    picture = tmp_path / "gap.svg"
    code, out, err = run("gap", toy, "--policy", "srtf", "--picture", picture)
    assert (code, err) == (0, "")
    assert "the heuristic is 12 below the optimum, 10.53 % of it" in out
    assert picture.read_text().startswith("<svg")


def test_solved_results_say_the_same_as_solving(run, toy, solved):
    heuristic, optimum = solved
    _, fresh, _ = run("gap", toy, "--policy", "srtf", "--seconds", "60", "--method", "auto")
    _, given, _ = run("gap", toy, "--heuristic", heuristic, "--optimum", optimum, "--policy", "srtf")
    assert given == fresh
    code, out, _ = run("gap", toy, "--heuristic", optimum, "--optimum", heuristic, "--json")
    told = json.loads(out)
    assert (code, told["gap"], told["names"], told["methods"]) == (0, -12, ["first", "second"], ["auto", "heuristic"])


def test_the_default_policy_is_that_of_solve(run, toy):
    code, out, _ = run("gap", toy, "--json")
    assert (code, json.loads(out)["policy"]) == (0, "fifo")


def test_bad_arguments_are_one_line(refused, toy, solved, tmp_path):
    heuristic, optimum = solved
    assert refused("gap", toy, "--picture", tmp_path / "gap.gif").startswith("picture: found ")
    assert refused("gap", toy, "--optimum", optimum).startswith("--heuristic: found nothing; allowed: both ")
    assert refused("gap", toy, "--heuristic", optimum).startswith("--optimum: found nothing; allowed: both ")
    both = ("gap", toy, "--heuristic", heuristic, "--optimum", optimum)
    assert refused(*both, "--policy", "fifo").startswith("--policy: found 'fifo'; allowed: 'srtf'")
    assert refused(*both, "--seconds", "3").startswith("--seconds: found 3.0; allowed: nothing")
    assert refused(*both, "--method", "exact").startswith("--method: found exact; allowed: nothing")
    other = toy.replace("eight-gangs", "two-gangs")
    assert refused("gap", other, *both[2:]).startswith("first.fingerprint: found sha256:")
    assert refused("gap", toy, "--method", "heuristic").startswith("method: found 'heuristic'")
    assert refused("gap", toy, "--policy", "fivo").startswith("policy: found 'fivo' (did you mean 'fifo'?)")
