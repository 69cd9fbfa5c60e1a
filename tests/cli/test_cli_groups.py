"""What ``muri-opt`` alone prints, the examples, and the scripts for shells."""

import json
import re
import shlex
import subprocess

import pytest

from muri_opt import POLICIES
from muri_opt.cli.completion import SCRIPTS
from muri_opt.cli.examples import EXAMPLES
from muri_opt.cli.groups import COMMANDS, GROUPS
from muri_opt.studies.library import shipped_rounds


def test_the_program_alone_prints_its_help_in_groups(run):
    code, out, err = run()
    assert (code, err) == (0, "")
    assert run("--help") == (code, out, err)
    lines = out.splitlines()
    assert lines[0] == "usage: muri-opt [-h] [--version] COMMAND ..."
    for group, commands in GROUPS.items():
        at = lines.index(f"{group}:")
        assert [line.split()[0] for line in lines[at + 1 : at + 1 + len(commands)]] == [one.name for one in commands]
    assert sum(map(len, GROUPS.values())) == len(COMMANDS)


def test_usage_of_a_command_has_the_name_of_the_program(run):
    assert run("solve", "--help")[1].startswith("usage: muri-opt solve ")
    assert run("slurm", "why", "--help")[1].startswith("usage: muri-opt slurm why ")


def test_examples_are_listed_by_topic(run):
    code, out, _ = run("examples")
    assert code == 0
    assert all(f"    {command}" in out.splitlines() for topic in EXAMPLES.values() for command in topic.values())
    assert json.loads(run("examples", "--json")[1]) == EXAMPLES
    assert list(json.loads(run("examples", "start", "--json")[1])) == ["start"]


def test_an_unknown_topic_is_refused(refused):
    assert refused("examples", "begin").startswith("topic: found 'begin'")


def test_examples_of_all_topics_run_one_after_another(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for topic in EXAMPLES.values():
        for command in topic.values():
            words = shlex.split(command)
            assert words[0] == "muri-opt"
            if words[1] == "doctor":
                continue  # starts every backend; has tests of its own
            code, out, err = run(*words[1:], *(["--engine", "here"] if words[1] == "replay" else []))
            assert code == 0, f"{command}\n{out}{err}"


@pytest.fixture
def completed(run, tmp_path):
    """Return a function that completes a line in bash."""
    script = tmp_path / "script"
    script.write_text(run("completion", "bash")[1])

    def call(*words):
        line = " ".join(shlex.quote(word) for word in words)
        asked = f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _muri_opt; "
        done = subprocess.run(
            ["/usr/bin/env", "bash", "-c", asked + 'printf "%s\\n" "${COMPREPLY[@]}"'],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
        )
        assert done.stderr == ""
        return done.stdout.split()

    return call


def test_bash_completes_commands_options_values_rounds_and_steps(completed):
    assert completed("muri-opt", "wh") == ["why", "what-if"]
    assert set(completed("muri-opt", "")) == set(COMMANDS)
    assert completed("muri-opt", "solve", "--po") == ["--policy"]
    assert completed("muri-opt", "solve", "--policy", "muri") == ["muri-s", "muri-l"]
    assert completed("muri-opt", "solve", "--method", "exact@c") == ["exact@cp-sat", "exact@cbc"]
    assert completed("muri-opt", "show", "toy/eight-s") == ["toy/eight-stages"]
    assert completed("muri-opt", "library", "ch") == ["challenge"]
    assert completed("muri-opt", "slurm", "wh") == ["why", "what-if"]
    assert "--when" in completed("muri-opt", "slurm", "why", "--w")
    assert completed("muri-opt", "completion", "f") == ["fish"]
    assert "script" in completed("muri-opt", "solve", "scr")


@pytest.mark.parametrize("shell", SCRIPTS)
def test_scripts_know_every_command_policy_and_round(run, shell):
    code, out, err = run("completion", shell)
    assert (code, err) == (0, "")
    words = set(re.split(r"[^\w/-]+", out))
    assert set(COMMANDS) | set(POLICIES) | set(shipped_rounds()) <= words


def test_an_unknown_shell_is_refused(refused):
    assert refused("completion", "tcsh").startswith("shell: found 'tcsh'")
    assert "SHELL" in refused("completion")


@pytest.mark.parametrize("policy", ["muri-s", "philly:objective=weighted", "fifo", "joint-l"])
def test_one_policy_is_explained(run, policy):
    code, out, _ = run("policies", policy)
    assert code == 0
    said = json.loads(run("policies", policy, "--json")[1])
    assert (said["policy"], said["exact"]) == (policy, True)
    assert out.startswith(f"policy       {policy}\n")
    for name, parameter in said["parameters"].items():
        assert any(line.split()[:2] == [name, parameter["default"]] for line in out.splitlines())
    words = shlex.split(said["example"])
    assert out.splitlines()[-1].strip() == said["example"]
    assert run(*words[1:], "--method", "heuristic")[0] == 0


def test_every_policy_can_be_explained(run):
    for name in POLICIES:
        said = json.loads(run("policies", name, "--json")[1])
        assert said["summary"]
        assert said["value"]
        assert said["example"].startswith("muri-opt solve small/")


def test_an_unknown_policy_is_refused(refused):
    assert "did you mean 'muri-s'?" in refused("policies", "muris")
