"""Snapshots of Kubernetes and its batch schedulers become rounds; what a round cannot hold is in the ledger."""

from __future__ import annotations

import json
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt import InputError, Round, Tenant, parse_round, solve_round, verify
from muri_opt.cli.kube.example_objects import (
    EXAMPLES,
    GPU,
    cluster_queue,
    containers,
    listed,
    local_queue,
    node,
    pod,
    volcano_job,
    volcano_node,
    workload,
)
from muri_opt.cli.kube.quantities import quantity
from muri_opt.cli.kube.reader import read_kube
from muri_opt.cli.ledger import Ledger
from muri_opt.cli.main import main
from muri_opt.rounds import NodeRange, canonical_json


@pytest.fixture
def read(tmp_path: Path) -> Any:
    """Return a function that reads documents, each in a file of its own."""

    def call(*documents: Any) -> tuple[Round, Ledger]:
        names = []
        for place, document in enumerate(documents):
            names.append(str(tmp_path / f"{place}.json"))
            Path(names[-1]).write_text(json.dumps(document))
        round_, ledger = read_kube(names)
        assert parse_round(canonical_json(round_)) == round_
        return round_, ledger

    return call


def decided(round_: Round) -> dict[str, dict[str, int]]:
    """Return where jobs run by ``fifo``, verified."""
    result = solve_round(round_, "fifo", "heuristic")
    assert verify(round_, result).feasible
    return {one.jobs[0]: dict(one.gpus) for one in result.answer.assignments}


def test_pods_are_jobs_and_gangs_are_one_job(read: Any) -> None:
    round_, ledger = read(
        listed(
            node("n1"),
            node("n2", 4, product="V100"),
            pod("alone", 2, priority=7),
            pod("runs", 3, "n1"),
            pod("a-0", 1, group="gang"),
            pod("a-1", 1, group="gang"),
            pod("w-0", 8, group="wide"),
            pod("w-1", 8, group="wide"),
            pod("done", 1, "n1", phase="Succeeded"),
        )
    )
    jobs = {job.id: job for job in round_.jobs}
    assert [(one.id, one.gpus, one.gpu_type, one.cpus) for one in round_.cluster.nodes] == [
        ("n1", 8, "A100", 96.0),
        ("n2", 4, "V100", 96.0),
    ]
    assert (jobs["team/alone"].gpus, jobs["team/alone"].priority, jobs["team/alone"].memory_gib) == (2, 7, 16.0)
    assert jobs["team/runs"].placement == {"n1": 3}
    assert (jobs["team/gang"].gpus, jobs["team/gang"].cpus, jobs["team/gang"].nodes) == (2, 8.0, None)
    assert (jobs["team/wide"].nodes, jobs["team/wide"].even) == (NodeRange(least=2, most=2), True)
    assert ledger.over == 1
    assert set(decided(round_)) == {"team/runs", "team/alone", "team/gang"}


def test_where_pods_may_be(read: Any) -> None:
    taint = {"key": "team", "value": "nlp", "effect": "NoSchedule"}
    accepted = [{"key": "team", "operator": "Equal", "value": "nlp"}]
    expressions = [
        {"key": "rack", "operator": "In", "values": ["rack-1"]},
        {"key": "nvidia.com/gpu.product", "operator": "NotIn", "values": ["V100"]},
    ]
    required = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    round_, ledger = read(
        listed(
            node("n1", taints=[taint]),
            node("n2", unschedulable=True),
            node("n3", ready="False"),
            node("n4", 2, product="V100"),
            pod("accepts", 4, tolerations=accepted, affinity=affinity),
            pod("selects", 1, nodeSelector={"nvidia.com/gpu.product": "V100"}),
            pod("nowhere", 4),
        )
    )
    assert [one.state for one in round_.cluster.nodes] == ["up", "drain", "down", "up"]
    assert decided(round_) == {"team/accepts": {"n1": 4}, "team/selects": {"n4": 1}}
    assert ledger.jobs == {}


def test_what_runs_holds_what_it_requests(read: Any) -> None:
    busy = pod("cpu-only", 0, "n1", containers=containers(0, "90", "990Gi"))
    first = pod("first", 2, "n1", initContainers=containers(3, "1", "1Gi"), containers=containers(2, "1", "1Gi"))
    round_, ledger = read(listed(node("n1"), busy, first, pod("lost", 1, "gone"), pod("waits-without", 0)))
    assert round_.cluster.nodes[0].cpus == 6.0
    assert round_.cluster.nodes[0].memory_gib == 10.0
    assert [(job.id, job.placement) for job in round_.jobs] == [("team/first", {"n1": 3})]
    assert ledger.jobs == {
        "a pod on node gone, which is not there": ["team/lost"],
        "asks for no GPUs, and waits": ["team/waits-without"],
    }


def test_a_node_whose_gpus_have_failed_has_those_that_pods_hold(read: Any) -> None:
    failed = node("n1")
    failed["status"]["allocatable"][GPU] = "1"
    round_, ledger = read(listed(failed, pod("runs", 2, "n1"), pod("waits", 1)))
    assert decided(round_) == {"team/runs": {"n1": 2}}
    assert ledger.nodes == {"what runs there holds more GPUs than it has: counted as having that": ["n1"]}


def test_a_gang_that_runs_in_part_is_two_jobs(read: Any) -> None:
    round_, ledger = read(listed(node("n1"), pod("a", 1, "n1", group="g"), pod("b", 1, group="g")))
    assert [(job.id, job.state) for job in round_.jobs] == [("team/g", "running"), ("team/g#waiting", "waiting")]
    assert list(ledger.jobs) == ["a gang of which some pods run and others wait: two jobs"]


def test_queues_of_kueue_are_tenants(read: Any) -> None:
    topology = {"kind": "Topology", "metadata": {"name": "t"}, "spec": {"levels": [{"nodeLabel": "rack"}]}}
    round_, ledger = read(
        listed(node("n1"), node("n2"), topology),
        listed(
            cluster_queue("nlp", 4, cohort="all", borrowingLimit=2, lendingLimit=1),
            cluster_queue("vision", 8, cohort="all"),
            cluster_queue("alone", 3),
            local_queue("train", "nlp"),
            workload("first", 4, priority=5),
            workload("second", 2, 2),
            workload("paused", 1, active=False),
            workload("here", 1, status={"admission": {"clusterQueue": "nlp"}}),
            workload("over", 1, status={"conditions": [{"type": "Finished", "status": "True"}]}),
            pod("runs", 2, "n1", labels={"kueue.x-k8s.io/queue-name": "train"}),
        ),
    )
    tenants = {one.id: one for one in round_.cluster.tenants}
    assert tenants["nlp"] == Tenant(id="nlp", quota_gpus=4, parent="cohort:all", borrow_gpus=2, lend_gpus=1)
    assert tenants["vision"].borrow_gpus == 1_000_000
    assert tenants["alone"] == Tenant(id="alone", quota_gpus=3)
    assert round_.cluster.levels == ()
    assert [one.rack for one in round_.cluster.nodes] == ["rack-1", "rack-2"]
    jobs = {job.id: job for job in round_.jobs}
    assert {job.tenant for job in jobs.values()} == {"nlp"}
    assert (jobs["team/first"].priority, jobs["team/paused"].held) == (5, "not active")
    assert (jobs["team/second"].gpus, jobs["team/second"].nodes) == (4, NodeRange(least=1, most=1))
    assert ledger.over == 1
    assert "admitted: read as its pods, if they are in the files" in ledger.jobs
    assert set(decided(round_)) == {"team/runs", "team/first"}


def test_a_snapshot_of_kai_is_its_raw_objects(tmp_path: Path) -> None:
    queues = [
        {"metadata": {"name": "org"}, "spec": {"resources": {"gpu": {"quota": -1, "limit": -1}}}},
        {"metadata": {"name": "nlp"}, "spec": {"parentQueue": "org", "resources": {"gpu": {"limit": 2}}}},
    ]
    groups = [{"metadata": {"name": "pg", "namespace": "team"}, "spec": {"queue": "nlp", "minMember": 1}}]
    pods = [pod(f"p-{place}", 1) for place in range(2)]
    for one in pods:
        one["metadata"]["annotations"]["pod-group-name"] = "pg"
        del one["kind"]
    raw = {"nodes": [node("n1")], "pods": pods, "queues": queues, "podGroups": groups, "configMaps": [{"metadata": {}}]}
    with zipfile.ZipFile(tmp_path / "snapshot.zip", "w") as archive:
        archive.writestr("snapshot.json", json.dumps({"config": {}, "schedulerParams": {}, "rawObjects": raw}))
    round_, ledger = read_kube([str(tmp_path / "snapshot.zip")])
    assert round_.cluster.tenants == (Tenant(id="org"), Tenant(id="nlp", parent="org", quota_gpus=2))
    assert [(job.id, job.gpus, job.tenant) for job in round_.jobs] == [("team/pg", 2, "nlp")]
    assert list(ledger.jobs) == ["a gang that could start with fewer pods: all are asked for"]
    assert list(ledger.nodes) == ["objects of kind configMaps are not read"]


def test_a_dump_of_volcano_is_several_documents(tmp_path: Path) -> None:
    documents = (
        {"n1": volcano_node("n1", 8)},
        {"1": ["tier"]},
        {"team/a": volcano_job("a", 2, ["n1", "n1"]), "team/b": volcano_job("b", 4, [None], "other")},
    )
    path = tmp_path / "snapshot-1.json"
    path.write_text("\n".join(map(json.dumps, documents)))
    round_, ledger = read_kube([str(path)])
    assert [(one.id, one.gpus, one.cpus, one.memory_gib) for one in round_.cluster.nodes] == [("n1", 8, 96.0, 1000.0)]
    jobs = {job.id: job for job in round_.jobs}
    assert jobs["team/a"].placement == {"n1": 4}
    assert (jobs["team/b"].gpus, jobs["team/b"].tenant, jobs["team/b"].priority) == (4, "other", 3)
    assert ledger.jobs == {}
    assert set(decided(round_)) == {"team/a", "team/b"}


@pytest.mark.parametrize("kind", EXAMPLES)
def test_an_example_of_each_kind_is_read_whole(read: Any, kind: str, tmp_path: Path) -> None:
    path = str(tmp_path / "example.json")
    assert main(["kube", "example", kind, "--output", path]) == 0
    round_, ledger = read_kube([path])
    assert len(round_.cluster.nodes) == 2
    assert {job.state for job in round_.jobs} == {"running", "waiting"}
    assert all("pods of more than one GPU" in words for words in ledger.jobs)
    assert decided(round_)


@pytest.mark.parametrize(
    ("text", "number"),
    [("500m", 0.5), ("2e3", 2000), ("1.5k", 1500), ("16Gi", 16 * 2**30), ("0.5Ti", 2**39), (8, 8), ("1E", 1e18)],
)
def test_quantities(text: Any, number: float) -> None:
    assert quantity(text) == number


@pytest.mark.parametrize("text", ["", "x", "1Q", "1 Gi", "--1", "1e", "Gi", "١"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(InputError, match="a quantity of Kubernetes"):
        quantity(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("", "an empty file"), ("{", "Expecting property name"), ("[]", "no nodes"), ('{"kind": "Pod"}', "no nodes")],
)
def test_files_that_hold_no_cluster(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(InputError, match=complaint):
        read_kube([str(path)])
    with pytest.raises(InputError, match="No such file"):
        read_kube([str(tmp_path / "missing")])


def test_the_object_that_cannot_be_read_is_named(read: Any) -> None:
    odd = node("n2")
    odd["status"]["allocatable"]["cpu"] = "x"
    for one, field in (
        (odd, "node 'n2'.quantity"),
        (pod("b", containers=containers(1, memory="99999Ei")), "pods of 'team/b'.memory_gib"),
        (workload("w", 10**7), "workload 'team/w'.gpus"),
    ):
        with pytest.raises(InputError) as error:
            read(listed(node("n1"), pod("a", 1), one))
        assert error.value.field == field


FOLDER = Path(tempfile.mkdtemp(prefix="kube"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3) | st.sampled_from(["1", "4Gi", "n1", GPU]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["spec", "name", GPU]), inner, max_size=2)
    ),
    max_leaves=5,
)


@given(st.data())
@more_examples(150)
def test_a_field_of_another_shape_is_read_or_refused_by_name(data: st.DataObject) -> None:
    """Whatever one place of an object holds, there is a round or one clear error."""
    objects = [node("n1"), pod("a", 1, "n1"), pod("b", 2, group="g"), cluster_queue("nlp", 4), workload("w", 1)]
    target: Any = data.draw(st.sampled_from(objects))
    while True:
        key = data.draw(st.sampled_from(sorted(target)))
        if isinstance(target[key], dict) and target[key] and data.draw(st.booleans()):
            target = target[key]
            continue
        target[key] = data.draw(JSON)
        break
    path = FOLDER / "objects.json"
    path.write_text(json.dumps(listed(*objects)))
    with suppress(InputError):
        read_kube([str(path)])
