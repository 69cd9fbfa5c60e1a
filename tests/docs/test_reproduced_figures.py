"""The commands of the page of reproduced figures that need traces of others, on small files of the same formats."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest
from replay_traces import write_trace

from benchmarks import predictable_jobs
from muri_opt.cli.main import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reproduce.md"
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_trace(tmp_path / "cluster_trace.csv")
    jobs = [f"2017-10-09 07:{minute:02}:00,{600 + minute}.0,{1 << minute % 4},66.0,2869ce" for minute in range(6)]
    (tmp_path / "philly_jobs.csv").write_text("\n".join(["timestamp,duration,num_gpus,gpu_time,cluster", *jobs]) + "\n")
    curves = [f"{model},{gpus},{part + 1 / gpus}" for model, part in (("a", 0.1), ("b", 0.5)) for gpus in (1, 4, 16)]
    (tmp_path / "iteration_seconds.csv").write_text("\n".join(["model,gpus,iteration_seconds", *curves]) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_is_a_command_for_every_trace():
    assert [re.search(r"DIR/(\w+)", command)[1] for command in COMMANDS] == [
        "cluster_trace",
        "philly_jobs",
        "philly_jobs",
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_runs(command, folder, capsys):
    words = shlex.split(command.replace("DIR", str(folder)))[1:]
    words += ["--engine", "here"] if words[0] == "replay" else []
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert err == ""
    asked = words[words.index("--policy") + 1].split(",") if words[0] == "replay" else ["2-4 GPUs"]
    assert all(policy in out for policy in asked)


def test_ratios_of_the_tables_are_those_of_their_numbers():
    """Hours and ratios of AFS stand beside each other on the page."""
    rows = re.findall(
        r"^\| \w{6} \([\d,]+\) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", PAGE.read_text(), re.M
    )
    assert len(rows) == 7
    for ours, srtf, first, tiresias, second in (map(float, row) for row in rows):
        assert (srtf / ours, tiresias / ours) == pytest.approx((first, second), abs=0.012)


def test_a_larger_part_of_unpredictable_jobs_holds_a_smaller_one():
    whole, cluster = predictable_jobs.workload(1, 20, 60.0)
    hidden = [
        {job.id for job in predictable_jobs.with_unpredictable(whole, part, 1).jobs if not job.predictable}
        for part in predictable_jobs.PARTS
    ]
    assert [len(some) for some in hidden] == [0, 5, 10, 15, 20]
    assert all(small < large for small, large in pairwise(hidden))
    whole.check_fits(cluster)
