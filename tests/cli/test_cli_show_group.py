"""``muri-opt show --job`` draws how a job shares its GPUs."""

from pathlib import Path

import pytest

from muri_opt.cli.main import main

ROUND = Path(__file__).resolve().parents[2] / "instances" / "toy" / "eight-stages.json"


@pytest.fixture
def result(tmp_path, capsys):
    path = tmp_path / "result.json"
    assert main(["solve", str(ROUND), "--policy", "muri-s", "--output", str(path)]) == 0
    capsys.readouterr()
    return path


def test_a_job_that_shares_is_shown_with_its_group(result, capsys):
    assert main(["show", str(ROUND), str(result), "--job", "a"]) == 0
    printed = capsys.readouterr().out
    assert "interleaved with" in printed
    assert "pattern cyclic: period 5,000 ms, efficiency 85.0 %" in printed
    assert all(f"\n{resource}" in printed for resource in ("storage", "cpu", "gpu", "network"))


def test_the_group_of_a_job_is_drawn(result, tmp_path, capsys):
    svg = tmp_path / "group.svg"
    assert main(["show", str(ROUND), str(result), "--job", "a", "--picture", str(svg)]) == 0
    assert svg.read_text().startswith("<svg")
    assert "efficiency" in capsys.readouterr().out


def test_a_job_alone_has_no_chart(tmp_path, capsys):
    path = tmp_path / "result.json"
    assert main(["solve", str(ROUND), "--policy", "muri-s:group=1", "--output", str(path)]) == 0
    assert main(["show", str(ROUND), str(path), "--job", "a"]) == 0
    assert "pattern cyclic" not in capsys.readouterr().out
