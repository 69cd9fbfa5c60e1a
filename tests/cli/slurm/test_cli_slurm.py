"""The steps of ``muri-opt slurm`` on files: what Slurm printed before, without a Slurm."""

from __future__ import annotations

import json

import pytest
from test_slurm_records import VERSIONS

from muri_opt import read_round
from muri_opt.cli.main import main

PARTITIONS = "--partition: found 'nope'; allowed: partitions of this Slurm: prod, train"


@pytest.fixture
def files(tmp_path):
    """Return the options that name the records of the version 22.05."""
    jobs, nodes = VERSIONS["22.05"]
    (tmp_path / "jobs.json").write_text(json.dumps({"jobs": jobs}))
    (tmp_path / "nodes.json").write_text(json.dumps({"nodes": nodes}))
    return ["--jobs", str(tmp_path / "jobs.json"), "--nodes", str(tmp_path / "nodes.json")]


def told(capsys, *words: str) -> tuple[int, str, str]:
    code = main(["slurm", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_snapshot_is_a_round_and_a_ledger(files, capsys, tmp_path):
    path = tmp_path / "round.json"
    code, out, _ = told(capsys, "snapshot", *files, "--output", str(path))
    assert code == 0
    assert "2 jobs: heterogeneous job (23, 24)" in out
    assert len(read_round(path).cluster.nodes) == 4
    ledger = json.loads(told(capsys, "snapshot", *files, "--json")[1])
    assert (ledger["jobs_read"], ledger["nodes_read"], ledger["jobs_over"]) == (25, 4, 1)


def test_a_job_is_explained_and_the_commands_of_a_plan_are_printed(files, capsys):
    code, out, _ = told(capsys, "why", "13", *files, "--method", "heuristic")
    assert (code, "held" in out) == (0, True)  # although another job has a deadline, which fifo does not know
    code, out, _ = told(capsys, "plan", *files, "--partition", "train", "--policy", "fifo", "--method", "heuristic")
    assert code == 0
    assert out.startswith("# ")
    assert "of 1 held jobs start, by fifo" in out


def test_what_is_wrong_is_one_complaint(files, capsys, tmp_path):
    for words, complaint in (
        (("snapshot", *files[:2]), "both, or none to ask Slurm"),
        (("plan", *files), "--partition: found none"),
        (("plan", *files, "--partition", "train", "--partition", "nope"), PARTITIONS),
        (("plan", *files, "--partition", "train,nope"), PARTITIONS),
        (("loop", "--partition", "train", "--interval", "-1"), "--interval: found -1"),
        (("loop", "--partition", "train", "--interval", "nan"), "--interval: found nan"),
        (("loop", "--partition", "train", "--rounds", "0"), "--rounds: found 0"),
        (("apply", *files, "--partition", "train"), "commands are given to the Slurm that they are made for"),
        (("snapshot", "--jobs", str(tmp_path / "no"), *files[2:]), "No such file"),
        (("snapshot", "--jobs", files[3], *files[2:]), "'jobs', as squeue --json prints them"),
    ):
        code, _, err = told(capsys, *words)
        assert (code, err.count("\n")) == (2, 1)
        assert complaint in err


def test_a_slurm_that_answers_with_errors_has_no_empty_queue(files, capsys, tmp_path):
    silent = {"jobs": [], "errors": [{"description": "Failed while looking for jobs", "error_number": 1}]}
    (tmp_path / "silent.json").write_text(json.dumps(silent))
    code, out, err = told(capsys, "snapshot", "--jobs", str(tmp_path / "silent.json"), *files[2:])
    assert (code, out) == (2, "")
    assert "found Failed while looking for jobs" in err


def test_groups_of_newer_versions_are_read_node_by_node(files, capsys, tmp_path):
    group = {
        "nodes": {"nodes": ["gpu01", "gpu02"]},
        "node": {"state": ["IDLE"]},
        "cpus": {"minimum": 32},
        "memory": {"minimum": 256_000},
        "gres": {"total": "gpu:a100:4"},
        "features": {"total": "nvlink,rackA"},
        "partition": {"name": "train"},
    }
    (tmp_path / "grouped.json").write_text(json.dumps({"sinfo": [group, {**group, "partition": {"name": "prod"}}]}))
    (tmp_path / "none.json").write_text('{"jobs": []}')
    path = tmp_path / "round.json"
    names = ("--jobs", str(tmp_path / "none.json"), "--nodes", str(tmp_path / "grouped.json"))
    assert told(capsys, "snapshot", *names, "--output", str(path))[0] == 0
    nodes = read_round(path).cluster.nodes
    assert [node.id for node in nodes] == ["gpu01", "gpu02"]
    assert {"partition=train", "partition=prod"} <= set(nodes[0].labels)


def test_files_of_newer_versions_say_the_same_in_another_shape(capsys, tmp_path):
    read = {}
    for version, (jobs, nodes) in VERSIONS.items():
        told_of = {"meta": {"plugin": {"data_parser": "data_parser/v0.0.42"}}, "errors": [], "warnings": []}
        later = {"a_field_of_later_versions": {"set": True, "number": 3}}
        for name, content in (("jobs", jobs), ("nodes", nodes)):
            records = [{**later, **record} for record in content]
            (tmp_path / f"{name}.json").write_text(json.dumps({name: records, **told_of}))
        path = tmp_path / f"{version}.json"
        names = ("--jobs", str(tmp_path / "jobs.json"), "--nodes", str(tmp_path / "nodes.json"))
        assert told(capsys, "snapshot", *names, "--output", str(path))[0] == 0
        read[version] = read_round(path)
    assert read["24.11"] == read["22.05"]
    assert len(read["24.11"].jobs) > 20
