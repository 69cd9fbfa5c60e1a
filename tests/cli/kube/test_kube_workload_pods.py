"""A workload of Kueue and its own pods, which wait at its gate, are one job."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from muri_opt.cli.kube.example_objects import listed, node, pod, workload
from muri_opt.cli.kube.reader import read_kube

GATE = [{"name": "kueue.x-k8s.io/admission"}]
ONCE = "its own pods wait: counted once, as the workload"
JOB = {"kind": "Job", "name": "gpt", "uid": "j1", "controller": True}


def said(one: Any, **fields: Any) -> Any:
    """Return an object with more metadata."""
    return {**one, "metadata": {**one["metadata"], **fields}}


def gated(name: str, gpus: int = 2, **fields: Any) -> Any:
    return said(pod(name, gpus, schedulingGates=GATE), **fields)


def read(folder: Path, *objects: Any) -> tuple[dict[str, int], Mapping[str, list[str]], dict[str, str | None]]:
    """Return the GPUs of the jobs, the ledger, and who is held."""
    path = folder / "cluster.json"
    path.write_text(json.dumps(listed(node("node-1"), *objects)))
    round_, ledger = read_kube([str(path)])
    return {job.id: job.gpus for job in round_.jobs}, ledger.jobs, {job.id: job.held for job in round_.jobs}


OWNERS = [{"kind": "Pod", "name": "gpt-0", "uid": "p0"}]


@pytest.mark.parametrize(
    ("owned", "fields"),
    [
        ({"ownerReferences": OWNERS}, {"uid": "p0"}),
        ({"ownerReferences": OWNERS}, {}),
        ({}, {"labels": {"kueue.x-k8s.io/pod-group-name": "gpt"}}),
        ({}, {"annotations": {"kueue.x-k8s.io/workload": "gpt"}}),
        ({"ownerReferences": [JOB]}, {"ownerReferences": [JOB]}),
    ],
)
def test_a_pod_that_waits_at_the_gate_of_its_workload_counts_once(tmp_path: Path, owned: Any, fields: Any) -> None:
    found, told, held = read(tmp_path, said(workload("gpt", 2), **owned), gated("gpt-0", **fields), pod("other"))
    assert found == {"team/gpt": 2, "team/other": 1}
    assert (told[ONCE], held["team/gpt"]) == (["team/gpt"], None)


def test_all_pods_of_a_group_count_once_with_their_workload_and_as_one_job_without(tmp_path: Path) -> None:
    labels = {"kueue.x-k8s.io/pod-group-name": "gpt"}
    pods = [gated(f"gpt-{place}", 1, labels=labels) for place in range(3)]
    assert read(tmp_path, workload("gpt", 1, 3), *pods)[0] == {"team/gpt": 3}
    found, _, held = read(tmp_path, *pods)
    assert (found, held) == ({"team/gpt": 3}, {"team/gpt": "a scheduling gate"})


@pytest.mark.parametrize(
    "fields",
    [
        {"uid": "another"},
        {"namespace": "elsewhere"},
        {"ownerReferences": [{**JOB, "uid": "j2"}]},
        {"labels": {"kueue.x-k8s.io/pod-group-name": "other"}},
    ],
)
def test_a_pod_that_cannot_be_told_to_be_of_a_workload_is_a_job_of_its_own(tmp_path: Path, fields: Any) -> None:
    owners = [*OWNERS, JOB] if "uid" in fields or "namespace" in fields else [JOB]
    found, told, _ = read(tmp_path, said(workload("gpt", 2), ownerReferences=owners), gated("gpt-0", **fields))
    assert sorted(found.values()) == [2, 2]
    assert ONCE not in told


def test_a_workload_that_makes_no_job_leaves_its_pods_and_one_whose_pods_run_is_read_as_these(tmp_path: Path) -> None:
    admitted = said(workload("gpt", 2, status={"admission": {"clusterQueue": "q"}}), ownerReferences=OWNERS)
    assert read(tmp_path, admitted, gated("gpt-0", uid="p0"))[0] == {"team/gpt-0": 2}
    runs = said(pod("gpt-0", 2, "node-1"), uid="p0")
    found, told, _ = read(tmp_path, said(workload("gpt", 2), ownerReferences=OWNERS), runs)
    assert found == {"team/gpt-0": 2}
    assert told["not admitted, and pods of it are on nodes: read as its pods"] == ["team/gpt"]
