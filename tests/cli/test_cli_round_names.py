"""Every command that takes a round takes the name of a shipped one, in any folder; a file of that name goes first."""

import json
from pathlib import Path

import pytest

from muri_opt.rounds import read_round
from muri_opt.studies.library import shipped_round, shipped_rounds

FIRST = "toy/two-gangs"
COMMANDS = ("solve", "show", "gap", "export", "loss", "elastic")


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("command", "options"), [("solve", ("--method", "heuristic")), ("show", ())])
def test_a_shipped_round_is_found_by_its_name(run, command, options):
    code, out, err = run(command, FIRST, *options)
    assert (code, err) == (0, "")
    assert out.startswith("toy/two-gangs: ")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_looks_for_a_file_and_for_a_shipped_round(refused, command):
    assert "and no shipped round of this name" in refused(command, "toy/nothing-like-it")


def test_a_result_is_verified_against_the_name(run):
    run("solve", FIRST, "--method", "heuristic", "--output", "result.json")
    code, out, _ = run("verify", FIRST, "result.json")
    assert code == 0
    assert out.startswith("toy/two-gangs: ")


def test_a_file_goes_first(run, empty_folder, round_file):
    (empty_folder / "toy").mkdir()
    Path(round_file(name="mine")).rename(empty_folder / "toy" / "two-gangs")
    code, out, _ = run("solve", FIRST, "--method", "heuristic", "--json")
    assert code == 0
    assert json.loads(out)["fingerprint"] == read_round("toy/two-gangs").fingerprint
    assert read_round("toy/two-gangs").fingerprint != shipped_round(FIRST).fingerprint


def test_an_unknown_name_says_what_both_would_be_and_the_nearest(refused):
    assert refused("solve", "toy/two-gang") == (
        "toy/two-gang: found No such file or directory, and no shipped round of this name (did you mean "
        "'toy/two-gangs'?); allowed: a readable round file, or a name that 'muri-opt library' lists, as toy/two-gangs"
    )


@pytest.mark.parametrize("name", ["toy/two-gangs.best", "../toy/two-gangs", "toy", "", "toy/"])
def test_what_is_no_name_is_refused(refused, name):
    assert "no shipped round of this name" in refused("show", name) or name == ""


def test_every_shipped_round_has_a_name():
    names = shipped_rounds()
    assert {"toy/two-gangs", "toy/eight-gangs"} <= set(names)
    assert all(path.is_file() for path in names.values())
    assert not any(name.endswith(".best") for name in names)


def test_a_round_that_is_stored_as_its_recipe_is_generated():
    recipes = [name for name, path in shipped_rounds().items() if "muri-opt/recipe/1" in path.read_text()[:200]]
    assert recipes
    smallest = min(recipes, key=len)
    assert len(shipped_round(smallest).jobs) > 0
