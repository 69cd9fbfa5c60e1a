"""Objects that are in the files more than once: alike they count once, and of two that differ none is guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from muri_opt import InputError
from muri_opt.cli.kube.example_objects import EXAMPLES, listed, node, pod, volcano_job, volcano_node, workload
from muri_opt.cli.kube.reader import read_kube
from muri_opt.cli.main import main

ALIKE = "in the files more than once, alike: counted once"


@pytest.fixture
def files(tmp_path: Path) -> Any:
    """Return a function that writes documents, each into a file of its own."""

    def call(*documents: Any) -> list[str]:
        names = [str(tmp_path / f"{place}.json") for place, _ in enumerate(documents)]
        for name, document in zip(names, documents, strict=True):
            Path(name).write_text(json.dumps(document))
        return names

    return call


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_same_file_twice_is_the_round_of_the_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "snapshot.json"
    path.write_text("\n".join(json.dumps(document) for document in EXAMPLES[kind]()))
    once, before = read_kube([str(path)])
    twice, ledger = read_kube([str(path), str(path)])
    assert (twice, ledger.jobs_read, ledger.over) == (once, before.jobs_read, before.over)
    assert ledger.jobs.pop(ALIKE)
    assert ledger.nodes.pop(ALIKE) == ["node-1", "node-2"]
    assert (ledger.jobs, ledger.nodes) == (before.jobs, before.nodes)


def test_a_pod_in_two_files_counts_once_whoever_printed_it(files: Any) -> None:
    holds = pod("bert-0", 4, "node-1")
    again = {**holds, "metadata": {**holds["metadata"], "managedFields": []}, "apiVersion": "v1"}
    round_, ledger = read_kube(files(listed(node("node-1"), holds), {"items": [again, pod("gpt-0", 2)]}))
    assert {job.id: job.gpus for job in round_.jobs} == {"team/bert-0": 4, "team/gpt-0": 2}
    assert ledger.jobs[ALIKE] == ["team/bert-0"]


def test_pods_without_gpus_take_their_cpus_off_a_node_once(files: Any) -> None:
    daemon = pod("daemon", 0, "node-1")
    first, _ = read_kube(files(listed(node("node-1"), daemon)))
    again, _ = read_kube(files(listed(node("node-1"), daemon), listed(daemon)))
    assert first.cluster.nodes == again.cluster.nodes


@pytest.mark.parametrize(
    ("first", "second", "field"),
    [
        (listed(node("node-1"), pod("a", 1)), listed(pod("a", 1, "node-1")), "Pod 'team/a'"),
        (listed(node("node-1")), listed(node("node-1", 4)), "Node 'node-1'"),
        (listed(node("node-1"), workload("a", 1)), listed(workload("a", 2)), "Workload 'team/a'"),
        ({"n": volcano_node("n", 4)}, {"n": volcano_node("n", 2)}, "Node 'n'"),
        (
            {"n": volcano_node("n", 4), "j": volcano_job("j", 1, [None])},
            {"j": volcano_job("j", 1, ["n"])},
            "job of Volcano 'team/j'",
        ),
    ],
)
def test_an_object_that_is_there_twice_and_not_alike_is_refused(
    files: Any, capsys: pytest.CaptureFixture[str], first: Any, second: Any, field: str
) -> None:
    names = files(first, second)
    with pytest.raises(InputError) as error:
        read_kube(names)
    assert (error.value.field, error.value.found) == (field, f"twice, and not alike, in {names[0]} and {names[1]}")
    assert main(["kube", "snapshot", *names]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_pod_and_a_gang_of_one_name_are_two_jobs(files: Any) -> None:
    member = pod("llama-0", 2)
    member["metadata"]["annotations"]["pod-group-name"] = "llama"
    round_, ledger = read_kube(files(listed(node("node-1"), member, pod("llama", 1))))
    assert {job.id: job.gpus for job in round_.jobs} == {"team/llama": 2, "team/llama#2": 1}
    round_, ledger = read_kube(files(listed(node("node-1"), pod("a", 1), workload("a", 2))))
    assert {job.id: job.gpus for job in round_.jobs} == {"team/a": 1, "team/a#2": 2}
    assert ledger.jobs["the name of several jobs: those after the first have a number"] == ["team/a"]
