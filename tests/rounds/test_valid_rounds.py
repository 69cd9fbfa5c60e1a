"""Rounds that look odd and are right."""

import json

from muri_opt.rounds import Cluster, Job, Node, Plan, Round, parse_round
from muri_opt.rounds.job_demands import DEMANDS
from muri_opt.rounds.round import canonical_json

# The example of the documentation of the first round format, with every field a job can have there.
EXAMPLE = """{
  "format": "muri-opt/round/1",
  "name": "toy/two-jobs",
  "now": 3600.0,
  "resources": ["storage", "cpu", "gpu", "network"],
  "cluster": {
    "nodes": [{"id": "n0", "gpus": 8, "cpus": 96, "memory_gib": 520, "rack": "r0", "gpu_type": "v100"}],
    "tenants": [{"id": "vision", "quota_gpus": 32}]
  },
  "jobs": [{
    "id": "job-1", "tenant": "vision", "user": "u7", "submitted": 120.0, "gpus": 8, "cpus": 16, "memory_gib": 64,
    "state": "waiting",
    "remaining_iterations": 4000,
    "iteration_seconds": 0.214,
    "attained_gpu_seconds": 0.0, "executed_seconds": 0.0, "waiting_seconds": 3480.0, "restarts": 0,
    "stage_seconds": [0.052, 0.030, 0.075, 0.066],
    "scaling": {"1": 1.0, "2": 1.9, "4": 3.4, "8": 6.1},
    "plans": [{"name": "zero-dp", "gpus": 8, "nodes": 1, "gpu_type": "v100", "cpus": 8, "memory_gib": 12,
               "throughput": 64.1}],
    "guarantee": {"throughput": 40.0},
    "predictable": true,
    "placement": {"n0": 8}, "plan": "zero-dp", "restart_seconds": 30.0
  }]
}"""

NEVER_NULL = ("priority", "even", "requires", "excludes")


def test_the_example_of_the_format_has_every_field_and_is_read():
    data = json.loads(EXAMPLE)
    assert set(data["jobs"][0]) == set(Job.__struct_fields__) - set(DEMANDS)
    assert set(data) == set(Round.__struct_fields__) - {"together"}
    round_ = parse_round(EXAMPLE)
    job = round_.jobs[0]
    assert job.scaling == {1: 1.0, 2: 1.9, 4: 3.4, 8: 6.1}
    assert job.plans[0].throughput == 64.1
    assert job.guarantee.throughput == 40.0
    assert round_.cluster.tenants[0].quota_gpus == 32
    assert (round_.cluster.total_gpus, round_.cluster.node_index, round_.job_index) == (8, {"n0": 0}, {"job-1": 0})


def test_an_empty_round_is_valid():
    round_ = parse_round('{"format": "muri-opt/round/1", "cluster": {"nodes": []}, "jobs": []}')
    assert round_ == Round(cluster=Cluster(nodes=()), jobs=())
    assert round_.cluster.total_gpus == 0


def test_a_job_larger_than_the_cluster_is_valid():
    round_ = Round(cluster=Cluster(nodes=[Node(id="n0", gpus=1)]), jobs=[Job(id="a", gpus=1_000_000)])
    assert round_.jobs[0].gpus > round_.cluster.total_gpus


def test_a_job_may_run_on_cpus_only():
    plan = Plan(name="cpu-p1-w2", gpus=0, nodes=3, cpus=6, throughput=1.0)
    job = Job(id="a", gpus=0, plans=[plan], plan=plan.name, state="running", placement={"n1": 0, "n0": 0})
    round_ = Round(cluster=Cluster(nodes=[Node(id="n0", gpus=1), Node(id="n1", gpus=0)]), jobs=[job])
    assert parse_round(canonical_json(round_)) == round_
    assert (round_.jobs[0].plans[0].gpus, round_.jobs[0].placement) == (0, {"n0": 0, "n1": 0})


def test_null_is_the_same_as_absent():
    data = json.loads(EXAMPLE)
    data["jobs"][0] = {
        "id": "a",
        "gpus": 1,
        **{f: None for f in Job.__struct_fields__ if f not in {"id", "gpus", "state", *NEVER_NULL}},
    }
    assert parse_round(json.dumps(data)).jobs == (Job(id="a", gpus=1),)


def test_bytes_and_text_are_read_alike():
    assert parse_round(EXAMPLE) == parse_round(EXAMPLE.encode()) == parse_round(bytearray(EXAMPLE.encode()))


def test_a_tenant_needs_no_list_of_tenants():
    round_ = Round(cluster=Cluster(nodes=()), jobs=[Job(id="a", gpus=1, tenant="anyone")])
    assert round_.jobs[0].tenant == "anyone"
